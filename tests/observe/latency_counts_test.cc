// Counters of --explain-latency: exact for the number of latencies that most runs have, bounded for any
// number.
#include "sim/observe/latency_counts.h"

#include <gtest/gtest.h>

namespace verbatim::observe {
namespace {

TEST(LatencyCounts, few_latencies_are_exact) {
  LatencyCounts counts;
  for (std::int64_t i = 0; i < 4096; ++i) counts.add(1'000'000 + 7 * i);
  EXPECT_EQ(counts.span_ps(), 1);
  EXPECT_EQ(counts.least_ps(), 1'000'000);
  EXPECT_EQ(counts.median_ps(), 1'000'000 + 7 * 2047);
  EXPECT_EQ(counts.greatest_ps(), 1'000'000 + 7 * 4095);
}

TEST(LatencyCounts, memory_does_not_grow_with_the_number_of_messages) {
  LatencyCounts counts;
  constexpr std::int64_t kMessages = 300'001;
  for (std::int64_t i = 0; i < kMessages; ++i) counts.add(1'000'000 + (i * 7919) % kMessages * 11);  // each once
  EXPECT_LE(counts.distinct(), LatencyCounts::kDistinct);
  EXPECT_EQ(counts.least_ps(), 1'000'000);
  EXPECT_EQ(counts.greatest_ps(), 1'000'000 + 300'000 * 11);
  const std::int64_t median = 1'000'000 + 150'000 * 11;
  EXPECT_LE(counts.median_ps(), median);
  EXPECT_GT(counts.median_ps(), median - counts.span_ps());
  EXPECT_LE(counts.span_ps(), 2 * (300'000 * 11 / 4096 + 1));
}

}  // namespace
}  // namespace verbatim::observe
