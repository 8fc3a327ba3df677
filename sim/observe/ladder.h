// A trace as a ladder: a column for each host, time downwards, packets as arrows between them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/observe/trace_line.h"

namespace verbatim::observe {

struct LadderOptions {
  std::int64_t from_ps = 0, to_ps = std::numeric_limits<std::int64_t>::max();
  std::vector<std::uint64_t> queue_pairs;  // only what is about these; empty: all
  std::size_t width = 130;                 // characters of a line, at least 60
  bool unicode = true;
  bool shows_system_calls = false;
  // Facts that are marked with ">" at the beginning of their line, by their index among `lines`.
  std::vector<std::size_t> marked;
};

// Facts of ports inside the fabric, and acknowledgements as the transport counts them, are left out; what repeats is said once.
std::string ladder_text(std::span<const TraceLine> lines, const LadderOptions& options);

}  // namespace verbatim::observe
