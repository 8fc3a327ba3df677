// State of working folders, as far as a run has accessed them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verbatim::supervisor {

struct FolderSnapshot {
  struct Entry {
    std::string path;              // absolute, on the machine
    std::string kind;              // "folder", "file", "link", "fifo", "socket"
    std::int64_t size = 0;         // bytes; 0 for folders
    std::int64_t modified_ns = 0;  // since 1970
    std::string digest;            // of the content; empty: not computed
    bool is_listed = false;        // a folder whose names a program has read
  };
  std::vector<Entry> entries;        // of every folder that a path has led into
  std::vector<std::string> opened;   // files whose content programs may have read
};

}  // namespace verbatim::supervisor
