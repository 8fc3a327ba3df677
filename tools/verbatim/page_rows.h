// The rows and requests of a run as blocks of the page of `verbatim report` (page_block.h), and the index
// that the page reads first. Differences within a block refer to values of the same block.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/verbatim/run_picture.h"
#include "tools/verbatim/run_sides.h"

namespace verbatim::cli {

// Number of rows, or requests, of a block.
inline constexpr std::size_t kBlockRows = 8192;

struct PageBlocks {
  nlohmann::ordered_json index;
  std::string elements;
};

// `places`: index in the page of each of the picture's columns.
//
// Columns of "rows-N": time minus the previous row's; from; to + 1; duration + 1; flags; bytes; PSN minus its sender's
// previous one; text; note; the numbers of the text, then those of the note, each minus the previous one at the same
// place of that text; request, as 1 and the zigzag difference to its sender's previous one, 0 for none.
PageBlocks rows_blocks(const RunPicture& picture, const std::vector<int>& places);
// Columns of "requests-N": column; wr_id / 10^9 + 1 (0: unknown); wr_id mod 10^9 minus the column's previous
// one; text of the place, and its numbers; bytes; first PSN minus the column's previous one; last PSN minus
// first; the eight times, 0 for an unknown one, else 1 and the zigzag difference to the previous known one of
// the request; status.
PageBlocks requests_blocks(const RunPicture& picture, const std::vector<int>& places);
// Columns of "writes-0": start minus the previous one's; duration; region + 1; offset in it; length; column +
// 1; whether it is a response. Columns of "waits-0": thread; start minus the end of its previous wait;
// duration; waited time; count; index of its reason in `waits_for`.
PageBlocks sides_blocks(const RunSides& sides, const std::vector<int>& places);

}  // namespace verbatim::cli
