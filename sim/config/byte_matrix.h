// Bytes that each host sends to each other host, read from JSON: a list of rows, one for each sender, with
// one column for each receiver in the same order: `[[0, "1 MiB"], [4096, 0]]`. The diagonal is ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"

namespace verbatim::config {

struct ByteMatrix {
  std::size_t members = 0;
  std::vector<std::uint64_t> bytes;  // row by row; 0: nothing is sent

  std::uint64_t at(std::size_t from, std::size_t to) const { return bytes[from * members + to]; }
};

// Returns nullopt on findings, which name the file `path`.
std::optional<ByteMatrix> read_byte_matrix(std::string_view text, const std::string& path, std::size_t members,
                                           Diagnostics& diagnostics);

}  // namespace verbatim::config
