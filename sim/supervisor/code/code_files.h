// What was found in the files whose code programs run; each file is searched once in a run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "sim/supervisor/code/code_search.h"

namespace verbatim::code {

struct FileCode {
  std::string path;     // as it was opened, or what the link that was opened leads to
  SearchResult found;   // addresses are those of the file
};

class CodeFiles {
 public:
  // Of the file that `path` leads to (a link in /proc/PID/fd will do). nullptr: it cannot be read or is no ELF file.
  const FileCode* of(const std::string& path);

 private:
  // Device, inode, size, modification time: another file, or the same one changed, is another key.
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, std::unique_ptr<FileCode>> files_;
};

}  // namespace verbatim::code
