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

struct LadderRow {
  std::size_t index;   // among the lines
  std::size_t column;  // among the hosts
};
struct LadderRows {
  std::vector<std::string> hosts;  // sorted
  std::vector<LadderRow> rows;
};

// Which lines are shown, and in which host's column.
LadderRows ladder_rows(std::span<const TraceLine> lines, const LadderOptions& options);

// Facts of ports inside the fabric, and acknowledgements as the transport counts them, are left out; what repeats is said once.
std::string ladder_text(std::span<const TraceLine> lines, const LadderOptions& options);

// The same as a picture (SVG): packets are lines from where they leave to where they come; what is dropped ends in a cross.
// The first kMostLadderRows rows; a line at the end tells how many more there are.
inline constexpr std::size_t kMostLadderRows = 2000;
std::string ladder_svg(std::span<const TraceLine> lines, const LadderOptions& options);

}  // namespace verbatim::observe
