// A link fails at both ends at one instant, or at one end first; packets on the line are lost at the
// receiver.
#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

constexpr Duration kLongWay{100'000};
constexpr Duration kHead{8 * 80};
constexpr std::int64_t kPacket = 26 * 80;  // make_packet(…, 0)

struct FailingCable {
  explicit FailingCable(std::uint32_t blocks = 1024) : a(simulation, 0, room_for(blocks)), b(simulation, 1, room_for(blocks)) {
    simulation.connect(a.port, b.port, {kEdr4x, kLongWay});
  }
  static PortParams room_for(std::uint32_t blocks) {
    PortParams params;
    params.input_buffer_bytes = blocks * kCreditBlockBytes;
    return params;
  }
  void run_until(std::int64_t ps) { simulation.engine.run_until(at(ps)); }

  struct Drop {
    std::int64_t time_ps;
    std::uint32_t component;
    std::uint64_t number;
    DropReason reason;
    bool operator==(const Drop&) const = default;
  };
  std::vector<Drop> drops() const {
    std::vector<Drop> drops;
    for (const TraceRecord& record : simulation.trace.of(TraceEvent::kPacketDropped)) {
      drops.push_back({record.time_ps, record.component, record.values[2], static_cast<DropReason>(record.values[3])});
    }
    return drops;
  }

  Simulation simulation;
  Host a, b;
};

using Drops = std::vector<FailingCable::Drop>;

TEST(LinkFailure, loses_what_is_queued_at_once_and_what_is_on_the_line_when_it_would_have_arrived) {
  FailingCable cable;
  for (std::uint32_t i = 0; i < 3; ++i) cable.a.port.send(make_packet(2, 0, i));
  const std::int64_t fails = kPacket + 1;  // the second packet has started
  cable.run_until(fails);
  set_link(cable.b.port, false);
  EXPECT_EQ(cable.drops(), (Drops{{fails, 0, 2, DropReason::kLinkDown}}));
  cable.simulation.engine.run();
  const std::int64_t head = to_ps(at(0) + kHead + kLongWay);
  EXPECT_EQ(cable.drops(), (Drops{{fails, 0, 2, DropReason::kLinkDown},
                                  {head, 1, 0, DropReason::kLostOnLink},
                                  {head + kPacket, 1, 1, DropReason::kLostOnLink}}));
  EXPECT_EQ(cable.a.port.counters().xmit_discards, 1u);
  EXPECT_EQ(cable.b.port.counters().rcv_packets, 0u);
  EXPECT_EQ(cable.b.port.counters().rcv_errors, 0u);
  EXPECT_EQ(cable.a.port.counters().link_downed, 1u);
  EXPECT_EQ(cable.b.port.counters().link_downed, 1u);
}

TEST(LinkFailure, spares_a_packet_whose_head_has_arrived) {
  for (const std::int64_t early : {0, 1}) {
    FailingCable cable;
    cable.a.port.send(make_packet(2, 0));
    cable.run_until(to_ps(at(0) + kHead + kLongWay) - early);
    set_link(cable.a.port, false);
    cable.simulation.engine.run();
    EXPECT_EQ(cable.b.arrivals.size(), early == 0 ? 1u : 0u);
  }
}

TEST(LinkFailure, loses_what_left_before_it_though_the_link_is_up_again_and_nothing_that_leaves_later) {
  FailingCable cable;
  cable.a.port.send(make_packet(2, 0, 0));
  cable.run_until(kPacket);
  set_link(cable.a.port, false);
  set_link(cable.a.port, true);
  cable.a.port.send(make_packet(2, 0, 1));
  cable.simulation.engine.run();
  EXPECT_EQ(cable.b.numbers, std::vector<std::uint32_t>{1});
  EXPECT_EQ(cable.drops(), (Drops{{to_ps(at(0) + kHead + kLongWay), 1, 0, DropReason::kLostOnLink}}));
}

// The buffer holds one packet. The space of a lost packet is granted at the time of its tail.
TEST(LinkFailure, grants_the_space_of_lost_packets_when_they_would_have_arrived) {
  FailingCable cable(66);
  cable.a.port.send(make_packet(2, 4096, 0));
  cable.run_until(1'000);
  set_link(cable.a.port, false);
  cable.run_until(2'000);
  set_link(cable.a.port, true);
  cable.a.port.send(make_packet(2, 4096, 1));
  const Instant starts = at(4122 * 80) + kLongWay + Duration(8 * 80) + kLongWay;
  expect_arrival_at(cable.simulation, cable.b, 1, starts + kHead + kLongWay);
}

TEST(LinkFailure, of_a_packet_that_a_fault_has_lost_is_no_second_loss) {
  struct LoseAll final : PacketFaults {
    PacketFate on_packet(const Port&, ib::Packet&) override { return {.is_lost = true}; }
  };
  FailingCable cable;
  LoseAll faults;
  cable.a.port.set_faults(&faults);
  cable.a.port.send(make_packet(2, 0));
  cable.run_until(1'000);
  set_link(cable.a.port, false);
  cable.simulation.engine.run();
  EXPECT_EQ(cable.drops(), (Drops{{0, 0, 0, DropReason::kFault}}));
  EXPECT_EQ(cable.b.port.counters().rcv_errors, 1u);
}

TEST(DisabledPort, is_down_at_once_and_its_far_end_a_propagation_later) {
  FailingCable cable;
  const std::int64_t disabled = 10'000, enabled = 500'000, way = to_ps(at(0) + kLongWay);
  cable.run_until(disabled);
  cable.a.port.set_enabled(false);
  EXPECT_FALSE(cable.a.port.is_up());
  cable.run_until(disabled + way - 1);
  EXPECT_TRUE(cable.b.port.is_up());
  cable.b.port.send(make_packet(1, 0, 7));
  cable.run_until(disabled + way);
  EXPECT_FALSE(cable.b.port.is_up());
  cable.run_until(enabled);
  EXPECT_EQ(cable.drops(), (Drops{{to_ps(at(disabled - 1) + kLongWay + kHead + kLongWay), 0, 7, DropReason::kLostOnLink}}));
  cable.a.port.set_enabled(true);
  cable.a.port.send(make_packet(2, 0, 8));
  cable.run_until(enabled + way - 1);
  EXPECT_FALSE(cable.b.port.is_up());
  cable.run_until(enabled + way);
  EXPECT_TRUE(cable.b.port.is_up());
  cable.simulation.engine.run();
  EXPECT_EQ(cable.b.numbers, std::vector<std::uint32_t>{8});
  const auto states = cable.simulation.trace.of(TraceEvent::kLinkState);
  ASSERT_EQ(states.size(), 4u);
  EXPECT_EQ(states[1].time_ps, disabled + way);
  EXPECT_EQ(states[3].time_ps, enabled + way);
}

TEST(DisabledPort, stays_down_until_it_is_enabled_and_the_cable_is_intact) {
  for (const bool repaired_first : {false, true}) {
    FailingCable cable;
    cable.a.port.set_enabled(false);
    set_link(cable.b.port, false);
    cable.run_until(1'000'000);
    repaired_first ? set_link(cable.b.port, true) : cable.a.port.set_enabled(true);
    cable.run_until(2'000'000);
    EXPECT_FALSE(cable.a.port.is_up());
    EXPECT_FALSE(cable.b.port.is_up());
    repaired_first ? cable.a.port.set_enabled(true) : set_link(cable.b.port, true);
    cable.run_until(3'000'000);
    EXPECT_TRUE(cable.a.port.is_up());
    EXPECT_TRUE(cable.b.port.is_up());
  }
}

// The far end sees the cable fail and recover before it learns that the port is disabled.
TEST(DisabledPort, whose_cable_fails_within_a_propagation_carries_packets_again) {
  FailingCable cable;
  cable.a.port.set_enabled(false);
  cable.run_until(1'000);
  set_link(cable.a.port, false);
  cable.run_until(2'000);
  set_link(cable.a.port, true);
  EXPECT_FALSE(cable.a.port.is_up());
  EXPECT_TRUE(cable.b.port.is_up());
  cable.run_until(1'000'000);
  EXPECT_FALSE(cable.b.port.is_up());
  cable.a.port.set_enabled(true);
  cable.run_until(2'000'000);
  cable.a.port.send(make_packet(2, 0, 1));
  cable.b.port.send(make_packet(1, 0, 2));
  cable.simulation.engine.run();
  EXPECT_EQ(cable.b.numbers, std::vector<std::uint32_t>{1});
  EXPECT_EQ(cable.a.numbers, std::vector<std::uint32_t>{2});
}

// Each end has failed once when the packet is sent, but for different reasons.
TEST(DisabledPort, at_both_ends_within_a_propagation_loses_what_leaves_between) {
  FailingCable cable;
  cable.a.port.set_enabled(false);
  cable.a.port.set_enabled(true);
  cable.run_until(1'000);
  cable.b.port.set_enabled(false);
  cable.b.port.set_enabled(true);
  cable.a.port.send(make_packet(2, 0, 0));
  cable.run_until(1'000'000);
  EXPECT_EQ(cable.drops().size(), 1u);
  cable.a.port.send(make_packet(2, 0, 1));
  cable.b.port.send(make_packet(1, 0, 2));
  cable.simulation.engine.run();
  EXPECT_EQ(cable.b.numbers, std::vector<std::uint32_t>{1});
  EXPECT_EQ(cable.a.numbers, std::vector<std::uint32_t>{2});
}

}  // namespace
}  // namespace verbatim::fabric
