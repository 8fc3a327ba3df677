// Processing units: one queue pair keeps one of them busy, several share what there is, and nothing else
// changes.
#include <gtest/gtest.h>

#include "tests/hca/many_pairs.h"

namespace verbatim::test {
namespace {

constexpr std::uint32_t kCycles = 1600;
constexpr std::int64_t kInterval = 1600 * 2'500;  // at 400 MHz

hca::HcaProfile profile_with(std::uint32_t units) {
  hca::HcaProfile profile = test_profile();
  profile.wqe_prefetch = 16;
  profile.processing_units = units;
  profile.wqe_decode = {10, kCycles};
  return profile;
}

// Times at which WRITEs of 8 bytes are decoded, `each` by every one of `count` queue pairs, all posted at
// once.
std::vector<std::int64_t> decoded(std::uint32_t units, std::uint32_t count, std::uint32_t each) {
  PairOptions options;
  options.world.profile = profile_with(units);
  ManyPairs pairs(options, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t k = 0; k < each; ++k) pairs.a.program.write_send(pairs.of_a[i], pairs.write(i, 8));
    pairs.a.program.ring(pairs.of_a[i]);
  }
  pairs.world.run();
  EXPECT_EQ(pairs.a.program.drain(pairs.a.send_cq).size(), std::size_t{count} * each);
  std::vector<std::int64_t> times;
  std::map<std::uint64_t, std::uint64_t> next;  // by queue pair
  for (const TraceRecord& record : pairs.world.trace.all(TraceEvent::kWqeFetched)) {
    times.push_back(record.time_ps);
    EXPECT_EQ(record.values[1], next[record.values[0]]++) << "requests of a queue pair are decoded in order";
  }
  return times;
}

TEST(ProcessingUnits, one_queue_pair_keeps_one_unit_busy) {
  for (const std::uint32_t units : {1u, 2u, 16u}) {
    const auto times = decoded(units, 1, 6);
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 1], kInterval);
  }
}

TEST(ProcessingUnits, as_many_queue_pairs_as_units_run_beside_each_other) {
  for (const std::uint32_t units : {2u, 4u}) {
    const auto times = decoded(units, units, 5);
    ASSERT_EQ(times.size(), units * 5u);
    EXPECT_LT(times[units - 1] - times[0], kInterval);
    for (std::size_t i = units; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - units], kInterval);
  }
}

TEST(ProcessingUnits, more_queue_pairs_than_units_take_turns) {
  const auto times = decoded(2, 5, 4);
  ASSERT_EQ(times.size(), 20u);
  for (std::size_t i = 2; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 2], kInterval);
}

TEST(ProcessingUnits, a_message_alone_takes_as_long_as_with_one_stage_for_all) {
  EXPECT_EQ(decoded(0, 1, 1), decoded(4, 1, 1));
}

// Two of three units decode at once: the third request enters at the edge at which the first leaves.
TEST(ProcessingUnits, all_together_hold_as_many_as_the_stage) {
  const auto entered = [](std::uint32_t units, hca::Stage stage) {
    PairOptions options;
    options.world.profile = profile_with(units);
    options.world.profile.wqe_decode = stage;
    ManyPairs pairs(options, 6);
    for (std::uint32_t i = 0; i < 6; ++i) pairs.a.program.post_send(pairs.of_a[i], pairs.write(i, 8));
    pairs.world.run();
    std::vector<std::int64_t> cycles;
    for (const TraceRecord& record : pairs.world.trace.all(TraceEvent::kWqeFetched))
      cycles.push_back(record.time_ps / 2'500 - stage.latency_cycles);
    return cycles;
  };
  // Nothing but the arrival of the requests: these are far less apart than the latency.
  const std::vector<std::int64_t> there = entered(6, {2000, 1});
  ASSERT_EQ(there.size(), 6u);
  ASSERT_LT(there[5] - there[0], 2000);
  const std::vector<std::int64_t> limited = entered(6, {2000, 1, 2});
  EXPECT_EQ(limited, (std::vector<std::int64_t>{there[0], there[1], there[0] + 2000, there[1] + 2000, there[0] + 4000,
                                                there[1] + 4000}));
  EXPECT_EQ(entered(6, {2000, 1, 6}), there);
  EXPECT_EQ(entered(6, {2000, 1, 5})[5], there[0] + 2000);
  // The interval of a unit is beside it: with two units, it is what they wait for.
  EXPECT_EQ(entered(2, {2000, 3000, 2})[2], there[0] + 3000);
}

TEST(ProcessingUnits, what_a_reset_queue_pair_had_waiting_is_not_sent) {
  PairOptions options;
  options.world.profile = profile_with(1);
  ManyPairs pairs(options, 1);
  for (int i = 0; i < 8; ++i) pairs.a.program.post_send(pairs.of_a[0], pairs.write(0, 8));
  pairs.world.run_for(Duration{3 * kInterval});
  ASSERT_EQ(pairs.a.program.to_state(pairs.of_a[0], ib::QpState::kReset), 0);
  const auto before = pairs.world.trace.count(TraceEvent::kWqeFetched);
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 8u);
  pairs.world.run();
  EXPECT_EQ(pairs.world.trace.count(TraceEvent::kWqeFetched), before);
}

}  // namespace
}  // namespace verbatim::test
