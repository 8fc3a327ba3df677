// Flow control of a link without ports: two ends, each with a line.
#include "sim/fabric/link_flow_control.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

constexpr std::int64_t kPropagation = 10'000, kUpdate = 8 * 80;  // of a flow control packet

LinkParams cable(FlowControlKind kind = FlowControlKind::kCredits) {
  LinkParams link{kEdr4x, Duration(kPropagation)};
  link.flow_control = kind;
  return link;
}

struct End {
  explicit End(const LinkParams& cable, std::size_t lanes = 1, std::uint32_t far_blocks = 100)
      : link(cable), line(link.byte_time), flow(link, lanes, far_blocks) {}
  // Delivers to the other end the grants of frames sent before `now`.
  void advance_to(std::int64_t now, End& other) {
    flow.advance(line, at(now), [&](std::size_t lane, const CreditGrant& grant) { other.flow.add_grant(lane, grant); });
  }
  const LinkParams link;
  LineClock line;
  LinkFlowControl flow;
};

TEST(CreditFlowControl, a_packet_may_start_when_all_its_blocks_are_granted) {
  End a(cable()), b(cable());
  EXPECT_EQ(a.flow.may_start(0, 100, at(5)), at(5));
  EXPECT_EQ(a.flow.may_start(0, 101, at(5)), kNever);
  EXPECT_EQ(a.flow.missing(0, 101), 1u);
  a.flow.on_start(0, 70);
  EXPECT_EQ(a.flow.may_start(0, 31, at(5)), kNever);
  b.flow.on_release(0, 70, at(1'000));
  EXPECT_EQ(b.flow.next_grant_arrival(b.line, 0, 1), at(1'000 + kUpdate + kPropagation));
  EXPECT_EQ(b.flow.next_grant_arrival(b.line, 0, 71), kNever);
  b.advance_to(1'000, a);
  EXPECT_EQ(a.flow.missing(0, 31), 1u) << "what is due now has not left";
  b.advance_to(1'001, a);
  EXPECT_EQ(a.flow.may_start(0, 31, at(5)), at(1'000 + kUpdate + kPropagation));
  a.flow.take_grants(0, at(1'000 + kUpdate + kPropagation - 1));
  EXPECT_EQ(a.flow.credits(0), 30u);
  a.flow.take_grants(0, at(1'000 + kUpdate + kPropagation));
  EXPECT_EQ(a.flow.credits(0), 100u);
}

TEST(CreditFlowControl, lanes_have_credits_of_their_own) {
  End a(cable(), 2);
  a.flow.on_start(0, 100);
  EXPECT_EQ(a.flow.may_start(0, 1, at(0)), kNever);
  EXPECT_EQ(a.flow.may_start(1, 100, at(0)), at(0));
}

TEST(CreditFlowControl, a_frame_that_is_due_delays_data_that_is_ready_later) {
  End b(cable());
  b.flow.on_release(0, 1, at(1'000));
  EXPECT_EQ(b.flow.data_start(b.line, at(1'000)), at(1'000));
  EXPECT_EQ(b.flow.data_start(b.line, at(1'001)), at(1'000 + kUpdate));
}

TEST(NoFlowControl, everything_may_start_and_nothing_occupies_the_line) {
  End a(cable(FlowControlKind::kNone)), b(cable(FlowControlKind::kNone));
  EXPECT_FALSE(a.flow.has_credits());
  a.flow.on_start(0, 1'000'000);
  EXPECT_EQ(a.flow.may_start(0, 1'000'000, at(5)), at(5));
  b.flow.on_release(0, 10, at(1'000));
  b.advance_to(1'000'000, a);
  EXPECT_EQ(b.line.busy_until(), at(0));
  EXPECT_EQ(b.flow.data_start(b.line, at(7)), at(7));
}

// Packets of 65 blocks; a buffer of 129 holds one until the host has released it. The second finds no space.
TEST(NoFlowControl, a_full_buffer_drops_what_arrives) {
  for (const std::uint32_t blocks : {129u, 130u}) {
    Simulation simulation;
    SwitchProfile profile;
    profile.input_buffer_bytes = blocks * kCreditBlockBytes;
    Host from(simulation, 0), to(simulation, 1);
    Switch hub(simulation.engine, simulation.tracer, ComponentId{9}, profile, {ComponentId{3}, ComponentId{4}});
    hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}});
    LinkParams lossy = cable(FlowControlKind::kNone), slow = lossy;
    slow.byte_time = ByteTime{80'000, 1};
    simulation.connect(from.port, hub.port(PortNumber{1}), lossy);
    simulation.connect(to.port, hub.port(PortNumber{2}), slow);
    from.port.send(make_packet(2, 4096, 0));
    from.port.send(make_packet(2, 4096, 1));
    simulation.engine.run();
    EXPECT_EQ(to.numbers.size(), blocks == 129 ? 1u : 2u);
    const auto drops = simulation.trace.of(TraceEvent::kPacketDropped);
    ASSERT_EQ(drops.size(), blocks == 129 ? 1u : 0u);
    if (drops.empty()) continue;
    EXPECT_EQ(drops[0].component, 3u);
    EXPECT_EQ(drops[0].values[2], 1u);
    EXPECT_EQ(drops[0].values[3], static_cast<std::uint64_t>(DropReason::kInputBuffer));
    simulation.engine.run_until(at(1'000'000'000));
    from.port.send(make_packet(2, 4096, 2));
    simulation.engine.run();
    EXPECT_EQ(to.numbers, (std::vector<std::uint32_t>{0, 2})) << "the space is free again";
  }
}

}  // namespace
}  // namespace verbatim::fabric
