// Search results for files that nearly every program loads, stored at build time: searching the C library
// takes longer than the rest of a short run. A file is identified by its content, or by inode and times if
// unchanged on the same disk, since reading two megabytes costs as much as the rest of a short run on some
// virtual machines. A table is valid for the executable that wrote it.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/code/code_search.h"

namespace verbatim::code {

class CodeTable {
 public:
  CodeTable() = default;
  // Empty if the file is missing, damaged or written by another executable.
  explicit CodeTable(const std::string& path);
  CodeTable(CodeTable&&) = default;
  CodeTable& operator=(CodeTable&&) = default;

  bool empty() const { return entries_.empty(); }
  // False: no file of this size is in the table, so its content need not be read.
  bool has_one_of_size(std::uint64_t bytes) const { return sizes_.contains(bytes); }
  // Looks a file up by content, or by inode and times; nullopt: not in the table.
  std::optional<SearchResult> find(std::span<const std::byte> file) const;
  std::optional<SearchResult> find(const struct stat& file) const;

  // Searches `files`; omits those that cannot be read or are no ELF files. Returns an error message, or "".
  static std::string write(const std::string& path, const std::vector<std::string>& files);

 private:
  using Hash = std::pair<std::uint64_t, std::uint64_t>;
  // Device, inode, size, mtime, ctime.
  using Identity = std::array<std::uint64_t, 7>;
  using Words = std::vector<std::uint64_t>;
  static Identity identity_of(const struct stat& file);
  static Hash hash_of(std::span<const std::byte> file);

  Words words_;
  std::map<Hash, std::span<const std::uint64_t>> entries_;  // views of `words_`, as in unchanged_
  std::map<Identity, std::span<const std::uint64_t>> unchanged_;
  std::set<std::uint64_t> sizes_;
};

}  // namespace verbatim::code
