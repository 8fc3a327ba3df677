#include "sim/supervisor/machine/child_status.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "sim/core/check.h"

namespace verbatim::supervisor {

int await_status(pid_t pid) {
  int status = SIGKILL;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return SIGKILL;
  }
  return status;
}

void end_child(pid_t pid) {
  CHECK(pid > 0);  // -1 and 0 name other processes
  kill(pid, SIGKILL);
  await_status(pid);
}

}  // namespace verbatim::supervisor
