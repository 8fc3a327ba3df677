#include "sim/supervisor/machine/child_status.h"

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

}  // namespace verbatim::supervisor
