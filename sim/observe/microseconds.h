#pragma once

#include <cstdint>
#include <string>

#include "sim/core/words.h"

namespace verbatim::observe {

// Time in the form of the trace, exact to the picosecond: "12.500000". Messages use sim/core/time_text.h.
inline std::string microseconds(std::int64_t time_ps) {
  std::string decimals = std::to_string(time_ps % 1'000'000);
  decimals.insert(0, 6 - decimals.size(), '0');
  return join(time_ps / 1'000'000, ".", decimals);
}

}  // namespace verbatim::observe
