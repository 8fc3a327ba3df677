// What the search has found in files that nearly every program loads, kept from the build: searching the C library takes longer
// than all else that a short run does. A file is known by its content, and a table counts for the executable that wrote it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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

  bool empty() const { return entries_.empty(); }
  // nullopt: the file is not in the table.
  std::optional<SearchResult> find(std::span<const std::byte> file) const;

  // Searches `files`, and leaves out those that cannot be read or are no ELF files. Why it cannot be written, or empty.
  static std::string write(const std::string& path, const std::vector<std::string>& files);

 private:
  using Hash = std::pair<std::uint64_t, std::uint64_t>;
  using Words = std::vector<std::uint64_t>;
  static Hash hash_of(std::span<const std::byte> file);

  Words words_;
  std::map<Hash, std::span<const std::uint64_t>> entries_;  // into `words_`
};

}  // namespace verbatim::code
