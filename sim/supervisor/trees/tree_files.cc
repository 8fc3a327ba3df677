#include "sim/supervisor/trees/tree_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace verbatim::supervisor {

namespace {

unsigned char type_of(VirtualNode::Kind kind) {
  switch (kind) {
    case VirtualNode::Kind::kFolder:
      return DT_DIR;
    case VirtualNode::Kind::kFile:
      return DT_REG;
    case VirtualNode::Kind::kLink:
      return DT_LNK;
    case VirtualNode::Kind::kDevice:
      return DT_CHR;
  }
  return DT_UNKNOWN;
}

}  // namespace

int TreeFile::access_mode() const { return O_RDONLY; }
std::uint32_t ContentFile::mode() const { return S_IFREG | (store_ == nullptr ? 0444 : 0644); }
// sysfs, sysctls and lists of mounts report changes to poll(2).
bool ContentFile::can_be_polled() const {
  const std::string& path = tree_path();
  return path.starts_with("/sys/") || path.starts_with("/proc/sys/") || path.ends_with("/mounts") || path.ends_with("/mountinfo");
}
std::uint32_t FolderFile::mode() const { return S_IFDIR | 0755; }

std::int64_t TreeFile::seek(std::int64_t offset, int whence) {
  std::int64_t to = offset;
  if (whence == SEEK_CUR) to += static_cast<std::int64_t>(position_);
  if (whence == SEEK_END) to += static_cast<std::int64_t>(size());
  if (to < 0 || (whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END)) return -EINVAL;
  position_ = static_cast<std::uint64_t>(to);
  return to;
}

std::int64_t ContentFile::read_at(std::uint64_t position, std::size_t limit, std::vector<std::byte>& bytes) {
  if (position == 0) text_ = content_();
  if (text_ == nullptr) return -EINVAL;
  if (position >= size()) return 0;
  const std::size_t n = std::min<std::uint64_t>(limit, size() - position);
  const auto all = std::as_bytes(std::span(*text_));
  bytes.insert(bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(position),
               all.begin() + static_cast<std::ptrdiff_t>(position + n));
  return static_cast<std::int64_t>(n);
}

IoResult ContentFile::write(std::span<const std::byte> bytes) {
  if (store_ == nullptr) return -EINVAL;
  if (const int error = store_({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); error != 0) return -error;
  position_ += bytes.size();
  return static_cast<std::int64_t>(bytes.size());
}

IoResult ContentFile::read(std::size_t limit, std::vector<std::byte>& bytes) {
  const std::int64_t n = read_at(position_, limit, bytes);
  if (n > 0) position_ += static_cast<std::uint64_t>(n);
  return n;
}

IoResult FolderFile::read(std::size_t, std::vector<std::byte>&) { return -EISDIR; }

std::int64_t FolderFile::entries(std::size_t limit, std::vector<std::byte>& bytes) {
  if (position_ == 0) {
    names_ = {{".", VirtualNode::Kind::kFolder}, {"..", VirtualNode::Kind::kFolder}};
    const Names listed = list_();
    names_.insert(names_.end(), listed.begin(), listed.end());
  }
  for (; position_ < names_.size(); ++position_) {
    const auto& [name, kind] = names_[position_];
    struct {
      std::uint64_t number;
      std::int64_t next;
      std::uint16_t length;
      std::uint8_t type;
    } record{number_of_path(normal_path(tree_path() + "/" + name)), static_cast<std::int64_t>(position_ + 1), 0,
             type_of(kind)};
    constexpr std::size_t kNameAt = 19;  // offset in struct linux_dirent64
    const std::size_t length = (kNameAt + name.size() + 1 + 7) & ~std::size_t{7};
    if (bytes.size() + length > limit) break;
    record.length = static_cast<std::uint16_t>(length);
    const std::size_t at = bytes.size();
    bytes.resize(at + length);
    std::memcpy(&bytes[at], &record, kNameAt);
    std::memcpy(&bytes[at + kNameAt], name.data(), name.size());
  }
  if (bytes.empty() && position_ < names_.size()) return -EINVAL;
  return static_cast<std::int64_t>(bytes.size());
}

}  // namespace verbatim::supervisor
