// Percentiles by the nearest-rank method, each of which is one of the values; and means.
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

// Rounded down. `values` must not be empty nor have negative numbers.
inline std::int64_t mean_of(const std::vector<std::int64_t>& values) {
  unsigned __int128 sum = 0;
  for (const std::int64_t value : values) sum += static_cast<std::uint64_t>(value);
  return static_cast<std::int64_t>(sum / values.size());
}

}  // namespace verbatim::cli
