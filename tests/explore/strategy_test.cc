// The order of schedules of each strategy.
#include "sim/explore/strategy.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <set>

#include "sim/core/rng.h"

namespace verbatim::explore {
namespace {

// Choices of a small program: three by two actors, independent of the alternatives taken.
Questions questions() {
  Questions asked;
  asked.streams = {{"order", "hca/a", 2, 0}, {"late", "thread/0", 1, 0}};
  asked.points = {{0, 2, 0}, {1, 3, 0}, {0, 2, 1}};
  return asked;
}

std::unique_ptr<Strategy> strategy(const std::string& text, const std::vector<Decision>& focus = {}) {
  std::string failure;
  auto made = make_strategy(text, 1, focus, &failure);
  EXPECT_NE(made, nullptr) << failure;
  return made;
}

std::string to_text(const Schedule& schedule) {
  std::string text = schedule.name + " " + std::to_string(static_cast<int>(schedule.kind)) + " " +
                     std::to_string(schedule.seed) + " " + schedule.site;
  for (const Decision& d : schedule.decisions)
    text += " " + d.site + "/" + d.actor + "/" + std::to_string(d.occurrence) + "=" + std::to_string(d.answer);
  return text;
}

// The first schedules of a strategy, with at most `jobs` running at a time.
std::vector<std::string> first_of(const std::string& text, std::size_t count, std::size_t jobs) {
  const auto made = strategy(text);
  std::vector<std::string> schedules;
  std::vector<Schedule> under_way;
  while (schedules.size() < count) {
    if (under_way.size() < jobs) {
      if (const auto schedule = made->next()) {
        schedules.push_back(to_text(*schedule));
        under_way.push_back(*schedule);
        continue;
      }
    }
    if (under_way.empty()) break;
    made->learn(under_way.front(), questions());
    under_way.erase(under_way.begin());
  }
  return schedules;
}

TEST(Strategy, what_comes_does_not_depend_on_how_many_run_at_a_time) {
  for (const char* text : {"portfolio", "random", "pct:1", "pct:3", "delay:1", "delay:2", "nasty"}) {
    const auto one = first_of(text, 60, 1);
    EXPECT_EQ(one, first_of(text, 60, 4)) << text;
    EXPECT_EQ(one, first_of(text, 60, 64)) << text;
    EXPECT_GT(one.size(), 3u) << text;
  }
}

TEST(Strategy, few_decides_at_most_three_times_where_a_failure_did) {
  const std::vector<Decision> like = {{"late", "thread/0", 5, 9, 17, 0}, {"order", "hca/a", 0, 1, 2, 0}};
  Questions asked;
  asked.streams = {{"order", "hca/a", 1, 0}, {"late", "thread/0", 40, 0}, {"late", "thread/1", 40, 0}};
  asked.points = {{0, 2, 0}};
  for (std::uint32_t i = 0; i < 40; ++i) asked.points.push_back({1 + i % 2, 17, i});
  const auto made = make_reducing_strategy(1, like), again = make_reducing_strategy(1, like);
  std::size_t steady = 0;
  for (int i = 0; i < 50; ++i) {
    const auto schedule = made->next(), same = again->next();
    ASSERT_TRUE(schedule && same);
    EXPECT_EQ(to_text(*schedule), to_text(*same));
    made->learn(*schedule, asked);
    again->learn(*same, asked);
    if (i < 2) continue;  // skips the default and a site that is not a delay
    EXPECT_GE(schedule->decisions.size(), 1u);
    EXPECT_LE(schedule->decisions.size(), 3u);
    for (const Decision& decision : schedule->decisions) EXPECT_NE(decision.actor, "thread/1");
    steady += schedule->always.empty() ? 0 : 1;
  }
  EXPECT_GT(steady, 20u);
  EXPECT_LT(steady, 48u);
}

TEST(Strategy, systematic_is_complete_and_says_so) {
  // The default; then each alternative of each choice: 1 + 2 + 1.
  const auto one = first_of("delay:1", 1000, 3);
  EXPECT_EQ(one.size(), 5u);
  EXPECT_EQ(std::set<std::string>(one.begin(), one.end()).size(), 5u);
  // Then pairs in the order of the run: (1,2): 2, (1,3): 1, (2,3): 2.
  const auto two = first_of("delay:2", 1000, 3);
  EXPECT_EQ(two.size(), 10u);
  EXPECT_EQ(std::set<std::string>(two.begin(), two.end()).size(), 10u);

  const auto made = strategy("delay:1");
  while (auto schedule = made->next()) {
    EXPECT_FALSE(made->is_exhausted());
    made->learn(*schedule, questions());
  }
  EXPECT_TRUE(made->is_exhausted());
  EXPECT_NE(made->covered().find("at most 1 decision"), std::string::npos) << made->covered();
}

// A program for which the alternatives of the first stream make no difference.
Questions told_apart(const Schedule& schedule) {
  Questions asked = questions();
  asked.digest = "run";
  for (const Decision& decision : schedule.decisions) {
    if (decision.site == "late") asked.digest += " late " + std::to_string(decision.answer);
  }
  return asked;
}

TEST(Strategy, systematic_does_not_vary_what_has_run_before) {
  for (const std::size_t jobs : {1, 4}) {
    const auto made = strategy("delay:2");
    std::vector<std::string> schedules;
    std::deque<Schedule> under_way;
    while (true) {
      const auto schedule = under_way.size() < jobs ? made->next() : std::nullopt;
      if (!schedule && under_way.empty()) break;
      if (schedule) {
        schedules.push_back(to_text(*schedule));
        under_way.push_back(*schedule);
        continue;
      }
      made->learn(under_way.front(), told_apart(under_way.front()));
      under_way.pop_front();
    }
    // The default and four schedules with one decision; of these, the two with a delay lead to one more each,
    // those with an order do not.
    EXPECT_EQ(schedules.size(), 7u) << jobs;
    EXPECT_NE(made->covered().find("; 1 schedule gave the same run as an earlier one and was not varied further"), std::string::npos) << made->covered();
  }
}

// Alternating streams; in one of them every second choice has a single alternative.
Questions many_questions(std::uint32_t points) {
  Questions asked;
  asked.streams = {{"order", "hca/a", points / 2, 0}, {"late", "thread/0", points, 0}};
  for (std::uint32_t i = 0; i < points; ++i)
    asked.points.push_back(i % 2 == 0 ? ChoicePoint{0, 3, i / 2} : ChoicePoint{1, 145, i});
  return asked;
}

// All schedules with one decision more than `taken`, computed one by one and shuffled.
std::vector<std::vector<Decision>> extensions(const std::vector<Decision>& taken, const Questions& asked, std::uint64_t batch) {
  std::vector<std::vector<Decision>> all;
  bool is_later = taken.empty();
  for (const ChoicePoint& point : asked.points) {
    const Questions::Stream& stream = asked.streams[point.stream];
    if (is_later) {
      for (const std::uint32_t answer : representatives(point.alternatives)) {
        all.push_back(taken);
        all.back().push_back({stream.site, stream.actor, point.occurrence, answer, point.alternatives, 0});
      }
    }
    is_later = is_later || (stream.site == taken.back().site && point.occurrence == taken.back().occurrence);
  }
  Rng rng(1 + batch, "explore/systematic");
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
  return all;
}

TEST(Strategy, systematic_goes_through_all_in_an_order_that_follows_from_seed_and_questions) {
  const Questions asked = many_questions(6);
  std::vector<std::vector<Decision>> expected = {{}};
  for (std::size_t batch = 0; batch < expected.size(); ++batch) {
    if (expected[batch].size() == 2) break;
    for (auto& decisions : extensions(expected[batch], asked, batch)) expected.push_back(std::move(decisions));
  }
  const auto made = strategy("delay:2");
  std::vector<std::vector<Decision>> given;
  while (auto schedule = made->next()) {
    given.push_back(schedule->decisions);
    EXPECT_EQ(schedule->wants_points, schedule->decisions.size() < 2);
    made->learn(*schedule, asked);
  }
  EXPECT_EQ(given, expected);
  EXPECT_GT(given.size(), 150u);
  EXPECT_TRUE(made->is_exhausted());
}

TEST(Strategy, a_long_run_takes_little_memory) {
  const Questions asked = many_questions(Questions::kMostPoints);
  const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  const auto made = strategy("portfolio");
  for (int i = 0; i < 60; ++i) {
    const auto schedule = made->next();
    ASSERT_TRUE(schedule);
    made->learn(*schedule, asked);
  }
  const std::size_t bytes = ::mallinfo2().uordblks + ::mallinfo2().hblkhd - before;
  EXPECT_LT(bytes, 40'000'000u);
}

TEST(Strategy, nasty_uses_each_site_alone_and_all_together) {
  const auto schedules = first_of("nasty", 100, 2);
  EXPECT_EQ(schedules.size(), 5u);  // the default, "late", "order", all of threads, all
}

TEST(Strategy, portfolio_begins_with_the_default_and_uses_all_the_others) {
  std::set<std::string> names;
  for (const std::string& text : first_of("portfolio", 100, 2)) names.insert(text.substr(0, text.find(' ')));
  EXPECT_EQ(names, (std::set<std::string>{"default", "nasty", "random", "pct:3", "delay:1", "pct:1", "accesses"}));
}

// If accesses far outnumber all other choices, most schedules leave them out, and fewer of them once the search has
// been without a failure for a while.
TEST(Strategy, portfolio_lets_threads_be_late_before_accesses_as_often_as_that_is_cheap) {
  const auto taken = [](std::uint64_t of_accesses, int schedules) {
    const auto made = strategy("portfolio");
    int count = 0;
    for (int i = 0; i < schedules; ++i) {
      const auto schedule = made->next();
      if (!schedule) break;
      Questions asked = many_questions(10);
      if (schedule->has_accesses) asked.streams.push_back({std::string(kAccessSites), "thread/0", of_accesses, 1});
      count += schedule->has_accesses ? 1 : 0;
      made->learn(*schedule, asked);
    }
    return count;
  };
  EXPECT_GT(taken(1, 400), 40);
  const int at_first = taken(1'000'000, 200), later = taken(1'000'000, 400) - at_first;
  EXPECT_LT(at_first, 4);
  EXPECT_GT(at_first, 0);
  EXPECT_GT(later, 2 * at_first);
  EXPECT_LT(later, 12);
}

TEST(Strategy, a_focus_begins_with_the_decisions_themselves) {
  const std::vector<Decision> focus = {{"order", "hca/a", 1, 1, 2, 0}};
  const auto made = strategy("portfolio", focus);
  const auto first = made->next(), second = made->next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->kind, Schedule::Kind::kDecisions);
  EXPECT_EQ(first->decisions, focus);
  EXPECT_EQ(second->kind, Schedule::Kind::kNear);
}

TEST(Strategy, what_is_none_is_refused) {
  for (const char* text : {"", "Random", "pct", "pct:", "pct:0", "pct:17", "pct:3x", "delay:-1", "delay:99999999999999999999"}) {
    std::string failure;
    EXPECT_EQ(make_strategy(text, 1, {}, &failure), nullptr) << text;
    EXPECT_NE(failure.find("there is no strategy"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace verbatim::explore
