#include "sim/supervisor/files/virtual_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "sim/core/check.h"

namespace verbatim::supervisor {

IoResult VirtualFile::read(std::size_t, std::vector<std::byte>&) { return -EINVAL; }
IoResult VirtualFile::write(std::span<const std::byte>) { return -EINVAL; }
IoResult VirtualFile::write_by(Process&, std::span<const std::byte> bytes, VirtualFilePtr&) {
  return write(bytes);
}
std::int64_t VirtualFile::seek(std::int64_t, int) { return -ESPIPE; }
std::int64_t VirtualFile::read_at(std::uint64_t, std::size_t, std::vector<std::byte>&) { return -ESPIPE; }
IoResult VirtualFile::read_async(std::uint64_t, std::size_t, std::vector<std::byte>&) { return -EINVAL; }
std::int64_t VirtualFile::entries(std::size_t, std::vector<std::byte>&) { return -ENOTDIR; }
std::int64_t VirtualFile::control_io(Process&, std::uint64_t, std::uint64_t, Instant) { return -ENOTTY; }
const std::string& VirtualFile::tree_path() const {
  static const std::string kNone;
  return kNone;
}
int VirtualFile::access_mode() const { return O_RDWR; }
std::uint32_t VirtualFile::mode() const { return 0600; }
std::uint32_t OutputFile::mode() const { return S_IFIFO | 0600; }
int OutputFile::access_mode() const { return O_WRONLY; }

void VirtualFile::drop_descriptor() {
  CHECK(descriptors_ > 0);
  if (--descriptors_ > 0) return;
  on_last_close();
  if (ends_waits_at_close()) notify();
}

}  // namespace verbatim::supervisor
