// Percentiles by the nearest-rank method: each is one of the values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace verbatim::cli {

// The smallest value that is greater than or equal to at least `percent` of all values. `sorted` must not be
// empty.
inline std::int64_t nearest_rank(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  const std::size_t rank = (percent * sorted.size() + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace verbatim::cli
