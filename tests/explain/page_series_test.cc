// Values over time: added one by one, at half the resolution, and in the page.
#include "tools/verbatim/page_series.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/explain/page_data.h"

namespace verbatim::cli {
namespace {

using Join = BinnedValues::Join;
using Run = BinnedValues::Run;
using Runs = std::vector<Run>;

constexpr std::size_t kLast = BinnedValues::kBins - 1;

TEST(BinnedValues, what_meets_in_a_part_is_joined_and_the_rest_is_as_it_was) {
  BinnedValues sums, least(Join::kLeast, -1), most(Join::kMost, -1);
  for (BinnedValues* values : {&sums, &least, &most}) {
    values->put(3, 5);
    values->put(3, 2);
    values->put(7, 4);
    values->put(8, 4);
    values->put(kLast, 9);
  }
  EXPECT_EQ(sums.runs(), (Runs{{0, 0}, {3, 7}, {4, 0}, {7, 4}, {9, 0}, {kLast, 9}}));
  EXPECT_EQ(least.runs(), (Runs{{0, -1}, {3, 2}, {4, -1}, {7, 4}, {9, -1}, {kLast, 9}}));
  EXPECT_EQ(most.runs(), (Runs{{0, -1}, {3, 5}, {4, -1}, {7, 4}, {9, -1}, {kLast, 9}}));
  EXPECT_EQ(sums.at(3), 7);
  EXPECT_EQ(sums.at(5), 0);
}

TEST(BinnedValues, a_level_lasts_and_a_part_has_the_most_of_its_levels) {
  BinnedValues levels(Join::kMost);
  levels.begin_level(2, 1);
  levels.begin_level(5, 3);
  levels.begin_level(5, 2);
  levels.begin_level(9, 0);
  EXPECT_EQ(levels.runs(), (Runs{{0, 0}, {2, 1}, {5, 3}, {6, 2}, {10, 0}})) << "in part 9 it was 2, and then 0";
  EXPECT_EQ(levels.at(7), 2);
  EXPECT_EQ(levels.at(kLast), 0);
}

// Compares to uncompressed values, for each kind and for ranges with odd and even ends.
TEST(BinnedValues, halving_joins_neighbours) {
  for (const Join join : {Join::kSum, Join::kLeast, Join::kMost}) {
    for (std::size_t shape = 0; shape < 64; ++shape) {
      BinnedValues values(join, join == Join::kSum ? 0 : -1);
      const std::size_t first = kLast + 1 - 8;
      for (std::size_t i = 0; i < 6; ++i) {
        if ((shape >> i & 1) != 0) values.put(first + i, static_cast<std::int64_t>(1 + i * i % 5));
      }
      if (shape % 3 == 0) values.put(kLast, 2);
      const BinnedValues half = values.halved();
      ASSERT_EQ(half.bins(), values.bins() / 2);
      for (std::size_t i = first; i <= kLast; i += 2) {
        const std::int64_t a = values.at(i), b = values.at(i + 1);
        const std::int64_t less = a < 0 ? b : b < 0 ? a : std::min(a, b);
        ASSERT_EQ(half.at(i), join == Join::kSum ? a + b : join == Join::kMost ? std::max(a, b) : less) << shape << " " << i - first;
      }
    }
  }
}

TEST(BinnedValues, of_very_many_values_the_resolution_falls_and_nothing_is_lost) {
  BinnedValues values;
  std::int64_t put = 0;
  for (std::size_t i = 0; i < BinnedValues::kBins; i += 3) {
    values.put(i, static_cast<std::int64_t>(1 + i % 7));
    put += static_cast<std::int64_t>(1 + i % 7);
  }
  EXPECT_LE(values.runs().size(), BinnedValues::kMostRuns + 4);
  EXPECT_GE(values.bins(), BinnedValues::kMostRuns / 2);
  const std::vector<std::int64_t> all = values.values(4);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0] + all[1] + all[2] + all[3], put);
  values.put(kLast, 1);
  EXPECT_GE(values.at(kLast), 1);
}

// Decoded as the page decodes series.
TEST(PageSeries, of_few_runs_all_come_back_at_the_finest_resolution) {
  PageSeries series;
  BinnedValues burst, credits(Join::kLeast, -1);
  burst.put(4000, 7);
  burst.put(4001, 9);
  credits.put(0, 3);
  EXPECT_EQ(series.add(burst), 0u);
  EXPECT_EQ(series.add(credits), 1u);
  const PageBlocks blocks = series.blocks();
  EXPECT_EQ(blocks.index["bins"], nlohmann::ordered_json::array({BinnedValues::kBins, BinnedValues::kBins}));
  EXPECT_EQ(blocks.index["runs"], nlohmann::ordered_json::array({4, 2}));
  const auto columns = support::page_block(blocks.elements, "series-0");
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0], (std::vector<std::uint64_t>{0, 4000, 1, 1, 0, 1}));
  EXPECT_EQ(columns[1], (std::vector<std::uint64_t>{0, 14, 4, 17, 6, 7})) << "0, +7, +2, -9; 3, -4, in zigzag order";
}

TEST(PageSeries, of_too_many_runs_the_resolution_is_halved_until_they_fit) {
  PageSeries series;
  BinnedValues values;
  constexpr std::size_t kPuts = 8192, kStep = BinnedValues::kBins / kPuts;
  for (std::size_t i = 0; i < kPuts; ++i) values.put(i * kStep, static_cast<std::int64_t>(1 + i % 3 + i % 5));
  const std::size_t count = PageSeries::kMostRuns / 1024;  // each has room for about 1024 intervals
  for (std::size_t i = 0; i < count; ++i) series.add(values);
  const PageBlocks blocks = series.blocks();
  EXPECT_EQ(blocks.index["bins"].size(), count);
  EXPECT_EQ(blocks.index["bins"][0], 1024);
  EXPECT_LE(blocks.index["runs"][0].get<std::size_t>(), PageSeries::kMostRuns / count);
}

}  // namespace
}  // namespace verbatim::cli
