// As few decisions as still fail, each as little as does.
#include "sim/explore/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

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

// Counts the questions.
template <class Fails>
Oracle oracle(Fails fails, std::size_t& asked) {
  return [fails, &asked](const std::vector<Candidate>& candidates) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      ++asked;
      if (fails(candidates[i]())) return i;
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

// Mixes what distinguishes a list into a number.
std::uint64_t digest_of(const List& list) {
  std::uint64_t digest = 0xcbf29ce484222325;
  const auto mix = [&](std::uint64_t value) {
    digest = (digest ^ value) * 0x100000001b3;
    digest ^= digest >> 29;
  };
  for (const Decision& d : list) {
    for (const char c : d.site + "|" + d.actor) mix(static_cast<unsigned char>(c));
    mix(d.occurrence), mix(d.answer), mix(d.alternatives);
  }
  return digest;
}

// The order of candidates and the batch size determine the result within a time limit, so they must not
// change by accident. The numbers were printed by an implementation that copied whole lists.
TEST(Reduce, asks_the_same_candidates_in_the_same_order) {
  constexpr std::uint64_t kExpected[] = {0xafed68096836046b, 0xdf91303b6de4582, 0x5f1c0d506a2aea9a, 0xe16629585d884f33};
  std::mt19937_64 random(49);
  for (std::size_t kind = 0; kind < std::size(kExpected); ++kind) {
    std::uint64_t asked = 0;
    for (int round = 0; round < 25; ++round) {
      List list;
      const std::uint64_t size = 1 + random() % (round == 0 ? 200 : 40), sites = 1 + random() % 4, actors = 1 + random() % 3;
      for (std::uint64_t i = 0; i < size; ++i) {
        constexpr const char* kSites[] = {"ack", "gather", "gather/turn", "placement"};
        const auto alternatives = static_cast<std::uint32_t>(random() % 3 == 0 ? 2 + random() % 3 : 1 + 16 * (1 + random() % 9));
        const std::string site = kSites[random() % sites], actor = "hca/" + std::to_string(random() % actors);
        const std::uint64_t occurrence = random() % 50;
        list.push_back({site, actor, occurrence, static_cast<std::uint32_t>(1 + random() % (alternatives - 1)), alternatives, 0});
      }
      const Decision one = list[random() % list.size()], other = list[random() % list.size()];
      const auto fails = [&](const List& l) {
        std::uint64_t sum = 0;
        for (const Decision& d : l) sum += d.answer;
        if (!has(l, one.site, one.occurrence, one.answer / 2)) return false;
        return kind == 0 || (kind == 1 && has(l, other.site, other.occurrence)) || (kind == 2 && digest_of(l) % 5 == 0) ||
               (kind == 3 && sum % 7 < 4);
      };
      const List left = reduce(list, [&](const std::vector<Candidate>& candidates) -> std::optional<std::size_t> {
        asked = asked * 31 + candidates.size();
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          const List candidate = candidates[i]();
          asked = asked * 31 + digest_of(candidate);
          if (fails(candidate)) return i;
        }
        return std::nullopt;
      });
      asked = asked * 31 + digest_of(left);
    }
    EXPECT_EQ(asked, kExpected[kind]) << kind;
  }
}

TEST(Reduce, few_candidates_of_a_long_list_are_made_at_a_time) {
  List list;
  for (std::uint64_t i = 0; i < 3000; ++i) list.push_back(decision("ack", i, 100));
  std::size_t most = 0;
  const Oracle never = [&most](const std::vector<Candidate>& candidates) -> std::optional<std::size_t> {
    most = std::max(most, candidates.size());
    return std::nullopt;
  };
  EXPECT_EQ(reduce(list, never), list);
  EXPECT_LE(most, 64u);
}

TEST(Reduce, when_time_is_up_what_was_reached_is_given) {
  std::size_t asked = 0;
  const List reached = reduce(many(), oracle([](const List& l) { return has(l, "gather", 17); }, asked), [&] { return asked >= 3; });
  EXPECT_TRUE(has(reached, "gather", 17));
  EXPECT_LT(reached.size(), many().size());
}

// The time limit is a number of questions: time is over at the n-th. For every n, no candidate is made or run
// after that, and the clock is not read again.
TEST(Reduce, nothing_is_tried_once_time_is_up_wherever_that_is) {
  List list;
  for (std::uint64_t i = 0; i < 60; ++i) list.push_back(decision(i % 3 == 0 ? "ack" : "gather", i, 100));
  const auto fails = [](const List& l) { return has(l, "gather", 17, 20) && has(l, "ack", 30, 5) && l.size() % 7 != 3; };
  std::size_t in_all = 0;
  List least;
  {
    std::size_t ignored = 0;
    least = reduce(list, oracle(fails, ignored), [&] { return ++in_all, false; });
  }
  ASSERT_GT(in_all, 100u);
  for (std::size_t limit = 1; limit <= in_all; ++limit) {
    std::size_t questions = 0, late = 0;
    const auto tried = [&](const List& l) {
      late += questions >= limit;
      return fails(l);
    };
    std::size_t ignored = 0;
    const List reached = reduce(list, oracle(tried, ignored), [&] { return ++questions >= limit; });
    EXPECT_EQ(late, 0u) << limit;
    EXPECT_EQ(questions, limit);
    EXPECT_TRUE(fails(reached)) << limit;
    EXPECT_GE(reached.size(), least.size()) << limit;
  }
}

// Between two questions whether time is up there are at most as many steps as there are candidates at a time, however long the
// list is: a question for each part that is left out.
TEST(Reduce, time_is_looked_at_for_each_part_of_a_long_list) {
  constexpr std::size_t kDecisions = 3000;
  List list;
  for (std::uint64_t i = 0; i < kDecisions; ++i) list.push_back(decision("ack", i, 100));
  std::size_t questions = 0, since_last = 0, most = 0;
  const Oracle never = [&](const std::vector<Candidate>& candidates) -> std::optional<std::size_t> {
    since_last += candidates.size();
    most = std::max(most, since_last);
    return std::nullopt;
  };
  reduce(list, never, [&] { return since_last = 0, ++questions, false; });
  EXPECT_GE(questions, 4 * kDecisions);  // the last pass alone leaves out each of them, twice, in both calls of delta debugging
  EXPECT_LE(most, 64u);
}

}  // namespace
}  // namespace verbatim::explore
