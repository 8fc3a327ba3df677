// Bytes that each of some hosts sends to each other one, as a JSON file has them: a list of rows, one for each sender, with the
// receivers in the same order. `[[0, "1 MiB"], [4096, 0]]`. What a host would send to itself is left out.
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

// None: there are findings, which name the file `path`.
std::optional<ByteMatrix> read_byte_matrix(std::string_view text, const std::string& path, std::size_t members,
                                           Diagnostics& diagnostics);

}  // namespace verbatim::config
