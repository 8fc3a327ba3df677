// Waiting for the processes of Linux that programs are.
#pragma once

#include <sys/types.h>

namespace verbatim::supervisor {

// waitpid(2) for one process, which has ended or, when it is traced, stopped: its status. Signals that come meanwhile, of other
// programs' ends for one, do not end the wait. A process that is none of ours counts as killed.
int await_status(pid_t pid);
// Kills it and waits for its end.
void end_child(pid_t pid);

}  // namespace verbatim::supervisor
