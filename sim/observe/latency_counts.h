// Latency histogram in bounded memory. Up to kDistinct latencies are kept to the picosecond; beyond that
// neighbouring latencies share a bin, whose width doubles each time. The least and the greatest latency are
// always exact.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

namespace verbatim::observe {

class LatencyCounts {
 public:
  static constexpr std::size_t kDistinct = 4096;

  void add(std::int64_t latency_ps) {
    least_ = messages_ == 0 ? latency_ps : std::min(least_, latency_ps);
    greatest_ = messages_ == 0 ? latency_ps : std::max(greatest_, latency_ps);
    ++messages_;
    ++counts_[latency_ps / span_];
    while (counts_.size() > kDistinct) widen();
  }

  std::int64_t least_ps() const { return least_; }
  std::int64_t greatest_ps() const { return greatest_; }
  // The lower of two middle values; less than `span_ps` below the exact one.
  std::int64_t median_ps() const {
    std::uint64_t before = messages_ == 0 ? 0 : (messages_ - 1) / 2;
    for (const auto& [from, count] : counts_) {
      if (before < count) return std::clamp(from * span_, least_, greatest_);
      before -= count;
    }
    return 0;
  }
  // Width of a bin; 1: all latencies are exact.
  std::int64_t span_ps() const { return span_; }
  std::size_t distinct() const { return counts_.size(); }

 private:
  void widen() {
    span_ *= 2;
    std::map<std::int64_t, std::uint64_t> wider;
    for (const auto& [from, count] : counts_) wider[from / 2] += count;
    counts_ = std::move(wider);
  }

  std::map<std::int64_t, std::uint64_t> counts_;  // by latency / span, rounded down
  std::int64_t span_ = 1;
  std::int64_t least_ = 0, greatest_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace verbatim::observe
