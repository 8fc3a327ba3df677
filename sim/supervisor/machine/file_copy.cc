#include "sim/supervisor/machine/file_copy.h"

#include <algorithm>
#include <cerrno>
#include <memory>

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kAtOnce = 1 << 20;  // bytes

int write_all(int to, const char* bytes, std::size_t size, off_t at) {
  for (std::size_t written = 0; written < size;) {
    const ssize_t n = pwrite(to, bytes + written, size - written, at + static_cast<off_t>(written));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    written += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace

int copy_data(int from, int to, off_t size, const std::function<bool(std::uint64_t)>& may_copy) {
  std::unique_ptr<char[]> buffer;
  for (off_t at = 0; at < size;) {
    const off_t begin = lseek(from, at, SEEK_DATA);
    if (begin < 0 && errno != ENXIO) return errno;
    if (begin < 0 || begin >= size) return 0;  // a hole to the end
    const off_t hole = lseek(from, begin, SEEK_HOLE);
    const off_t end = std::min<off_t>(hole < 0 ? size : hole, size);
    if (buffer == nullptr) buffer = std::make_unique<char[]>(std::min<std::size_t>(kAtOnce, static_cast<std::size_t>(size)));
    for (at = begin; at < end;) {
      const ssize_t read = pread(from, buffer.get(), std::min<std::size_t>(kAtOnce, static_cast<std::size_t>(end - at)), at);
      if (read < 0) return errno;
      if (read == 0) return 0;  // the file has become shorter
      if (!may_copy(static_cast<std::uint64_t>(read))) return ECANCELED;
      if (const int error = write_all(to, buffer.get(), static_cast<std::size_t>(read), at); error != 0) return error;
      at += read;
    }
  }
  return 0;
}

}  // namespace verbatim::supervisor
