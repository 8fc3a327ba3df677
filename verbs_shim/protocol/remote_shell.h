// Interface by which `ssh` of a simulated host (tools/remote) starts its server half. C and C++.
#pragma once

// A system call that Linux does not have. Arguments: the remote host's IPv4 address and the caller's own TCP
// port, both in host byte order. Result: 0, -EHOSTUNREACH (no host has the address), or -EINVAL (invalid
// port). The server half starts on that host one network latency later, with the caller's address and port.
#define VERBATIM_START_REMOTE_SHELL 506

// Paths of both halves on every host. The first is also available as rsh.
#define VERBATIM_SSH_PATH "/usr/bin/ssh"
#define VERBATIM_RSH_PATH "/usr/bin/rsh"
// For interactive terminals: ssh under the name of the command that runs a program on another host.
#define VERBATIM_ON_PATH "/usr/bin/on"
#define VERBATIM_SSHD_PATH "/usr/sbin/sshd"
