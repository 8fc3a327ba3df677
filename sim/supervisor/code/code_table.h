// What the search has found in files that nearly every program loads, kept from the build: searching the C library takes longer
// than all else that a short run does. A file is known by its content, or as the same one on the same disk that has not been
// changed since, as reading two megabytes costs some virtual machines as much as the rest of a short run does. A table counts
// for the executable alone that wrote it.
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
  // Empty when there is no such file, or one that is damaged or that another executable has written.
  explicit CodeTable(const std::string& path);
  CodeTable(CodeTable&&) = default;
  CodeTable& operator=(CodeTable&&) = default;

  bool empty() const { return entries_.empty(); }
  // What is of no such size need not be read to know that it is not in the table.
  bool has_one_of_size(std::uint64_t bytes) const { return sizes_.contains(bytes); }
  // By its content, and without looking at it; nullopt: the file is not in the table.
  std::optional<SearchResult> find(std::span<const std::byte> file) const;
  std::optional<SearchResult> find(const struct stat& file) const;

  // Searches `files`, and leaves out those that cannot be read or are no ELF files. Why it cannot be written, or empty.
  static std::string write(const std::string& path, const std::vector<std::string>& files);

 private:
  using Hash = std::pair<std::uint64_t, std::uint64_t>;
  // Device, inode, size, times of the last change of content and of status.
  using Identity = std::array<std::uint64_t, 7>;
  using Words = std::vector<std::uint64_t>;
  static Identity identity_of(const struct stat& file);
  static Hash hash_of(std::span<const std::byte> file);

  Words words_;
  std::map<Hash, std::span<const std::uint64_t>> entries_;  // into `words_`, as the next
  std::map<Identity, std::span<const std::uint64_t>> unchanged_;
  std::set<std::uint64_t> sizes_;
};

}  // namespace verbatim::code
