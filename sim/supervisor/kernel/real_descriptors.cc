#include "sim/supervisor/kernel/real_descriptors.h"

#include <cerrno>

#include "sim/supervisor/machine/foreign_descriptors.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

int RealDescriptors::take(Process& process, pid_t asking, int fd) {
  if (copies_) {
    const int copy = copy_descriptor(process.native_pid(), fd);
    if (copy >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES)) return copy;
  }
  const ParkedThread thread{.native_tid = asking, .gate = process.region().header().gate};
  const int error = send_descriptor(thread, process.files().own_descriptors() + protocol::kPassageFd, fd);
  const int sent = error == 0 ? passage_->take() : -1;
  errno = error == 0 ? EMFILE : error;
  return sent;
}

}  // namespace verbatim::supervisor
