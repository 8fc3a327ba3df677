// A single stage: the edges of entry and exit, and the wait in its trail.
#include "sim/hca/stages/pipeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace verbatim::test {
namespace {

using hca::Pipeline;
using hca::Stage;

constexpr std::int64_t kCycle = 2'500;
const ClockDomain kClock{400'000'000};

// Cycles at which work that is there at `arrivals`, picoseconds, leaves the stage.
std::vector<std::int64_t> leaves(const Stage& stage, const std::vector<std::int64_t>& arrivals) {
  Pipeline pipeline(kClock, stage);
  std::vector<std::int64_t> cycles;
  for (const std::int64_t arrival : arrivals) {
    Trail nobody_asks;
    const std::int64_t done = to_ps(pipeline.accept(instant_from_ps(arrival), nobody_asks, ComponentId{1}, "stage"));
    EXPECT_EQ(done % kCycle, 0);
    cycles.push_back(done / kCycle);
  }
  return cycles;
}
using Cycles = std::vector<std::int64_t>;

TEST(PipelineTest, the_next_enters_at_the_edge_at_which_one_leaves) {
  const Stage stage{5, 1, 2};
  EXPECT_EQ(leaves(stage, {0, 0, 0, 0, 0}), (Cycles{5, 6, 10, 11, 15}));
  // The first leaves at edge 5. One that arrives by then enters at that edge, not at the next.
  EXPECT_EQ(leaves(stage, {0, 0, 5 * kCycle - 1}), (Cycles{5, 6, 10}));
  EXPECT_EQ(leaves(stage, {0, 0, 5 * kCycle}), (Cycles{5, 6, 10}));
  EXPECT_EQ(leaves(stage, {0, 0, 5 * kCycle + 1}), (Cycles{5, 6, 11}));
  // A late entry makes room late.
  EXPECT_EQ(leaves(stage, {0, 4 * kCycle, 4 * kCycle, 4 * kCycle}), (Cycles{5, 9, 10, 14}));
}

TEST(PipelineTest, as_many_as_enter_within_the_latency_are_enough) {
  const std::vector<std::int64_t> at_once(7, 0);
  const Cycles unlimited{6, 8, 10, 12, 14, 16, 18};
  EXPECT_EQ(leaves({6, 2}, at_once), unlimited);
  EXPECT_EQ(leaves({6, 2, 3}, at_once), unlimited);
  EXPECT_EQ(leaves({6, 2, 2}, at_once), (Cycles{6, 8, 12, 14, 18, 20, 24}));
  EXPECT_EQ(leaves({7, 2, 3}, at_once), (Cycles{7, 9, 11, 14, 16, 18, 21}));
  EXPECT_EQ(leaves({6, 2, 1}, at_once), (Cycles{6, 12, 18, 24, 30, 36, 42}));
}

TEST(PipelineTest, a_stage_without_latency_is_never_full) {
  EXPECT_EQ(leaves({0, 1, 1}, {0, 0, 0}), (Cycles{0, 1, 2}));
}

TEST(PipelineTest, one_that_takes_no_time_is_known) {
  EXPECT_FALSE(Pipeline(kClock, {0, 1}).takes_time());
  EXPECT_FALSE(Pipeline(kClock, {0, 1, 1}).takes_time()) << "what enters leaves";
  EXPECT_TRUE(Pipeline(kClock, {0, 2}).takes_time());
  EXPECT_TRUE(Pipeline(kClock, {1, 1}).takes_time());
}

TEST(PipelineTest, the_wait_for_room_is_told_as_busy) {
  Pipeline pipeline(kClock, {5, 1, 1});
  Trail first(instant_from_ps(100)), second(instant_from_ps(200));
  pipeline.accept(first.end(), first, ComponentId{1}, "stage");
  pipeline.accept(second.end(), second, ComponentId{1}, "stage");
  const std::vector<TrailStep> steps = second.steps();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].part.kind, TrailKind::kEdge);
  EXPECT_EQ(steps[0].end, instant_from_ps(kCycle));
  EXPECT_EQ(steps[1].part.kind, TrailKind::kBusy);
  EXPECT_EQ(steps[1].end, instant_from_ps(6 * kCycle));
  EXPECT_EQ(steps[2].part.kind, TrailKind::kCycles);
  EXPECT_EQ(steps[2].part.amount, 5u);
  EXPECT_EQ(steps[2].end, instant_from_ps(11 * kCycle));
  for (const TrailStep& step : steps) EXPECT_EQ(std::string(step.part.name), "stage");
}

}  // namespace
}  // namespace verbatim::test
