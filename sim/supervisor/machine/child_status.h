// Waits for the Linux processes of programs.
#pragma once

#include <sys/types.h>

namespace verbatim::supervisor {

// waitpid(2) for one process, until it has ended or, if traced, stopped; returns its status. Signals, such as
// SIGCHLD of other processes, do not end the wait. For a process that is no child: SIGKILL.
int await_status(pid_t pid);
// Kills the process and waits for its end.
void end_child(pid_t pid);

}  // namespace verbatim::supervisor
