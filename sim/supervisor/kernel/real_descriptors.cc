#include "sim/supervisor/kernel/real_descriptors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "sim/supervisor/machine/foreign_descriptors.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

int native_access_mode(const Process& process, int fd) {
  struct stat link;
  if (lstat(fmt::format("/proc/{}/fd/{}", process.calling_thread(), fd).c_str(), &link) != 0) return O_RDWR;
  const bool reads = (link.st_mode & S_IRUSR) != 0, writes = (link.st_mode & S_IWUSR) != 0;
  return reads == writes ? O_RDWR : reads ? O_RDONLY : O_WRONLY;
}

unsigned native_type(const Process& process, int fd) {
  struct stat status;
  return stat(fmt::format("/proc/{}/fd/{}", process.calling_thread(), fd).c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
}

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
