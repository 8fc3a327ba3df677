#include "sim/supervisor/machine/child_status.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

namespace verbatim::supervisor {

int await_status(pid_t pid) {
  int status = SIGKILL;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return SIGKILL;
  }
  return status;
}

void end_child(pid_t pid) {
  kill(pid, SIGKILL);
  await_status(pid);
}

}  // namespace verbatim::supervisor
