// As few decisions as still fail, each as little as does.
#include "sim/explore/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace verbatim::explore {
namespace {

using List = std::vector<Decision>;

Decision decision(const std::string& site, std::uint64_t occurrence, std::uint32_t answer = 1) {
  return {site, "hca/a", occurrence, answer, 145, 0};
}

bool has(const List& list, const std::string& site, std::uint64_t occurrence, std::uint32_t at_least = 1) {
  return std::ranges::any_of(list, [&](const Decision& d) {
    return d.site == site && d.occurrence == occurrence && d.answer >= at_least;
  });
}

// Counts what it is asked.
template <class Fails>
Oracle oracle(Fails fails, std::size_t& asked) {
  return [fails, &asked](const std::vector<List>& candidates) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      ++asked;
      if (fails(candidates[i])) return i;
    }
    return std::nullopt;
  };
}

List many() {
  List list;
  for (const char* site : {"ack", "gather", "placement", "placement/order"}) {
    for (std::uint64_t i = 0; i < 40; ++i) list.push_back(decision(site, i, 100));
  }
  return list;
}

TEST(Reduce, one_of_many) {
  std::size_t asked = 0;
  const List left = reduce(many(), oracle([](const List& l) { return has(l, "gather", 17); }, asked));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0], decision("gather", 17, 1));
  EXPECT_LT(asked, 60u);
}

TEST(Reduce, two_of_different_sites_and_the_least_delay_that_does) {
  std::size_t asked = 0;
  const auto fails = [](const List& l) { return has(l, "gather", 3) && has(l, "ack", 39, 37); };
  const List left = reduce(many(), oracle(fails, asked));
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0], decision("ack", 39, 37));
  EXPECT_EQ(left[1], decision("gather", 3, 1));
}

TEST(Reduce, what_is_a_detail_of_a_choice_stays_with_it) {
  std::size_t asked = 0;
  const auto fails = [](const List& l) { return has(l, "placement", 5) && has(l, "placement/order", 5); };
  const List left = reduce(many(), oracle(fails, asked));
  EXPECT_EQ(left.size(), 2u);
  EXPECT_TRUE(fails(left));
}

TEST(Reduce, nothing_is_left_of_what_always_fails) {
  std::size_t asked = 0;
  EXPECT_TRUE(reduce(many(), oracle([](const List&) { return true; }, asked)).empty());
  EXPECT_EQ(asked, 1u);
}

TEST(Reduce, all_that_is_needed_stays) {
  List list;
  for (std::uint64_t i = 0; i < 7; ++i) list.push_back(decision("ack", i));
  std::size_t asked = 0;
  EXPECT_EQ(reduce(list, oracle([](const List& l) { return l.size() == 7; }, asked)), list);
}

// How late the actor is at that occurrence of the site, in sixteenths of the least delay.
std::uint64_t lateness(const List& list, const std::string& site, std::uint64_t before) {
  std::uint64_t units = 0;
  for (const Decision& d : list) {
    if (d.site == site && d.occurrence < before) units += std::uint64_t{16 + (d.answer - 1) % 16} << (d.answer - 1) / 16;
  }
  return units;
}

// The failure needs one late reader, at a time that the delays before have moved.
TEST(Reduce, delays_that_are_left_out_are_made_up_for) {
  List list;
  for (std::uint64_t i = 0; i < 64; ++i) list.push_back(decision("ack", i, 33));  // 64 units each
  const auto fails = [](const List& l) {
    const std::uint64_t late = lateness(l, "ack", 64);
    return has(l, "ack", 63) && late > 3900 && late < 4300;
  };
  ASSERT_TRUE(fails(list));
  std::size_t asked = 0;
  const List left = reduce(list, oracle(fails, asked));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].occurrence, 63u);
  EXPECT_TRUE(fails(left));
  EXPECT_LT(asked, 100u);
}

TEST(Reduce, a_delay_takes_the_place_of_one_at_another_site) {
  const List list = {decision("ack", 7, 65), decision("gather", 3, 65), decision("placement", 1, 65)};
  const auto late = [](const List& l) { return lateness(l, "ack", 9) + 2 * lateness(l, "gather", 9) + 4 * lateness(l, "placement", 9); };
  const auto fails = [&](const List& l) { return late(l) > late(list) * 7 / 8 && late(l) < late(list) * 9 / 8; };
  std::size_t asked = 0;
  const List left = reduce(list, oracle(fails, asked));
  EXPECT_EQ(left.size(), 1u);
  EXPECT_TRUE(fails(left));
}

TEST(Reduce, few_candidates_of_a_long_list_are_made_at_a_time) {
  List list;
  for (std::uint64_t i = 0; i < 3000; ++i) list.push_back(decision("ack", i, 100));
  std::size_t most = 0;
  const Oracle never = [&most](const std::vector<List>& candidates) -> std::optional<std::size_t> {
    most = std::max(most, candidates.size());
    return std::nullopt;
  };
  EXPECT_EQ(reduce(list, never), list);
  EXPECT_LE(most, 64u);
}

TEST(Reduce, when_time_is_up_what_was_reached_is_given) {
  int left = 3;
  const Oracle tired = [&](const std::vector<List>& candidates) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (left-- <= 0) return std::nullopt;
      if (has(candidates[i], "gather", 17)) return i;
    }
    return std::nullopt;
  };
  const List reached = reduce(many(), tired);
  EXPECT_TRUE(has(reached, "gather", 17));
  EXPECT_LT(reached.size(), many().size());
}

}  // namespace
}  // namespace verbatim::explore
