// Window controllers, with steps calculated by hand: `hpcc` by telemetry, `swift` by delays of round trips.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/hca/congestion/controllers.h"
#include "sim/hca/congestion/hpcc.h"
#include "sim/hca/congestion/in_flight.h"
#include "sim/hca/congestion/pacer.h"
#include "sim/hca/congestion/swift.h"

namespace verbatim::hca {
namespace {

constexpr Rate kLine = Rate::of_mbps(100'000);
constexpr Instant at_us(std::int64_t us) { return instant_from_ps(us * 1'000'000); }
constexpr Duration us(std::int64_t count) { return std::chrono::microseconds(count); }

TEST(InFlight, bytes_are_those_between_acknowledged_and_next) {
  InFlight flight;
  flight.on_sent(ib::Psn{ib::Psn::kMask}, 100);
  flight.on_sent(ib::Psn{0}, 200);
  flight.on_sent(ib::Psn{1}, 400);
  EXPECT_EQ(flight.bytes(), 700u);
  EXPECT_EQ(flight.next(), ib::Psn{2});
  flight.on_sent(ib::Psn{0}, 200);
  EXPECT_EQ(flight.bytes(), 700u) << "one that is missing is sent again, alone";
  EXPECT_EQ(flight.on_acknowledged(ib::Psn{0}), 2u);
  EXPECT_EQ(flight.bytes(), 400u);
  EXPECT_EQ(flight.on_acknowledged(ib::Psn{0}), 0u);
  flight.on_sent(ib::Psn{2}, 50);
  flight.go_back(ib::Psn{1});
  EXPECT_EQ(flight.bytes(), 0u);
  flight.on_sent(ib::Psn{1}, 400);
  EXPECT_EQ(flight.bytes(), 400u);
}

class HpccRig {
 public:
  explicit HpccRig(std::int64_t threshold = ReactionPoint::kNotSet) {
    ReactionPoint given;
    given.rpg_threshold = threshold;
    controller = std::make_unique<Hpcc>(complete(given, Hpcc::defaults(kLine)), kLine);
  }
  // An acknowledgement whose telemetry says that at `us` the output had sent `sent` bytes and had `queued` in
  // its queue. Returns the rate in Gb/s.
  double on(std::int64_t us, std::uint64_t sent, std::uint64_t queued, std::uint32_t psn, std::uint32_t next) {
    ib::Telemetry telemetry{.kind = ib::TelemetryKind::kRecords};
    telemetry.add(at_us(us), sent, queued, kLine.kbps);
    controller->on_acknowledged({at_us(us), ib::Psn{psn}, ib::Psn{next}, 1, {}, &telemetry});
    return static_cast<double>(controller->rate({}).value_or(kLine).kbps) * 1e-6;
  }
  std::uint64_t window() { return *controller->window(4096); }
  std::unique_ptr<Hpcc> controller;
};

TEST(Hpcc, begins_at_the_rate_of_the_line_with_what_it_carries_in_a_round_trip) {
  HpccRig hpcc;
  EXPECT_EQ(hpcc.controller->rate({}), std::nullopt);
  EXPECT_EQ(hpcc.window(), 162'500u);
  EXPECT_DOUBLE_EQ(hpcc.on(0, 0, 1'000'000, 0, 40), 100.0) << "the first records have nothing to be compared with";
}

// 13 us after the first one the output has sent 162,560 bytes (1,270 units of 128): 1.00037 of the line rate.
// The smaller queue, 81,200 bytes, is 0.49969 of the window. 100 x 0.95 / 1.50006 + 0.04 = 63.3708.
TEST(Hpcc, a_busy_output_lowers_the_rate_at_once_by_how_far_it_is_above_the_target) {
  HpccRig hpcc;
  hpcc.on(0, 0, 81'200, 0, 40);
  EXPECT_NEAR(hpcc.on(13, 162'560, 100'000, 40, 80), 63.3708, 0.001);
  EXPECT_EQ(hpcc.window(), static_cast<std::uint64_t>(162'500 * 0.633708));
}

// Half a round trip later, with 1.00037 of the line rate and no queue, the mean is (1.50006 + 1.00037) / 2.
// Within a round trip the rate is computed from the last one's, which is still 63.3708: x 0.95 / 1.25022 +
// 0.04.
TEST(Hpcc, within_a_round_trip_each_decision_is_from_the_same_rate) {
  HpccRig hpcc;
  hpcc.on(0, 0, 81'200, 0, 40);
  hpcc.on(13, 162'560, 100'000, 40, 80);
  const double mean = 1.50006 * 0.5 + (81'280 * 8 / 6.5e-6 / 1e11) * 0.5;
  const double expected = 63.3708 * 0.95 / mean + 0.04;
  ib::Telemetry telemetry{.kind = ib::TelemetryKind::kRecords};
  telemetry.add(instant_from_ps(19'500'000), 162'560 + 81'280, 0, kLine.kbps);
  hpcc.controller->on_acknowledged({at_us(20), ib::Psn{50}, ib::Psn{90}, 1, {}, &telemetry});
  EXPECT_NEAR(static_cast<double>(hpcc.controller->rate({})->kbps) * 1e-6, expected, 0.002);
  // Half a round trip later with the same values: the mean decreases, and the base rate is unchanged.
  telemetry = {.kind = ib::TelemetryKind::kRecords};
  telemetry.add(at_us(26), 162'560 + 2 * 81'280, 0, kLine.kbps);
  hpcc.controller->on_acknowledged({at_us(27), ib::Psn{60}, ib::Psn{100}, 1, {}, &telemetry});
  EXPECT_NEAR(static_cast<double>(hpcc.controller->rate({})->kbps) * 1e-6, 63.3708 * 0.95 / ((mean + 1.00037) / 2) + 0.04,
              0.002);
}

// With a threshold, steps of 40 Mb/s are taken while the utilisation is below the target.
TEST(Hpcc, steps_until_the_threshold_then_it_fills_the_target) {
  HpccRig hpcc(2);
  hpcc.on(0, 0, 81'200, 0, 1);
  const double cut = hpcc.on(13, 162'560, 100'000, 1, 2);
  EXPECT_NEAR(hpcc.on(26, 162'560 + 81'280, 0, 2, 3), cut + 0.04, 0.001);
  EXPECT_NEAR(hpcc.on(39, 162'560 + 2 * 81'280, 0, 3, 4), cut + 0.08, 0.001);
  EXPECT_NEAR(hpcc.on(52, 162'560 + 3 * 81'280, 0, 4, 5), 100.0, 0.001)
      << "the line is half used: (cut + 0.08) x 0.95 / 0.50018";
}

TEST(Hpcc, records_of_another_way_and_missing_ones_decide_nothing) {
  HpccRig hpcc;
  hpcc.on(0, 0, 81'200, 0, 40);
  ib::Telemetry two{.kind = ib::TelemetryKind::kRecords};
  two.add(at_us(5), 1, 1'000'000, kLine.kbps);
  two.add(at_us(6), 1, 1'000'000, kLine.kbps);
  hpcc.controller->on_acknowledged({at_us(8), ib::Psn{41}, ib::Psn{90}, 1, {}, &two});
  hpcc.controller->on_acknowledged({at_us(9), ib::Psn{42}, ib::Psn{90}, 1, {}, nullptr});
  EXPECT_EQ(hpcc.controller->rate({}), std::nullopt);
}

class SwiftRig {
 public:
  SwiftRig() : swift(Swift::defaults(kLine), kLine) { swift.window(4096); }
  double packets() const { return static_cast<double>(swift.packets()) / static_cast<double>(Swift::kPacket); }
  double after(std::int64_t delay_us, std::uint32_t count = 1, std::uint8_t hops = 0) {
    const ib::Telemetry telemetry{.kind = ib::TelemetryKind::kHops, .hops = hops};
    now += us(delay_us);
    swift.on_acknowledged({now, ib::Psn{0}, ib::Psn{1}, count, us(delay_us), &telemetry});
    return packets();
  }
  Swift swift;
  Instant now{};
};

// 100 Gb/s x 20 us = 250,000 bytes.
TEST(Swift, begins_with_what_the_line_carries_in_the_base_round_trip) {
  SwiftRig rig;
  EXPECT_NEAR(rig.packets(), 61.035, 0.001);
  EXPECT_EQ(rig.swift.window(4096), 250'000u);
  EXPECT_EQ(rig.swift.rate({}), std::nullopt);
}

// 100 us x (1 / sqrt(w) - 0.1) / (sqrt(10) - 0.1), and 3.06 us for each switch.
TEST(Swift, the_target_grows_with_the_way_and_with_small_windows) {
  SwiftRig rig;
  const auto flow_us = [](double packets) { return 100 * (1 / std::sqrt(packets) - 0.1) / (std::sqrt(10.0) - 0.1); };
  EXPECT_NEAR(static_cast<double>(to_ps(rig.swift.target(0))) * 1e-6, 20 + flow_us(61.035), 0.01);
  EXPECT_NEAR(static_cast<double>(to_ps(rig.swift.target(5))) * 1e-6, 20 + 5 * 3.06 + flow_us(61.035), 0.01);
  for (int i = 0; i < 200; ++i) rig.after(10'000);
  EXPECT_NEAR(rig.packets(), 0.01, 0.0001) << "the least window";
  EXPECT_NEAR(static_cast<double>(to_ps(rig.swift.target(0))) * 1e-6, 120, 0.1);
}

TEST(Swift, below_the_target_each_acknowledged_packet_adds_its_share_of_one) {
  SwiftRig rig;
  EXPECT_NEAR(rig.after(10), 61.035 + 1 / 61.035, 0.001);
  const double before = rig.packets();
  EXPECT_NEAR(rig.after(10, 4), before + 4 / before, 0.001);
}

// The target is 20.914 us: 0.8 x (40 - 20.914) / 40 = 38.17 % less; with a delay of 1 ms, half.
TEST(Swift, above_the_target_it_shrinks_once_in_a_round_trip) {
  SwiftRig rig;
  const double cut = rig.after(40);
  EXPECT_NEAR(cut, 61.035 * 0.6183, 0.01);
  rig.swift.on_acknowledged({rig.now + us(39), ib::Psn{0}, ib::Psn{1}, 1, us(40), nullptr});
  EXPECT_NEAR(rig.packets(), cut, 0.0001) << "it was on its way before the cut";
  EXPECT_NEAR(rig.after(1'000), cut / 2, 0.001);
}

TEST(Swift, a_delay_that_the_way_explains_is_below_the_target) {
  SwiftRig near, far;
  EXPECT_LT(near.after(30, 1, 0), 61);
  EXPECT_GT(far.after(30, 1, 5), 61);
}

// A window of 0.477 packets, after seven halvings of 61: one packet per 1000 / 0.477 us.
TEST(Swift, below_one_packet_time_stands_between_packets) {
  SwiftRig rig;
  for (int i = 0; i < 7; ++i) rig.after(1'000'000);
  EXPECT_NEAR(rig.packets(), 61.035 / 128, 0.001);
  EXPECT_EQ(rig.swift.window(4096), 4096u) << "at least one packet may be under way";
  const double gap_us = static_cast<double>(to_ps(rig.swift.due(at_us(5), {at_us(5), 4'150}) - at_us(5))) * 1e-6;
  EXPECT_NEAR(gap_us, 1'000'000 / rig.packets(), 10.0);
}

TEST(Pacer, a_full_window_holds_packets_back_until_an_acknowledgement) {
  CongestionControl profile;
  profile.controller = "hpcc";
  profile.reaction_point.base_round_trip = Duration(640'000);  // 8,000 bytes at 100 Gb/s
  const std::uint8_t signals = find_controller("hpcc")->signals;
  Pacer pacer(kLine, std::nullopt, make_controller(profile, kLine), signals);
  ASSERT_TRUE(pacer.wants_acknowledgements());
  const auto send = [&](std::uint32_t psn) {
    auto packet = std::make_unique<ib::Packet>();
    packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kWriteMiddle);
    packet->bth.psn = ib::Psn{psn};
    packet->payload.length = 4096;
    packet = pacer.prepare(std::move(packet));
    EXPECT_TRUE(packet->bth.ack_request);
    EXPECT_EQ(packet->telemetry_bytes, 42);
    pacer.judge_window(ib::Psn{0}, ib::Psn{psn + 1}, 4096);
  };
  send(0);
  EXPECT_LE(pacer.due(at_us(1)), at_us(1));
  send(1);
  EXPECT_EQ(pacer.due(at_us(1)), kNever);
  EXPECT_EQ(pacer.next_check(at_us(1)), kNever);
  pacer.judge_window(ib::Psn{1}, ib::Psn{2}, 4096);
  EXPECT_LE(pacer.due(at_us(1)), at_us(1));
  pacer.judge_window(ib::Psn{0}, ib::Psn{2}, 4096);
  send(2);
  pacer.judge_window(ib::Psn{1}, ib::Psn{1}, 4096);
  EXPECT_LE(pacer.due(at_us(1)), at_us(1)) << "what goes back is not under way any more";
}

TEST(Telemetry, rides_with_one_packet_and_not_with_its_copies) {
  auto packet = std::make_unique<ib::Packet>();
  packet->ethernet.emplace();
  packet->grh.emplace();
  packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kSendOnly);
  const std::uint32_t bytes = packet->wire_bytes();
  ib::PacketPtr whole = ib::with_telemetry(std::move(packet), {.kind = ib::TelemetryKind::kRecords});
  EXPECT_EQ(whole->wire_bytes(), bytes + 42) << "2 bytes, and 8 for each of 5 switches";
  ib::telemetry_of(*whole)->add(at_us(1), 1'000, 1'000, 5);
  EXPECT_EQ(ib::telemetry_of(*whole)->records[0].sent, 896u) << "units of 128";
  EXPECT_EQ(ib::telemetry_of(*whole)->records[0].queued, 960u) << "units of 80";
  const auto copy = std::make_unique<ib::Packet>(*whole);
  EXPECT_EQ(ib::telemetry_of(*copy), nullptr);
  EXPECT_EQ(copy->wire_bytes(), whole->wire_bytes());
  const ib::PacketPtr counting = ib::with_telemetry(std::make_unique<ib::Packet>(), {.kind = ib::TelemetryKind::kHops});
  EXPECT_EQ(counting->telemetry_bytes, 0) << "the hop limit shows it";
}

}  // namespace
}  // namespace verbatim::hca
