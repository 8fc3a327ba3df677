// Flow sizes from published measurements: a cumulative distribution by points, linear between them. Computed
// in integers, so that every machine draws the same sizes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/core/rng.h"

namespace verbatim::workload {

class SizeDistribution {
 public:
  static constexpr std::uint32_t kOne = 1'000'000;  // share of all flows

  struct Point {
    std::uint64_t bytes = 0;
    std::uint32_t cumulative = 0;  // share of flows that are not larger, in millionths
    friend bool operator==(const Point&, const Point&) = default;
  };

  // At least two points, both coordinates ascending (each may repeat), from a share of 0 to kOne.
  explicit SizeDistribution(std::vector<Point> points);

  // Rounded up: at least 1 byte, at most the largest size.
  std::uint64_t draw(Rng& random) const;
  // Mean of draws before rounding, times 2 * kOne: in bytes it may be a fraction.
  unsigned __int128 scaled_mean() const { return scaled_mean_; }
  // In bytes, rounded to the nearest.
  std::uint64_t mean() const;
  std::span<const Point> points() const { return points_; }

 private:
  std::vector<Point> points_;
  unsigned __int128 scaled_mean_ = 0;
};

// Distributions by name: "websearch" (DCTCP), "fb-hadoop" (Roy et al., SIGCOMM 2015), "ali-storage" (HPCC,
// SIGCOMM 2019), "solar" (Miao et al., SIGCOMM 2022) and "google-rpc" (Google's calls before 2008), with the
// points of HPCC's and ConWeave's generators. Null: unknown name.
const SizeDistribution* find_size_distribution(std::string_view name);
std::span<const std::string_view> size_distribution_names();

}  // namespace verbatim::workload
