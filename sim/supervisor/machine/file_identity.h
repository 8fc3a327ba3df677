// Recognises a file that is unchanged, without reading it.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace verbatim::supervisor {

// Device, inode, size, mtime, ctime: differs for another or a changed file. The inode number of a file that
// is mapped or open is not reused.
using FileIdentity = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t,
                                std::int64_t, std::int64_t>;

// Size and times of a folder do not matter.
inline FileIdentity identity_of(const struct stat& status) {
  const auto of_file = [is_file = S_ISREG(status.st_mode)](std::int64_t value) {
    return is_file ? value : 0;
  };
  return {status.st_dev,
          status.st_ino,
          of_file(status.st_size),
          of_file(status.st_mtim.tv_sec),
          of_file(status.st_mtim.tv_nsec),
          of_file(status.st_ctim.tv_sec),
          of_file(status.st_ctim.tv_nsec)};
}

// Results of inspecting files, kept from run to run of this process: of at most kMost files.
template <class Found>
class FoundInFiles {
 public:
  static constexpr std::size_t kMost = 256;

  // nullptr: the file is not known, or has changed.
  const Found* find(const FileIdentity& file) const {
    const auto it = found_.find(file);
    return it == found_.end() ? nullptr : &it->second;
  }
  const Found& add(const FileIdentity& file, Found found) {
    if (found_.size() >= kMost) found_.clear();
    return found_.insert_or_assign(file, std::move(found)).first->second;
  }

 private:
  std::map<FileIdentity, Found> found_;
};

}  // namespace verbatim::supervisor
