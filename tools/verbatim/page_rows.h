// The rows and requests of a run as blocks of the page of `verbatim report` (page_block.h), and what the page has to know before
// it reads one. A block begins anew: the differences in it are to values of its own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/verbatim/run_picture.h"
#include "tools/verbatim/run_sides.h"

namespace verbatim::cli {

// So many rows, or requests, are in a block.
inline constexpr std::size_t kBlockRows = 8192;

struct PageBlocks {
  nlohmann::ordered_json index;
  std::string elements;
};

// `places`: of each of the picture's columns, where it is in the page.
//
// Columns of "rows-N": time less that of the row before; from; to + 1; took + 1; flags; bytes; PSN less the last one of its sender;
// text; note; the numbers of the text, then those of the note, each less the last one at its place in that text; request, as 1
// and the zigzag difference to the last one of its sender, 0 for none.
PageBlocks rows_blocks(const RunPicture& picture, const std::vector<int>& places);
// Columns of "requests-N": column; wr_id by 10^9, and the rest, + 1 of the first, 0 if it is not known; text of the place, and its
// numbers; bytes; first PSN less the last one of that column; last PSN less that; the eight times, each less the one before in it
// that is known, 0 for what is not, else 1 and the zigzag difference; status.
PageBlocks requests_blocks(const RunPicture& picture, const std::vector<int>& places);
// Columns of "writes-0": begin less that of the one before; took; region + 1; offset in it; length; column + 1; is an answer.
// Of "waits-0": thread; begin less the end of its last wait; took; waited; count; what for, of `waits_for`.
PageBlocks sides_blocks(const RunSides& sides, const std::vector<int>& places);

}  // namespace verbatim::cli
