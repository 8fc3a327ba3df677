// The earliest start of a queue pair's next packet.
#include "sim/hca/congestion/pacer.h"

#include <gtest/gtest.h>

#include "sim/core/engine.h"
#include "sim/hca/congestion/controllers.h"
#include "sim/hca/congestion/pacing_calendar.h"

namespace verbatim::hca {
namespace {

constexpr Rate k100Gbps = Rate::of_mbps(100'000);
constexpr Instant at_ps(std::int64_t ps) { return instant_from_ps(ps); }

std::unique_ptr<RateController> nv() {
  CongestionControl profile;
  profile.controller = "dcqcn-nv";
  profile.reaction_point.dce_tcp_rtt = std::chrono::milliseconds(1);  // alpha stays 1023
  return make_controller(profile, k100Gbps);
}

// 1000 bytes at 10 Gb/s are 800 ns.
TEST(PacerTest, a_gap_counts_from_the_start_of_the_packet_before) {
  Pacer pacer(k100Gbps, Rate::of_mbps(10'000), nullptr);
  EXPECT_LE(pacer.due(at_ps(5)), at_ps(5)) << "there is no packet before the first";
  pacer.on_sent(at_ps(7), 1000);
  EXPECT_EQ(pacer.due(at_ps(8)), at_ps(800'007));
  EXPECT_EQ(pacer.next_check(at_ps(8)), at_ps(800'007));
  EXPECT_FALSE(pacer.on_notification(at_ps(9))) << "it has no controller";
}

// 100000 - (100000 x 1023 >> 11) = 50049 Mb/s from 4 us on; 75024 Mb/s from 304 us on. 2,000,000 bytes take
// 319.7 us at the first rate and 213.3 us at the second.
TEST(PacerTest, a_gap_under_way_is_that_of_the_new_rate_at_once) {
  Pacer pacer(k100Gbps, std::nullopt, nv());
  pacer.on_notification(at_ps(0));
  pacer.on_notification(at_ps(1));
  pacer.on_sent(at_ps(3'000'000), 2'000'000);
  EXPECT_LE(pacer.due(at_ps(3'999'999)), at_ps(3'999'999)) << "not limited";
  const Instant before = at_ps(3'000'000) + Rate::of_mbps(50'049).time_for(2'000'000);
  EXPECT_EQ(pacer.due(at_ps(4'000'000)), before);
  EXPECT_EQ(pacer.next_check(at_ps(4'000'000)), at_ps(304'000'000)) << "the timer may raise the rate before " << to_ps(before);
  EXPECT_EQ(pacer.due(at_ps(304'000'000)), at_ps(3'000'000) + Rate::of_mbps(75'024).time_for(2'000'000));
}

// HPCC's simulator assigns the rate and keeps the time of the next packet (rdma-hw.cc, CheckRateDecreaseMlx,
// FastRecoveryMlx). The first cut, at 4001 ns, leaves 50776685 kb/s: 2,000,000 bytes then take 315.1 us; the
// increase at 304.001 us affects the next packet.
TEST(PacerTest, a_gap_under_way_stays_that_of_its_beginning_with_dcqcn_ns3) {
  CongestionControl profile;
  profile.controller = "dcqcn-ns3";
  Pacer pacer(k100Gbps, std::nullopt, make_controller(profile, k100Gbps));
  EXPECT_LE(pacer.due(at_ps(0)), at_ps(0));
  pacer.on_notification(at_ps(0));
  pacer.on_sent(at_ps(3'000'000), 2'000'000);
  EXPECT_LE(pacer.due(at_ps(5'000'000)), at_ps(5'000'000)) << "the packet left at the rate of the line";
  pacer.on_sent(at_ps(5'000'000), 2'000'000);
  const Instant next = at_ps(5'000'000) + Rate{50'776'685}.time_for(2'000'000);
  EXPECT_EQ(pacer.due(at_ps(5'000'001)), next);
  EXPECT_EQ(pacer.due(at_ps(304'001'000)), next) << "the rate has risen";
  pacer.on_sent(next, 1000);
  EXPECT_EQ(pacer.due(next), next + Rate{75'388'342}.time_for(1000));
}

TEST(PacerTest, the_lower_of_static_and_controlled_rate_counts) {
  Pacer pacer(k100Gbps, Rate::of_mbps(60'000), nv());
  pacer.on_sent(at_ps(0), 1000);
  EXPECT_EQ(pacer.due(at_ps(0)), at_ps(0) + Rate::of_mbps(60'000).time_for(1000));
  pacer.on_notification(at_ps(0));
  pacer.on_notification(at_ps(1));
  EXPECT_EQ(pacer.due(at_ps(4'000'000)), at_ps(0) + Rate::of_mbps(50'049).time_for(1000));
}

// The values of ibv_rate_to_mbps() in the shim.
TEST(PacerTest, static_rates_are_those_of_ibv_rate) {
  EXPECT_FALSE(rate_of_static(0).has_value()) << "IBV_RATE_MAX";
  EXPECT_FALSE(rate_of_static(1).has_value());
  EXPECT_FALSE(rate_of_static(200).has_value());
  const std::pair<int, std::uint64_t> kRates[] = {{2, 2'500}, {5, 5'000}, {3, 10'000}, {7, 40'000}, {11, 14'062}, {15, 25'781},
                                                  {16, 103'125}, {20, 53'125}, {21, 425'000}, {24, 1'275'000}};
  for (const auto& [code, mbps] : kRates) EXPECT_EQ(rate_of_static(static_cast<std::uint8_t>(code))->mbps(), mbps) << code;
}

struct Waiters {
  explicit Waiters(Engine& engine)
      : engine(engine), calendar(PacingCalendar<int>::of<&Waiters::on_paced>(engine, ComponentId{0}, this)) {}
  void on_paced() {
    ++calls;
    calendar.take_due(engine.now(), [this](int who) { taken.emplace_back(to_ps(engine.now()), who); });
  }
  Engine& engine;
  PacingCalendar<int> calendar;
  std::vector<std::pair<std::int64_t, int>> taken;
  int calls = 0;
};

TEST(PacingCalendarTest, entries_come_by_time_and_then_in_the_order_of_their_addition) {
  Engine engine;
  Waiters waiters(engine);
  waiters.calendar.add(at_ps(30), 1);
  waiters.calendar.add(at_ps(20), 2);
  waiters.calendar.add(at_ps(30), 3);
  waiters.calendar.add(at_ps(10), 4);
  engine.run();
  EXPECT_EQ(waiters.taken, (std::vector<std::pair<std::int64_t, int>>{{10, 4}, {20, 2}, {30, 1}, {30, 3}}));
  EXPECT_EQ(waiters.calls, 3) << "one event for each time";
  EXPECT_EQ(engine.events_executed(), 3u);
}

}  // namespace
}  // namespace verbatim::hca
