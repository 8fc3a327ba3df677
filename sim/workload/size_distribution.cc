#include "sim/workload/size_distribution.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/core/check.h"
#include "sim/workload/google_rpc_sizes.h"

namespace verbatim::workload {

SizeDistribution::SizeDistribution(std::vector<Point> points) : points_(std::move(points)) {
  CHECK(points_.size() >= 2 && points_.front().cumulative == 0 && points_.back().cumulative == kOne);
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const Point &low = points_[i - 1], &high = points_[i];
    CHECK(low.bytes <= high.bytes && low.cumulative <= high.cumulative);
    scaled_mean_ += static_cast<unsigned __int128>(low.bytes + high.bytes) * (high.cumulative - low.cumulative);
  }
}

std::uint64_t SizeDistribution::draw(Rng& random) const {
  // A share with 32 fractional bits in addition to millionths, so that all sizes of a large segment can
  // occur.
  constexpr std::uint64_t kFine = 1ull << 32;
  const std::uint64_t share = random.below(kOne * kFine);
  const auto high = std::ranges::upper_bound(points_, share, {}, [](const Point& point) { return point.cumulative * kFine; });
  const auto low = high - 1;
  const auto within = static_cast<unsigned __int128>(share - low->cumulative * kFine) * (high->bytes - low->bytes);
  const auto width = static_cast<unsigned __int128>(high->cumulative - low->cumulative) * kFine;
  return std::min(high->bytes, low->bytes + static_cast<std::uint64_t>(within / width) + 1);
}

std::uint64_t SizeDistribution::mean() const { return static_cast<std::uint64_t>((scaled_mean_ + kOne) / (2 * kOne)); }

namespace {

struct Row {
  std::string_view name;
  SizeDistribution distribution;
};

const std::array<Row, 5>& rows() {
  static const std::array<Row, 5> kRows = {
      Row{"websearch",
          SizeDistribution({{0, 0},
                            {10'000, 150'000},
                            {20'000, 200'000},
                            {30'000, 300'000},
                            {50'000, 400'000},
                            {80'000, 530'000},
                            {200'000, 600'000},
                            {1'000'000, 700'000},
                            {2'000'000, 800'000},
                            {5'000'000, 900'000},
                            {10'000'000, 970'000},
                            {30'000'000, 1'000'000}})},
      Row{"fb-hadoop",
          SizeDistribution({{0, 0},
                            {100, 10'000},
                            {200, 20'000},
                            {300, 50'000},
                            {350, 150'000},
                            {400, 200'000},
                            {500, 300'000},
                            {600, 400'000},
                            {700, 500'000},
                            {1'000, 600'000},
                            {2'000, 670'000},
                            {7'000, 700'000},
                            {30'000, 720'000},
                            {50'000, 820'000},
                            {80'000, 870'000},
                            {120'000, 900'000},
                            {300'000, 950'000},
                            {1'000'000, 975'000},
                            {2'000'000, 990'000},
                            {10'000'000, 1'000'000}})},
      Row{"ali-storage",
          SizeDistribution({{0, 0},
                            {4'000, 229'300},
                            {8'000, 692'100},
                            {16'000, 806'100},
                            {32'000, 904'700},
                            {64'000, 935'300},
                            {128'000, 967'700},
                            {256'000, 975'300},
                            {2'000'000, 1'000'000}})},
      Row{"solar",
          SizeDistribution({{0, 0},
                            {4'095, 10},
                            {4'096, 300'000},
                            {16'383, 350'000},
                            {16'384, 500'000},
                            {65'535, 600'000},
                            {65'536, 950'000},
                            {262'144, 1'000'000}})},
      Row{"google-rpc", SizeDistribution({std::begin(kGoogleRpcSizes), std::end(kGoogleRpcSizes)})},
  };
  return kRows;
}

}  // namespace

const SizeDistribution* find_size_distribution(std::string_view name) {
  const auto found = std::ranges::find(rows(), name, &Row::name);
  return found == rows().end() ? nullptr : &found->distribution;
}

std::span<const std::string_view> size_distribution_names() {
  static const auto kNames = [] {
    std::vector<std::string_view> names;
    for (const Row& row : rows()) names.push_back(row.name);
    return names;
  }();
  return kNames;
}

}  // namespace verbatim::workload
