#include "tools/verbatim/page_series.h"

#include <algorithm>
#include <utility>

#include "tools/verbatim/page_block.h"

namespace verbatim::cli {

std::size_t PageSeries::add(BinnedValues values) {
  all_.push_back(std::move(values));
  return all_.size() - 1;
}

PageBlocks PageSeries::blocks() const {
  using Json = nlohmann::ordered_json;
  const std::size_t most = std::max(kFewestRuns, kMostRuns / std::max<std::size_t>(1, all_.size()));
  PageBlock block(2);
  Json bins = Json::array(), counts = Json::array();
  for (const BinnedValues& series : all_) {
    BinnedValues values = series;
    std::vector<BinnedValues::Run> runs = values.runs();
    while (runs.size() > most && values.bins() > 1) {
      values = values.halved();
      runs = values.runs();
    }
    std::size_t last = 0;
    std::int64_t before = 0;
    for (const BinnedValues::Run& run : runs) {
      block.put(0, run.bin - std::exchange(last, run.bin));
      block.put_signed(1, run.value - std::exchange(before, run.value));
    }
    bins.push_back(values.bins());
    counts.push_back(runs.size());
  }
  return {{{"bins", std::move(bins)}, {"runs", std::move(counts)}}, block_element("series", 0, block)};
}

}  // namespace verbatim::cli
