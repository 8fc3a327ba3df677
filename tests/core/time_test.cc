// Clock edges and byte times are exact fractions, rounded up once.
#include "sim/core/time.h"

#include <gtest/gtest.h>

#include "sim/core/rng.h"

namespace verbatim {
namespace {

TEST(ByteTime, fdr_4x_is_440_thirds_of_a_picosecond_rounded_up_once) {
  const ByteTime fdr{440, 3};
  EXPECT_EQ(fdr.time_for(0), Duration(0));
  EXPECT_EQ(fdr.time_for(1), Duration(147));  // 146.67
  EXPECT_EQ(fdr.time_for(2), Duration(294));  // 293.33
  EXPECT_EQ(fdr.time_for(3), Duration(440));
  EXPECT_EQ(fdr.time_for(3'000'000),
            Duration(440'000'000));  // 1,000,000 separately rounded bytes would add 333,333 ps
}

TEST(ByteTime, of_a_rate_is_in_lowest_terms) {
  EXPECT_EQ(byte_time_of(100'000'000'000), (ByteTime{80, 1}));
  EXPECT_EQ(byte_time_of(600'000'000'000), (ByteTime{40, 3}));
  EXPECT_EQ(byte_time_of(8'000'000'000), (ByteTime{1000, 1}));
}

TEST(ByteTime, is_never_faster_than_its_rate_and_less_than_a_picosecond_slower) {
  Rng rng(1, "byte-time");
  for (int i = 0; i < 20'000; ++i) {
    const ByteTime time{1 + rng.below(100'000), 1 + rng.below(1000)};
    const std::uint64_t bytes = rng.below(1ull << 40);
    const auto exact = static_cast<unsigned __int128>(bytes) * time.ps_numerator;  // times the denominator
    const auto got = static_cast<unsigned __int128>(to_ps(time.time_for(bytes))) * time.denominator;
    ASSERT_TRUE(got >= exact && got - exact < time.denominator);
  }
}

// Edge n is ceil(n * 10^12 / hz), in 128 bits.
std::int64_t edge_oracle(std::uint64_t hertz, std::int64_t n) {
  return static_cast<std::int64_t>((static_cast<__int128>(n) * 1'000'000'000'000 + (hertz - 1)) / hertz);
}

TEST(ClockDomain, edges_of_a_period_that_is_no_whole_picosecond_do_not_drift) {
  const ClockDomain clock(300'000'000);  // 3333.33 ps
  EXPECT_EQ(clock.edge(0), instant_from_ps(0));
  EXPECT_EQ(clock.edge(1), instant_from_ps(3334));
  EXPECT_EQ(clock.edge(2), instant_from_ps(6667));
  EXPECT_EQ(clock.edge(3), instant_from_ps(10'000));
  EXPECT_EQ(clock.edge(3'000'000), instant_from_ps(10'000'000'000));
  EXPECT_EQ(clock.next_edge(instant_from_ps(3333)), instant_from_ps(3334));
  EXPECT_EQ(clock.next_edge(instant_from_ps(3334)), instant_from_ps(3334));
  EXPECT_EQ(clock.next_edge(instant_from_ps(3335)), instant_from_ps(6667));
  EXPECT_EQ(clock.after(instant_from_ps(3335), 1), instant_from_ps(10'000));
  EXPECT_EQ(clock.after(instant_from_ps(0), 0), instant_from_ps(0));
}

TEST(ClockDomain, next_edge_is_the_first_at_or_after_for_any_frequency_and_time) {
  Rng rng(7, "clock");
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t hertz = 1 + rng.below(i % 2 == 0 ? 5'000'000'000ull : 1000);
    const auto t = static_cast<std::int64_t>(rng.below(1ull << (1 + rng.below(60))));
    const ClockDomain clock(hertz);
    const std::int64_t n = clock.next_edge_number(instant_from_ps(t));
    ASSERT_GE(edge_oracle(hertz, n), t) << hertz << " Hz at " << t;
    if (n > 0) {
      ASSERT_LT(edge_oracle(hertz, n - 1), t) << hertz << " Hz at " << t;
    }
    ASSERT_EQ(to_ps(clock.edge(n)), edge_oracle(hertz, n)) << hertz << " Hz, edge " << n;
  }
}

}  // namespace
}  // namespace verbatim
