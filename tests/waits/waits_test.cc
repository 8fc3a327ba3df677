// Waiting loops of programs are recognised, and skipping their turns has no visible effect.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/equality/both_modes.h"
#include "tests/waits/scoreboard.h"

namespace verbatim::waits {
namespace {

class WaitingLoops : public ::testing::TestWithParam<std::string> {};

TEST_P(WaitingLoops, are_parked) {
  if (!is_built(GetParam())) GTEST_SKIP() << "its compiler is not on this machine";
  expect_parked(GetParam(), not_proven(GetParam()));
}

// A short wait, because call by call each poll is a hand-over. The program prints its counters.
TEST_P(WaitingLoops, slices_and_call_by_call) {
  if (!is_built(GetParam())) GTEST_SKIP() << "its compiler is not on this machine";
  bool is_mine = GetParam() == "gcc-O0";
  for (const std::string& wait_case : cases_of(GetParam())) {
    is_mine = !is_mine;  // each of the two variants has half of the cases
    if (!is_mine) continue;
    SCOPED_TRACE(wait_case);
    equality::expect_equal(equality::run_both(request(GetParam(), wait_case, 60)));
  }
}

// 180,000 reads of a clock until the next event. Following each read took ten times as long.
TEST(ClockReads, are_left_to_a_thread_that_is_alone_for_long) {
  double least_short = 1e9, least_long = 1e9;
  for (int i = 0; i < 3; ++i) {
    const Score brief = score("gcc-O2", "clock_and_flag", 10'000), lasting = score("gcc-O2", "clock_and_flag", 9'000'000);
    ASSERT_EQ(lasting.run.code, 0) << lasting.run.story();
    least_short = std::min(least_short, brief.cpu_seconds);
    least_long = std::min(least_long, lasting.cpu_seconds);
  }
  EXPECT_LT(least_long - least_short, 0.06);
}

// A timeout of 5,000 polls that expires 90,000 times: the parked turn contains all 5,000 polls.
TEST(Turns, that_come_to_their_own_end_time_and_again_are_part_of_a_longer_one) {
  for (const char* variant : {"gcc-O0", "gcc-O2"}) {
    const Score result = score(variant, "gives_up", 9'000'000);
    ASSERT_EQ(result.run.code, 0) << result.run.story();
    EXPECT_EQ(result.how, How::kByProof);
    for (const auto& thread : result.run.report["waiting"]) EXPECT_LT(thread["parks"], 200) << variant << thread;
  }
}

// The clock ends the proof of 1,024 polls once a second. The next one is found without parkings for fewer polls before it.
TEST(Turns, that_read_a_clock_once_in_many_polls_are_proven_again_at_once) {
  for (const char* variant : {"gcc-O0", "gcc-O2"}) {
    const Score result = score(variant, "every_1024th", 9'000'000);
    ASSERT_EQ(result.run.code, 0) << result.run.story();
    EXPECT_EQ(result.how, How::kByProof);
    EXPECT_LT(result.run.report["hand_overs"], 250) << variant;
  }
}

// A byte that a turn of 512 polls writes late, and the program before each wait: the turn has written it only if it has ended.
TEST(Turns, that_have_not_ended_leave_no_byte) {
  equality::expect_equal(equality::run_both(request("gcc-O2", "marks_some_waits", 20'000)));
}

// 200 polls that repeat seven times, and their beginning once more: the thread is not executed in between.
TEST(Turns, that_begin_where_others_end_are_as_executed) {
  for (const std::string& wait_case : continued_cases_of("gcc-O2")) {
    SCOPED_TRACE(wait_case);
    equality::expect_equal(equality::run_both(request("gcc-O2", wait_case, 2'000)));
  }
}

// The difference of two times borrows in a part of each second: a proof ends where it begins to, or no longer does.
TEST(Turns, that_branch_by_the_fraction_of_a_second_are_proven_a_few_times_a_second) {
  for (const char* variant : {"gcc-O0", "gcc-O2"}) {
    const Score result = score(variant, "deadline_timeval", 9'000'000);
    ASSERT_EQ(result.run.code, 0) << result.run.story();
    EXPECT_EQ(result.how, How::kByProof);
    for (const auto& thread : result.run.report["waiting"]) EXPECT_LE(thread["parks"], 60) << variant << thread;
  }
}

INSTANTIATE_TEST_SUITE_P(Compiled, WaitingLoops, ::testing::Values("gcc-O0", "gcc-O2"),
                         [](const auto& info) { return info.param.substr(0, 3) + "_" + info.param.substr(4); });

}  // namespace
}  // namespace verbatim::waits
