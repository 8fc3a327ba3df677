// Counters of a port (IBA 16.1.3.5), including its waiting time.
#include "sim/ib/port_counters.h"

#include "sim/ib/group_address.h"
#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

constexpr std::int64_t kWire = 4096 + 26;  // make_packet(…, 4096)

// Two hosts and a cable.
struct Cable {
  explicit Cable(std::uint32_t blocks = 1024) : a(simulation, 0), b(simulation, 1, room_for(blocks)) {
    simulation.connect(a.port, b.port, {kEdr4x, kWay});
  }
  static PortParams room_for(std::uint32_t blocks) {
    PortParams params;
    params.input_buffer_bytes = blocks * kCreditBlockBytes;
    return params;
  }
  Simulation simulation;
  Host a, b;
};

TEST(PortCountersTest, packets_and_bytes_are_counted_at_both_ends_without_the_vcrc) {
  Cable cable;
  cable.a.port.send(make_packet(2, 4096));
  cable.a.port.send(make_packet(0xc001, 64));
  cable.simulation.engine.run();
  const ib::PortCounters& sent = cable.a.port.counters();
  const ib::PortCounters& received = cable.b.port.counters();
  EXPECT_EQ(sent.xmit_packets, 2u);
  EXPECT_EQ(sent.xmit_bytes, 4096u + 24 + 64 + 24);
  EXPECT_EQ(sent.multicast_xmit_packets, 1u);
  EXPECT_EQ(received.rcv_packets, 2u);
  EXPECT_EQ(received.rcv_bytes, sent.xmit_bytes);
  EXPECT_EQ(received.multicast_rcv_packets, 1u);
  EXPECT_EQ(sent.rcv_packets + received.xmit_packets, 0u);
  EXPECT_EQ(sent.xmit_wait, Duration(0)) << "the line was never free while there was something to send";
}

// From the end of the packet before, or from when there is something to send, up to the start.
TEST(PortCountersTest, waiting_for_credits_is_waiting) {
  Cable cable(129);  // for one packet and a half
  cable.b.release = false;
  cable.a.port.send(make_packet(2, 4096, 0));
  cable.a.port.send(make_packet(2, 4096, 1));
  const std::int64_t first_ends = kWire * 80;
  cable.simulation.engine.run_until(at(first_ends));
  EXPECT_EQ(cable.a.port.counters().xmit_wait, Duration(0));
  cable.simulation.engine.run_until(at(first_ends + 1));
  EXPECT_EQ(cable.a.port.counters().xmit_wait, Duration(1));
  cable.simulation.engine.run_until(at(1'000'000));
  EXPECT_EQ(cable.a.port.counters().xmit_wait, Duration(1'000'000 - first_ends));
  cable.b.port.release(*cable.b.kept[0]);
  cable.simulation.engine.run();
  const auto starts = cable.simulation.trace.of(TraceEvent::kPacketTransmitted);
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(cable.a.port.counters().xmit_wait, Duration(starts[1].time_ps - first_ends));
  EXPECT_EQ(cable.b.port.counters().xmit_wait, Duration(0)) << "flow control packets are no data";
}

TEST(PortCountersTest, a_packet_that_is_dropped_has_waited_too) {
  Simulation simulation;
  PortParams dies;
  dies.head_lifetime = Duration(100'000);
  Host a(simulation, 0, dies), b(simulation, 1, Cable::room_for(66));
  b.release = false;
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  a.port.send(make_packet(2, 4096, 0));
  a.port.send(make_packet(2, 4096, 1));
  simulation.engine.run();
  // Its lifetime begins when it becomes the first, which is when the packet before starts.
  EXPECT_EQ(simulation.trace.of(TraceEvent::kPacketDropped).at(0).time_ps, 100'000);
  EXPECT_EQ(a.port.counters().xmit_discards, 1u);
  EXPECT_EQ(a.port.counters().xmit_wait, Duration(std::max<std::int64_t>(0, 100'000 - kWire * 80)));
}

TEST(PortCountersTest, an_agent_may_set_them) {
  Cable cable;
  cable.a.port.send(make_packet(2, 64));
  cable.simulation.engine.run();
  cable.a.port.counters() = {};
  cable.a.port.send(make_packet(2, 64));
  cable.simulation.engine.run();
  EXPECT_EQ(cable.a.port.counters().xmit_packets, 1u);
  EXPECT_EQ(cable.b.port.counters().rcv_packets, 2u);
}

TEST(PortCountersTest, a_link_that_fails_is_counted_at_both_ends_and_what_was_queued_is_discarded) {
  Cable cable;
  cable.a.port.send(make_packet(2, 4096, 0));
  cable.a.port.send(make_packet(2, 4096, 1));
  cable.simulation.engine.run_until(at(8 * 80 + kWayPs));  // the head of the first is there
  set_link(cable.b.port, false);
  cable.a.port.send(make_packet(2, 64, 2));
  set_link(cable.b.port, true);
  EXPECT_EQ(cable.a.port.counters().link_downed, 1u);
  EXPECT_EQ(cable.b.port.counters().link_downed, 1u);
  EXPECT_EQ(cable.a.port.counters().xmit_discards, 2u);
}

TEST(PortCountersTest, what_a_fault_loses_is_an_error_of_the_far_end) {
  struct LoseAll final : PacketFaults {
    PacketFate on_packet(const Port&, ib::Packet&) override { return {.is_lost = true}; }
  };
  Cable cable;
  LoseAll faults;
  cable.a.port.set_faults(&faults);
  cable.a.port.send(make_packet(2, 64));
  cable.simulation.engine.run();
  EXPECT_EQ(cable.a.port.counters().xmit_packets, 1u);
  EXPECT_EQ(cable.a.port.counters().xmit_discards, 0u);
  EXPECT_EQ(cable.b.port.counters().rcv_errors, 1u);
  EXPECT_EQ(cable.b.port.counters().rcv_packets, 0u);
}

TEST(PortCountersTest, a_switch_counts_what_it_cannot_forward_at_the_input_and_what_cannot_leave_at_the_output) {
  Simulation simulation;
  SwitchProfile profile;
  profile.vl15_buffer_bytes = kCreditBlockBytes;
  Switch hub(simulation.engine, simulation.tracer, ComponentId{9}, profile, {ComponentId{10}, ComponentId{11}});
  hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}, Switch::kNoRoute});
  Host host(simulation, 0);
  simulation.connect(host.port, hub.port(PortNumber{1}), {kEdr4x, kWay});
  host.port.send(make_packet(3, 64));      // no route
  host.port.send(make_packet(2, 64));      // there is no cable
  host.port.send(make_packet(0, 64));      // to the switch itself, which forwards nothing then
  host.port.send(make_packet(1, 64, 0, 15));  // two blocks, for which there is no room
  simulation.engine.run();
  const ib::PortCounters& in = hub.port(PortNumber{1}).counters();
  EXPECT_EQ(in.rcv_packets, 4u);
  EXPECT_EQ(in.rcv_switch_relay_errors, 1u);
  EXPECT_EQ(in.vl15_dropped, 1u);
  EXPECT_EQ(in.xmit_discards, 0u);
  EXPECT_EQ(hub.port(PortNumber{2}).counters().xmit_discards, 1u);
}

}  // namespace
}  // namespace verbatim::fabric
