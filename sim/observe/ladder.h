// Shows a trace as a ladder: a column for each host, time downwards, packets as arrows between columns.
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
  std::vector<std::uint64_t> queue_pairs;  // only records of these; empty: all
  std::size_t width = 130;                 // characters of a line, at least 60
  bool unicode = true;
  bool shows_system_calls = false;
  // Indices of lines that get a ">" at their beginning.
  std::vector<std::size_t> marked;
};

struct LadderRow {
  std::size_t index;   // in `lines`
  std::size_t column;  // in `hosts`
};
struct LadderRows {
  std::vector<std::string> hosts;  // sorted
  std::vector<LadderRow> rows;
};

// The lines to show, and the host's column of each.
LadderRows ladder_rows(std::span<const TraceLine> lines, const LadderOptions& options);

// Text without records of ports inside the fabric and without transport acknowledgements; repeated lines are
// combined.
std::string ladder_text(std::span<const TraceLine> lines, const LadderOptions& options);

// The ladder as a picture (SVG): packets are lines from sender to receiver; dropped ones end in a cross. It
// has the first kMostLadderRows rows; a last line has the number of further ones.
inline constexpr std::size_t kMostLadderRows = 2000;
std::string ladder_svg(std::span<const TraceLine> lines, const LadderOptions& options);

}  // namespace verbatim::observe
