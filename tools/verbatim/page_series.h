// Values over the time with packets, as a block of the page of `verbatim report` (page_block.h): runs of equal values, at the
// finest resolution whose runs fit.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/verbatim/binned_values.h"
#include "tools/verbatim/page_rows.h"

namespace verbatim::cli {

class PageSeries {
 public:
  // Runs of all series together, and of one series at least.
  static constexpr std::size_t kMostRuns = 120'000, kFewestRuns = 256;

  // Returns the number of the series.
  std::size_t add(BinnedValues values);
  // Columns of "series-0", the series one behind the other: parts that the run before lasted (0 for the first run of a series), and
  // the value less that of the run before. Index: for each series its parts ("bins") and its runs.
  PageBlocks blocks() const;

 private:
  std::vector<BinnedValues> all_;
};

}  // namespace verbatim::cli
