// Slow: every waiting loop with every compiler.
#include <gtest/gtest.h>

#include <utility>

#include "tests/equality/both_modes.h"
#include "tests/waits/scoreboard.h"

namespace verbatim::waits {
namespace {

class AllWaitingLoops : public ::testing::TestWithParam<std::string> {};

TEST_P(AllWaitingLoops, are_parked) {
  if (!is_built(GetParam())) GTEST_SKIP() << "its compiler is not on this machine";
  expect_parked(GetParam(), not_proven(GetParam()));
}

TEST_P(AllWaitingLoops, slices_and_call_by_call) {
  if (!is_built(GetParam())) GTEST_SKIP() << "its compiler is not on this machine";
  for (const std::string& wait_case : cases_of(GetParam())) {
    SCOPED_TRACE(wait_case);
    equality::expect_equal(equality::run_both(request(GetParam(), wait_case, 250)));
  }
}

// A parked loop takes no CPU time: a run with 900 times the wait takes at most a millisecond more per second.
TEST_P(AllWaitingLoops, cost_nothing_while_parked) {
  if (!is_built(GetParam())) GTEST_SKIP() << "its compiler is not on this machine";
  for (const std::string& wait_case : cases_of(GetParam())) {
    // Loops that read a clock and a flag are executed, but take little CPU time.
    if (wait_case != "clock_and_flag" && not_proven(GetParam()).count(wait_case) != 0) continue;
    if (wait_case == "progresses") continue;  // see EndOfTurns
    if (wait_case == "every_thousandth" || wait_case == "every_1024th") continue;  // see FarTurn
    if (wait_case == "marks_some_waits") continue;  // many short waits
    // A run of some cases takes a quarter of a second, plus or minus ten milliseconds on a busy machine. If
    // both runs have the same number of hand-overs, a difference is only noise.
    constexpr double kMost = 0.009, kNoise = 0.03;
    double least_short = 1e9, least_long = 1e9, most = kMost;
    for (int i = 0; i < 3 || (i < 12 && least_long - least_short > most); ++i) {
      const Score brief = score(GetParam(), wait_case, 10'000), lasting = score(GetParam(), wait_case, 9'000'000);
      least_short = std::min(least_short, brief.cpu_seconds);
      least_long = std::min(least_long, lasting.cpu_seconds);
      if (brief.run.report["hand_overs"] == lasting.run.report["hand_overs"]) most = kNoise;
    }
    EXPECT_LT(least_long - least_short, most) << wait_case;
  }
}

// The end of a second ends the proof of a turn of a thousand polls. After it the loop is proven at once, not after a
// dozen attempts, each of which hands the token over.
TEST(FarTurn, is_proven_again_in_each_second) {
  support::RunRequest asked = request("gcc-O0", "every_thousandth", 90'000'000);
  asked.options = {"--time-limit", "100s"};
  const support::RunReport run = support::run(asked);
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_LT(run.report["hand_overs"], 400);
  for (const auto& thread : run.report["waiting"]) EXPECT_LT(thread["parks"], 120) << thread;
}

// A hundred times a second the clock changes the turn: each time takes a few proofs and a thousand polls.
TEST(EndOfTurns, is_soon_come_to_where_a_clock_decides) {
  const Score result = score("gcc-O2", "progresses", 9'000'000);
  EXPECT_EQ(result.how, How::kByProof);
  EXPECT_LT(result.run.report["hand_overs"], 10'000);
  for (const auto& thread : result.run.report["waiting"]) EXPECT_LT(thread["parks"], 3'000) << thread;
}

// The number of proofs, independent of their cost: a loop that branches by a clock, or divides by IDIV, is proven at
// most five times in each of these nine seconds.
TEST(Clocks, are_proven_a_few_times_in_each_second) {
  const std::pair<const char*, const char*> loops[] = {
      {"gcc-O0", "deadline_timeval"},   {"gcc-O2", "deadline_timeval"},   {"gcc-asan", "deadline_timeval"},
      {"clang-O0", "deadline_timeval"}, {"clang-O2", "deadline_timeval"}, {"clang-O2", "cycles_in_us"},
      {"clang-v3", "cycles_in_us"},     {"clang-O0", "chrono_milliseconds"}};
  for (const auto& [variant, wait_case] : loops) {
    if (!is_built(variant)) continue;
    const Score result = score(variant, wait_case, 9'000'000);
    EXPECT_EQ(result.how, How::kByProof) << variant << " " << wait_case;
    for (const auto& thread : result.run.report["waiting"]) EXPECT_LE(thread["parks"], 45) << variant << " " << wait_case << thread;
  }
}

INSTANTIATE_TEST_SUITE_P(Compiled, AllWaitingLoops,
                         ::testing::Values("gcc-O0", "gcc-O1", "gcc-O2", "gcc-O3", "gcc-v3", "gcc-no-pie", "gcc-lto",
                                           "gcc-asan", "clang-O0", "clang-O1", "clang-O2", "clang-O3", "clang-v3"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace verbatim::waits
