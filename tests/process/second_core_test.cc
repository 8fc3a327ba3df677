#include "sim/supervisor/scheduling/second_core.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace verbatim::supervisor {
namespace {

// Eight windows of each kind alternately; their times in microseconds are used repeatedly.
bool is_second_quicker(SecondCoreTrial& trial, const std::vector<int>& second, const std::vector<int>& first) {
  trial.begin();
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(trial.add(true, std::chrono::microseconds(second[i % second.size()])));
    EXPECT_EQ(trial.add(false, std::chrono::microseconds(first[i % first.size()])), i < 7);
  }
  return trial.is_second_quicker();
}

TEST(SecondCoreTrial, wants_a_quarter_for_another_processor) {
  SecondCoreTrial trial;
  EXPECT_TRUE(is_second_quicker(trial, {740}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {760}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {2000}, {1000}));
  EXPECT_TRUE(is_second_quicker(trial, {500}, {1000}));
}

TEST(SecondCoreTrial, overlooks_windows_in_which_a_program_computes) {
  SecondCoreTrial trial;
  EXPECT_TRUE(is_second_quicker(trial, {500, 90'000, 500, 500}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {1000}, {90'000, 1000, 1000, 1000}));
}

TEST(SlowAnswers, are_too_many_from_eight_of_two_milliseconds_on) {
  SlowAnswers answers;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(answers.add(std::chrono::microseconds(1999)));
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(answers.add(std::chrono::milliseconds(2)));
  EXPECT_TRUE(answers.add(std::chrono::milliseconds(4)));
  answers.begin();
  EXPECT_FALSE(answers.add(std::chrono::milliseconds(4)));
}

class ControlGroups : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text << "\n";
  }
  bool is_limited(const std::string& groups) const { return is_limited_to_less_than_two(groups, folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("verbatim-groups-" + std::to_string(getpid()));
};

TEST_F(ControlGroups, of_version_2_and_those_above_limit_processors) {
  EXPECT_FALSE(is_limited("0::/a/b\n")) << "there is no file";
  write("a/b/cpu.max", "max 100000");
  EXPECT_FALSE(is_limited("0::/a/b\n"));
  write("a/b/cpu.max", "200000 100000");
  EXPECT_FALSE(is_limited("0::/a/b\n"));
  write("a/cpu.max", "150000 100000");
  EXPECT_TRUE(is_limited("0::/a/b\n"));
  EXPECT_FALSE(is_limited("0::/\n"));
  write("cpu.max", "50000 100000");
  EXPECT_TRUE(is_limited("0::/\n")) << "a container's own";
}

TEST_F(ControlGroups, of_version_1_limit_processors) {
  write("cpu/a/cpu.cfs_quota_us", "-1");
  write("cpu/a/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(is_limited("4:cpuset:/a\n3:cpu,cpuacct:/a\n"));
  write("cpu/a/cpu.cfs_quota_us", "100000");
  EXPECT_TRUE(is_limited("4:cpuset:/a\n3:cpu,cpuacct:/a\n"));
  EXPECT_FALSE(is_limited("4:cpuset:/a\n3:cpuacct:/a\n"));
  EXPECT_TRUE(is_limited("4:cpuset,cpu:/a\n"));
  EXPECT_TRUE(is_limited("4:cpu:/a/b\n")) << "the group above";
  EXPECT_FALSE(is_limited("4:cpu:/\n"));
  EXPECT_FALSE(is_limited("no group\n4:no folder\n"));
  EXPECT_TRUE(is_limited("no group\n4:cpu:/a\n"));
  write("cpu/a/cpu.cfs_quota_us", "199999");
  EXPECT_TRUE(is_limited("3:cpu:/a\n"));
  write("cpu/a/cpu.cfs_quota_us", "200000");
  EXPECT_FALSE(is_limited("3:cpu:/a\n"));
  write("cpu/a/cpu.cfs_period_us", "0");
  EXPECT_FALSE(is_limited("3:cpu:/a\n"));
}

TEST(ProcessorTexts, are_lists_loads_and_ticks) {
  EXPECT_EQ(processors_in("0,4-6\n"), (std::set<int>{0, 4, 5, 6}));
  EXPECT_EQ(processors_in("3\n"), (std::set<int>{3}));
  EXPECT_EQ(processors_in(""), (std::set<int>{}));
  EXPECT_EQ(processors_in("1023-2000\n").size(), 2u) << "at most CPU_SETSIZE";
  EXPECT_EQ(running_threads_in("0.20 0.18 0.12 3/80 11206\n"), 3);
  EXPECT_EQ(running_threads_in("0.20 0.18\n"), 0);
  const std::string ticks = "cpu  9 9 9 9 9 9\ncpu1 1 2 4 8 16 32\ncpu10 7 7 7 7 7 7\nintr 5\n";
  EXPECT_EQ(ticks_in(ticks, 1).all, 63u);
  EXPECT_EQ(ticks_in(ticks, 1).idle, 24u);
  EXPECT_EQ(ticks_in(ticks, 10).all, 42u);
  EXPECT_EQ(ticks_in(ticks, 2).all, 0u);
}

TEST(ProcessorsOfMachine, are_those_of_this_thread) {
  Processors& machine = Processors::of_machine();
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const int here = sched_getcpu();
  EXPECT_TRUE(machine.run_on(here));
  ASSERT_EQ(sched_getaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(CPU_COUNT(&one), 1);
  EXPECT_TRUE(CPU_ISSET(here, &one));
  EXPECT_FALSE(machine.run_on(CPU_SETSIZE - 1)) << "there is no such processor";
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(machine.running_threads(), 1);
  EXPECT_GE(machine.ticks(here).all, machine.ticks(here).idle);
  EXPECT_GE(machine.interruptions(), 0);
}

// A machine with a clock, processors and other threads of the test's. Processors 2n and 2n + 1 are siblings.
class TestMachine final : public Processors {
 public:
  Clock::time_point now() const override { return time; }
  bool run_on(int processor) override {
    if (!refuses) places.push_back(processor);
    return !refuses;
  }
  std::set<int> siblings_of(int processor) const override { return {processor, processor ^ 1}; }
  int running_threads() const override { return running; }
  ProcessorTicks ticks(int) const override { return counted; }
  std::int64_t interruptions() const override { return interrupted; }
  std::string control_groups() const override { return ""; }

  Clock::time_point time{std::chrono::hours(1)};
  bool refuses = false;
  int running = 1;
  ProcessorTicks counted;
  std::int64_t interrupted = 100;
  std::vector<int> places;  // of the simulator
};

cpu_set_t processors(int count) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < count; ++i) CPU_SET(i, &all);
  return all;
}

class SecondCoreTest : public testing::Test {
 protected:
  static constexpr int kFirstReview = 16, kReviewed = 256;

  SecondCore core(SecondCoreUse use, int program_core = 0, int count = 4) {
    return {use, program_core, processors(count), machine};
  }
  void first_review(SecondCore& core) { count(core, kFirstReview); }
  // The next review, `later` than the one before.
  void review(SecondCore& core, std::chrono::nanoseconds later) {
    machine.time += later;
    count(core, kReviewed);
  }
  // A window takes less time with the second processor, or more.
  void complete_trial(SecondCore& core, bool is_quicker) {
    for (int i = 0; i < 16; ++i) {
      const bool is_short = core.is_used() == is_quicker;
      review(core, std::chrono::microseconds(is_short ? 500 : 1000));
    }
  }
  void count(SecondCore& core, int hand_overs) {
    for (int i = 0; i < hand_overs; ++i) core.count_hand_over();
  }
  TestMachine machine;
};

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST_F(SecondCoreTest, is_not_used_if_never_wanted) {
  SecondCore never = core(SecondCoreUse::kNever);
  count(never, 1000);
  EXPECT_FALSE(never.is_used());
  EXPECT_EQ(never.looks(), 0u);
  EXPECT_TRUE(machine.places.empty());
}

TEST_F(SecondCoreTest, is_used_from_the_start_and_for_ever_if_always_wanted) {
  SecondCore always = core(SecondCoreUse::kAlways);
  EXPECT_TRUE(always.is_used());
  EXPECT_GE(always.looks(), 100u);
  EXPECT_EQ(machine.places, std::vector<int>{2}) << "no sibling of the programs' processor";
  count(always, kFirstReview - 1);
  EXPECT_EQ(always.hand_overs_on_it(), 0u);
  count(always, 1);
  EXPECT_EQ(always.hand_overs_on_it(), 256u);
  machine.interrupted += 1000;
  for (int i = 0; i < 20; ++i) always.note_answer(milliseconds(5));
  review(always, milliseconds(100));
  EXPECT_EQ(always.hand_overs_on_it(), 512u);
  EXPECT_TRUE(always.is_used());
}

TEST_F(SecondCoreTest, polls_for_about_fifty_microseconds) {
  const std::uint32_t looks = core(SecondCoreUse::kAlways).looks();
  auto least = std::chrono::nanoseconds::max();
  for (int i = 0; i < 20; ++i) {
    const auto began = std::chrono::steady_clock::now();
    for (std::uint32_t look = 0; look < looks; ++look) __builtin_ia32_pause();
    least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - began);
  }
  EXPECT_LT(least, microseconds(150));
}

TEST_F(SecondCoreTest, is_the_next_processor_of_another_core) {
  (void)core(SecondCoreUse::kAlways, 3);
  EXPECT_EQ(machine.places, std::vector<int>{0});
  (void)core(SecondCoreUse::kAlways, 1, 6);
  EXPECT_EQ(machine.places.back(), 2);
  SecondCore none = core(SecondCoreUse::kAlways, 0, 2);
  EXPECT_FALSE(none.is_used());
  first_review(none);
  EXPECT_EQ(none.hand_overs_on_it(), 0u);
  EXPECT_EQ(machine.places.size(), 2u);
}

TEST_F(SecondCoreTest, is_not_used_if_the_machine_refuses) {
  machine.refuses = true;
  SecondCore refused = core(SecondCoreUse::kAlways);
  EXPECT_FALSE(refused.is_used());
  EXPECT_EQ(refused.looks(), 0u);
}

TEST_F(SecondCoreTest, changes_at_half_of_the_times) {
  SecondCore changing = core(SecondCoreUse::kChanging);
  EXPECT_FALSE(changing.is_used());
  machine.time = Processors::Clock::time_point(std::chrono::nanoseconds(16));
  first_review(changing);
  EXPECT_FALSE(changing.is_used());
  review(changing, std::chrono::nanoseconds(16));
  EXPECT_TRUE(changing.is_used());
  review(changing, std::chrono::nanoseconds(31));
  EXPECT_TRUE(changing.is_used());
  review(changing, std::chrono::nanoseconds(1));
  EXPECT_FALSE(changing.is_used());
}

TEST_F(SecondCoreTest, is_used_from_the_start_on_an_idle_machine) {
  EXPECT_TRUE(core(SecondCoreUse::kWhenFree).is_used());
  machine.running = 2;
  EXPECT_FALSE(core(SecondCoreUse::kWhenFree, 0, 5).is_used());
  EXPECT_TRUE(core(SecondCoreUse::kWhenFree, 0, 6).is_used()) << "one more for four processors more";
  machine.running = 0;
  EXPECT_FALSE(core(SecondCoreUse::kWhenFree).is_used()) << "unknown";
}

TEST_F(SecondCoreTest, is_tried_while_its_processor_is_idle_and_kept_if_quicker) {
  machine.running = 4;
  SecondCore free = core(SecondCoreUse::kWhenFree);
  first_review(free);
  machine.counted = {89, 100};
  review(free, milliseconds(100));
  EXPECT_FALSE(free.is_used()) << "busy for more than a tenth";
  machine.counted = {89 + 900, 100 + 1000};
  review(free, milliseconds(99));
  EXPECT_FALSE(free.is_used()) << "too soon for another look";
  review(free, milliseconds(1));
  EXPECT_TRUE(free.is_used());
  complete_trial(free, true);
  EXPECT_TRUE(free.is_used());
  EXPECT_EQ(machine.places.size(), 17u) << "windows alternate";
}

TEST_F(SecondCoreTest, is_not_tried_after_a_look_of_long_ago) {
  machine.running = 4;
  SecondCore free = core(SecondCoreUse::kWhenFree);
  first_review(free);
  machine.counted = {100, 100};
  review(free, milliseconds(1000));
  EXPECT_FALSE(free.is_used());
  machine.counted = {200, 200};
  review(free, milliseconds(999));
  EXPECT_TRUE(free.is_used());
}

TEST_F(SecondCoreTest, is_not_tried_if_no_ticks_are_known) {
  machine.running = 4;
  SecondCore free = core(SecondCoreUse::kWhenFree);
  first_review(free);
  for (int i = 0; i < 3; ++i) review(free, milliseconds(100));
  EXPECT_FALSE(free.is_used());
}

TEST_F(SecondCoreTest, is_left_after_a_trial_in_which_it_was_slower) {
  machine.running = 4;
  SecondCore free = core(SecondCoreUse::kWhenFree);
  first_review(free);
  machine.counted = {100, 100};
  review(free, milliseconds(100));
  ASSERT_TRUE(free.is_used());
  complete_trial(free, false);
  EXPECT_FALSE(free.is_used());
  // The decision confirms the configuration before the trial: the pause is twice the least.
  for (const int ms : {999, 1}) {
    machine.counted.idle += 1000, machine.counted.all += 1000;
    review(free, milliseconds(ms));
    machine.counted.idle += 1000, machine.counted.all += 1000;
    EXPECT_FALSE(free.is_used());
  }
  review(free, milliseconds(100));
  EXPECT_TRUE(free.is_used());
}

TEST_F(SecondCoreTest, pauses_between_trials_double_while_decisions_are_confirmed) {
  SecondCore free = core(SecondCoreUse::kWhenFree);
  ASSERT_TRUE(free.is_used());
  first_review(free);
  for (const int pause : {500, 1000, 2000, 4000, 8000, 8000}) {
    review(free, milliseconds(pause) - microseconds(1));
    ASSERT_TRUE(free.is_used()) << pause;
    review(free, microseconds(1));
    ASSERT_FALSE(free.is_used()) << pause;
    complete_trial(free, true);
    ASSERT_TRUE(free.is_used()) << pause;
  }
  review(free, milliseconds(8000));
  complete_trial(free, false);
  ASSERT_FALSE(free.is_used()) << "another decision";
  // The next pause is the least one.
  machine.counted = {1000, 1000};
  review(free, milliseconds(500));
  machine.counted = {2000, 2000};
  review(free, milliseconds(100));
  EXPECT_TRUE(free.is_used());
}

TEST_F(SecondCoreTest, is_left_if_other_threads_interrupt_often) {
  SecondCore free = core(SecondCoreUse::kWhenFree);
  first_review(free);
  machine.interrupted += 50;
  review(free, milliseconds(20) - microseconds(1));
  EXPECT_TRUE(free.is_used()) << "no check yet";
  machine.interrupted -= 46;
  review(free, microseconds(1));
  EXPECT_TRUE(free.is_used()) << "four in 20 ms";
  machine.interrupted += 8;
  review(free, milliseconds(40));
  EXPECT_TRUE(free.is_used()) << "eight in 40 ms";
  machine.interrupted += 9;
  review(free, milliseconds(40));
  EXPECT_FALSE(free.is_used());
  EXPECT_EQ(machine.places.back(), 0);
}

TEST_F(SecondCoreTest, is_left_after_slow_answers) {
  SecondCore free = core(SecondCoreUse::kWhenFree);
  first_review(free);
  for (int i = 0; i < 7; ++i) free.note_answer(milliseconds(3));
  review(free, milliseconds(1));
  for (int i = 0; i < 7; ++i) free.note_answer(milliseconds(3));
  EXPECT_TRUE(free.is_used()) << "each review begins anew";
  free.note_answer(milliseconds(3));
  EXPECT_FALSE(free.is_used());
  EXPECT_EQ(free.looks(), 0u);
}

}  // namespace
}  // namespace verbatim::supervisor
