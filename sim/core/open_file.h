// open(2) for files of the simulator itself. A signal that arrives while a slow file system opens a file (NFS, FUSE)
// does not refuse the file: the call is repeated.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <string>

namespace verbatim {

// The descriptor, or -1 with errno. Not for a FIFO without a peer: that call would wait through every signal.
inline int open_file(const char* path, int flags, mode_t mode = 0) {
  int descriptor = -1;
  do descriptor = ::open(path, flags, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}
inline int open_file(const std::string& path, int flags, mode_t mode = 0) { return open_file(path.c_str(), flags, mode); }

}  // namespace verbatim
