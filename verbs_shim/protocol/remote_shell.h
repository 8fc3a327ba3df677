// How `ssh` of a simulated host (tools/remote) asks for the program that is its other half. C and C++.
#pragma once

// A system call that Linux does not have. Arguments: the far host's IPv4 address and the caller's own TCP port, both in host
// byte order. 0, or -EHOSTUNREACH: nobody has the address; -EINVAL: no port. The other half
// is started there, one latency of the network later, with the caller's address and port.
#define VERBATIM_START_REMOTE_SHELL 506

// Where both halves are seen on every host. The first is also seen as rsh.
#define VERBATIM_SSH_PATH "/usr/bin/ssh"
#define VERBATIM_RSH_PATH "/usr/bin/rsh"
// Where somebody sits at a terminal: ssh under the name by which a command runs on another host.
#define VERBATIM_ON_PATH "/usr/bin/on"
#define VERBATIM_SSHD_PATH "/usr/sbin/sshd"
