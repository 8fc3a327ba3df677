// Formats bytes per second for people.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/words.h"

namespace verbatim::cli {

// "11.872 GB/s", rounded down.
inline std::string bandwidth_text(std::uint64_t bytes_per_second) {
  const std::uint64_t mega = bytes_per_second / 1'000'000;
  return join(mega / 1000, ".", std::to_string(1000 + mega % 1000).substr(1), " GB/s");
}

}  // namespace verbatim::cli
