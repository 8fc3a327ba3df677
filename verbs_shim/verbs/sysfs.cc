// Helpers that read /sys. Files are opened and read as by the program, which shows the simulated host's /sys.
#include <fcntl.h>
#include <sys/syscall.h>

#include "verbs_shim/verbs/objects.h"

using namespace verbatim;

extern "C" __attribute__((visibility("default"))) const char* ibv_get_sysfs_path(void) { return "/sys"; }

// Reads up to `size` bytes of dir/file, without the trailing newline; -1 if there is no such file.
extern "C" __attribute__((visibility("default"))) int ibv_read_sysfs_file(const char* dir, const char* file,
                                                                          char* buffer, std::size_t size) {
  char path[2 * IBV_SYSFS_PATH_MAX];
  const std::size_t dir_length = strlen(dir);
  const std::size_t file_length = strlen(file);
  if (dir_length + 1 + file_length + 1 > sizeof(path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(path, dir, dir_length);
  path[dir_length] = '/';
  std::memcpy(path + dir_length + 1, file, file_length + 1);
  if (!shim::attached()) {
    errno = ENOSYS;
    return -1;
  }
  const long fd = shim::system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    errno = static_cast<int>(-fd);
    return -1;
  }
  long length = shim::system_call(SYS_read, fd, reinterpret_cast<long>(buffer), static_cast<long>(size));
  shim::system_call(SYS_close, fd);
  if (length < 0) {
    errno = static_cast<int>(-length);
    return -1;
  }
  if (length > 0 && buffer[length - 1] == '\n') buffer[--length] = 0;
  if (length < static_cast<long>(size)) buffer[length] = 0;
  return static_cast<int>(length);
}
