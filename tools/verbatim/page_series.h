// Values over the time with packets, as a block of the page of `verbatim report` (page_block.h): runs of
// equal values, at the finest resolution at which all runs fit.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/verbatim/binned_values.h"
#include "tools/verbatim/page_rows.h"

namespace verbatim::cli {

class PageSeries {
 public:
  // Limit of the runs of all series, and least limit of one series.
  static constexpr std::size_t kMostRuns = 120'000, kFewestRuns = 256;

  // Returns the number of the series.
  std::size_t add(BinnedValues values);
  // Columns of "series-0", the series one after the other: number of parts of the previous run (0 for a
  // series' first run), and the value minus the previous run's. Index: number of parts ("bins") and of runs
  // of each series.
  PageBlocks blocks() const;

 private:
  std::vector<BinnedValues> all_;
};

}  // namespace verbatim::cli
