// Answers of the machine about its files, path by path: what the programs of a run have seen of them. A run
// that gets the same answers again needs no file of the machine it runs on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace verbatim::supervisor {

struct MachineLook {
  // Attributes as lstat(2) reports them, without access time.
  struct Attributes {
    std::uint64_t device = 0, inode = 0, links = 1;
    std::uint32_t mode = 0;  // type and permissions
    std::uint32_t user = 0, group = 0;
    std::uint64_t device_number = 0;  // of a device
    std::int64_t size = 0, block_size = 4096, blocks = 0;  // size in bytes; blocks of 512 bytes
    std::int64_t modified_ns = 0, changed_ns = 0;          // since 1970

    bool operator==(const Attributes&) const = default;
  };

  int error = 0;  // errno of lstat(2), such as ENOENT; 0: the file exists
  Attributes attributes;
  std::string target;                              // of a symbolic link that was read
  std::optional<std::vector<std::string>> names;   // of a folder that was listed: sorted, without "." and ".."
  bool has_content = false;                        // a regular file that was opened for reading
  bool may_change = true;                          // the caller of the run may write to it

  bool operator==(const MachineLook&) const = default;
};

// By absolute path, without "." and "..", without a trailing slash; "/" is the empty string.
using MachineLooks = std::map<std::string, MachineLook>;

}  // namespace verbatim::supervisor
