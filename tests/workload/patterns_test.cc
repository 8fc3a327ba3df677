// Pairs of sender and receiver, by pattern.
#include "sim/workload/patterns.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

namespace verbatim::workload {
namespace {

TEST(PatternsTest, permutations_have_no_fixed_point_and_are_equally_likely) {
  std::map<std::array<std::uint32_t, 4>, int> times;
  Rng random(1, "test");
  constexpr int kDraws = 9'000;
  for (int i = 0; i < kDraws; ++i) {
    std::array<std::uint32_t, 4> to{};
    std::set<std::uint32_t> receivers;
    for (const Pair& pair : permutation(4, random)) {
      EXPECT_NE(pair.from, pair.to);
      to.at(pair.from) = pair.to;
      receivers.insert(pair.to);
    }
    ASSERT_EQ(receivers.size(), 4u);
    ++times[to];
  }
  EXPECT_EQ(times.size(), 9u) << "four members have nine such permutations";
  for (const auto& [to, count] : times) EXPECT_NEAR(count, 1000, 150) << "five standard deviations";
}

TEST(PatternsTest, a_shift_wraps_around) {
  EXPECT_EQ(shift(3, 2), (std::vector<Pair>{{0, 2}, {1, 0}, {2, 1}}));
  EXPECT_EQ(shift(3, 5), shift(3, 2));
}

TEST(PatternsTest, an_incast_leaves_out_its_receiver) {
  EXPECT_EQ(incast(4, 1, 2), (std::vector<Pair>{{0, 1}, {2, 1}}));
  EXPECT_EQ(incast(4, 3, 3), (std::vector<Pair>{{0, 3}, {1, 3}, {2, 3}}));
}

TEST(PatternsTest, all_to_all_has_each_pair_once) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Pair& pair : all_to_all(7)) {
    EXPECT_NE(pair.from, pair.to);
    pairs.emplace(pair.from, pair.to);
  }
  EXPECT_EQ(pairs.size(), 42u);
}

TEST(PatternsTest, hot_members_get_their_share_and_the_rest_of_the_others) {
  const std::array<std::uint32_t, 2> hot = {3, 7};
  const Destinations destinations{.members = 10, .hot = hot, .hot_share = 1, .hot_parts = 2};
  std::array<int, 10> times{};
  Rng random(1, "test");
  constexpr int kDraws = 18'000;
  for (int i = 0; i < kDraws; ++i) ++times.at(destinations.draw(0, random));
  EXPECT_EQ(times[0], 0);
  // Each of the two hot members gets a quarter of all draws, and a ninth of the other half.
  for (const std::uint32_t member : hot) EXPECT_NEAR(times.at(member), 5'500, 310);
  for (const std::uint32_t member : {1, 2, 4, 5, 6, 8, 9}) EXPECT_NEAR(times.at(member), 1'000, 155);
  times = {};
  for (int i = 0; i < kDraws; ++i) ++times.at(destinations.draw(3, random));
  EXPECT_EQ(times[3], 0) << "a hot member sends to the other one";
  EXPECT_NEAR(times[7], 10'000, 335);
}

TEST(PatternsTest, the_only_hot_member_sends_to_anyone) {
  const std::array<std::uint32_t, 1> hot = {1};
  const Destinations destinations{.members = 3, .hot = hot, .hot_share = 1, .hot_parts = 1};
  std::set<std::uint32_t> reached;
  Rng random(1, "test");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(destinations.draw(0, random), 1u);
    reached.insert(destinations.draw(1, random));
  }
  EXPECT_EQ(reached, (std::set<std::uint32_t>{0, 2}));
}

}  // namespace
}  // namespace verbatim::workload
