// Rings of switches: traffic that fills the ring's buffers stops for ever, and the loop is named; other traffic has none.
#include "sim/fabric/credit_loop.h"

#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

constexpr std::uint32_t kToHost = 1, kClockwise = 2, kBack = 3;

// Switch i has component 100 + 10 * i, its port n 100 + 10 * i + n; host i, on its port 1, has LID i + 1. Routes are shortest.
struct RingOfSwitches {
  explicit RingOfSwitches(std::uint32_t count, std::uint32_t buffer_bytes = kLeastInputBufferBytes,
                          std::uint32_t lifetime_us = 0, const LinkParams& link = kLink, const SharedMemoryParams& shared = {}) {
    SwitchProfile profile;
    profile.shared_memory = shared;
    PortParams params;
    params.input_buffer_bytes = buffer_bytes;
    profile.input_buffer_bytes = buffer_bytes;
    profile.head_lifetime = std::chrono::microseconds(lifetime_us);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::vector<ComponentId> ids;
      for (const std::uint32_t port : {kToHost, kClockwise, kBack}) ids.push_back(ComponentId{100 + 10 * i + port});
      switches.push_back(std::make_unique<Switch>(simulation.engine, simulation.tracer, ComponentId{100 + 10 * i}, profile, ids));
      std::vector<PortNumber> table{PortNumber{0}};
      for (std::uint32_t to = 0; to < count; ++to) {
        const std::uint32_t distance = (to + count - i) % count;
        const std::uint32_t number = distance == 0 ? kToHost : distance <= count / 2 ? kClockwise : kBack;
        table.push_back(PortNumber{static_cast<std::uint8_t>(number)});
      }
      switches.back()->set_forwarding_table(std::move(table));
      hosts.push_back(std::make_unique<Host>(simulation, i + 1, params));
      simulation.connect(hosts.back()->port, port(i, kToHost), link);
    }
    for (std::uint32_t i = 0; i < count; ++i) simulation.connect(port(i, kClockwise), port((i + 1) % count, kBack), link);
  }

  Port& port(std::uint32_t at, std::uint32_t number) { return switches[at]->port(PortNumber{static_cast<std::uint8_t>(number)}); }
  // Every host sends to the one `distance` places further.
  void send_all(std::uint32_t distance, std::uint32_t packets) {
    for (std::uint32_t i = 0; i < hosts.size(); ++i) {
      for (std::uint32_t n = 0; n < packets; ++n) {
        hosts[i]->port.send(make_packet(static_cast<std::uint16_t>((i + distance) % hosts.size() + 1), 4096, n));
      }
    }
  }
  std::size_t arrived() const {
    std::size_t count = 0;
    for (const auto& host : hosts) count += host->arrivals.size();
    return count;
  }
  // Components of the ports of the loop.
  std::vector<std::uint32_t> loop(LoopKind kind = LoopKind::kNow) {
    std::vector<Port*> ports;
    for (std::uint32_t i = 0; i < switches.size(); ++i) {
      for (const std::uint32_t number : {kToHost, kClockwise, kBack}) ports.push_back(&port(i, number));
    }
    std::vector<std::uint32_t> ids;
    for (const LoopOutput& found : find_credit_loop(ports, kind)) ids.push_back(found.port->id().value);
    return ids;
  }

  static constexpr LinkParams kLink{kEdr4x, Duration(10'000)};
  Simulation simulation;
  std::vector<std::unique_ptr<Switch>> switches;
  std::vector<std::unique_ptr<Host>> hosts;
};

TEST(CreditLoop, of_five_switches_is_named_in_the_order_of_waiting) {
  RingOfSwitches ring(5);
  ring.send_all(2, 10);
  ring.simulation.engine.run();
  EXPECT_LT(ring.arrived(), 50u);
  EXPECT_EQ(ring.loop(), (std::vector<std::uint32_t>{102, 112, 122, 132, 142}));
}

// The published case: four switches, one lane, all send over two of their cables (facts/congestion.md, section 10, row 14).
TEST(CreditLoop, of_four_switches_is_named) {
  RingOfSwitches ring(4);
  ring.send_all(2, 10);
  ring.simulation.engine.run();
  EXPECT_LT(ring.arrived(), 40u);
  for (const LoopKind kind : {LoopKind::kNow, LoopKind::kForEver})
    EXPECT_EQ(ring.loop(kind), (std::vector<std::uint32_t>{102, 112, 122, 132}));
}

LinkParams pausing_link() {
  LinkParams link = RingOfSwitches::kLink;
  link.flow_control = FlowControlKind::kPause;
  link.lossless_lanes = 1;
  link.headroom_bytes = 8 * kLeastInputBufferBytes;
  return link;
}

// With pauses instead of credits: a reserve of one packet, and headroom for later packets.
TEST(CreditLoop, of_switches_that_pause_each_other_is_named_as_well) {
  const LinkParams link = pausing_link();
  for (const std::uint32_t count : {3, 4, 5}) {
    RingOfSwitches ring(count, link.headroom_bytes + kLeastInputBufferBytes, 0, link);
    for (std::uint32_t i = 0; i < count; ++i) {
      // Clockwise only, even if the other direction is shorter.
      std::vector<PortNumber> table(count + 1, PortNumber{kClockwise});
      table[i + 1] = PortNumber{kToHost};
      ring.switches[i]->set_forwarding_table(std::move(table));
    }
    ring.send_all(2, 100);
    ring.simulation.engine.run();
    EXPECT_LT(ring.arrived(), 100u * count);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < count; ++i) expected.push_back(100 + 10 * i + kClockwise);
    for (const LoopKind kind : {LoopKind::kNow, LoopKind::kForEver}) EXPECT_EQ(ring.loop(kind), expected);
  }
}

// The ports of a switch share its memory, of which a group may have half of what is free.
TEST(CreditLoop, in_memory_that_ports_share_is_named) {
  const LinkParams link = pausing_link();
  constexpr std::uint32_t kPool = 8 * kLeastInputBufferBytes;
  RingOfSwitches ring(4, link.headroom_bytes + kLeastInputBufferBytes, 0, link,
                      {.bytes = 3 * link.headroom_bytes + kPool, .lossless_alpha_log2 = -1});
  ring.send_all(2, 100);
  ring.simulation.engine.run();
  EXPECT_TRUE(ring.simulation.trace.of(TraceEvent::kPacketDropped).empty());
  EXPECT_LT(ring.arrived(), 400u);
  EXPECT_EQ(ring.loop(LoopKind::kForEver), (std::vector<std::uint32_t>{102, 112, 122, 132}));
}

// One of the outputs has a watchdog: the circle is there now, and not for ever.
TEST(CreditLoop, is_not_for_ever_with_a_watchdog) {
  const LinkParams link = pausing_link();
  for (const auto action : {WatchdogParams::Action::kDrop, WatchdogParams::Action::kForward, WatchdogParams::Action::kAlert}) {
    RingOfSwitches ring(5, link.headroom_bytes + kLeastInputBufferBytes, 0, link);
    ring.port(2, kClockwise).set_watchdog({std::chrono::milliseconds(1), std::chrono::milliseconds(1), action});
    ring.send_all(2, 100);
    ring.simulation.engine.run_until(at(500'000'000));
    EXPECT_EQ(ring.loop(LoopKind::kNow).size(), 5u);
    EXPECT_EQ(ring.loop(LoopKind::kForEver).size(), action == WatchdogParams::Action::kAlert ? 5u : 0u);
    ring.simulation.engine.run();
    if (action == WatchdogParams::Action::kDrop) {
      EXPECT_TRUE(ring.loop().empty());
    }
  }
}

// A host that pauses its switch without end stops all that send by it, in a row.
TEST(CreditLoop, is_not_found_in_a_pause_storm) {
  const LinkParams link = pausing_link();
  RingOfSwitches ring(5, link.headroom_bytes + kLeastInputBufferBytes, 0, link);
  ring.hosts[2]->port.set_pause_storm(1);
  for (std::uint32_t n = 0; n < 100; ++n) {
    ring.hosts[0]->port.send(make_packet(3, 4096, n));
    ring.hosts[1]->port.send(make_packet(3, 4096, n));
  }
  ring.simulation.engine.run();
  EXPECT_EQ(ring.arrived(), 0u);
  EXPECT_TRUE(ring.loop().empty());
}

TEST(CreditLoop, of_five_switches_that_pause_each_other_is_named) {
  const LinkParams link = pausing_link();
  RingOfSwitches ring(5, link.headroom_bytes + kLeastInputBufferBytes, 0, link);
  ring.send_all(2, 100);
  ring.simulation.engine.run();
  EXPECT_LT(ring.arrived(), 500u);
  EXPECT_TRUE(ring.simulation.trace.of(TraceEvent::kPacketDropped).empty());
  EXPECT_EQ(ring.loop(), (std::vector<std::uint32_t>{102, 112, 122, 132, 142}));
}

// The buffers are equally small, but no packet continues along the ring beyond the first switch.
TEST(CreditLoop, is_not_found_where_everything_arrives) {
  RingOfSwitches ring(5);
  ring.send_all(1, 10);
  ring.simulation.engine.run();
  EXPECT_EQ(ring.arrived(), 50u);
  EXPECT_TRUE(ring.loop().empty());
}

// A host that keeps its packets starves the ports behind it, which form a chain, not a cycle.
TEST(CreditLoop, is_not_found_where_a_host_takes_nothing_any_more) {
  RingOfSwitches ring(5);
  ring.hosts[2]->release = false;
  for (std::uint32_t n = 0; n < 40; ++n) {
    ring.hosts[0]->port.send(make_packet(3, 4096, n));
    ring.hosts[1]->port.send(make_packet(3, 4096, n));
  }
  ring.simulation.engine.run();
  EXPECT_LT(ring.arrived(), 80u);
  EXPECT_TRUE(ring.loop().empty());
}

// At no moment of a run whose packets all arrive in the end.
TEST(CreditLoop, is_not_found_while_credits_are_on_their_way) {
  RingOfSwitches ring(5, 4 * kLeastInputBufferBytes);
  ring.send_all(1, 20);
  for (std::int64_t us = 0; us < 40; ++us) {
    ring.simulation.engine.run_until(at(us * 1'000'000));
    EXPECT_TRUE(ring.loop().empty()) << us << " us";
  }
  ring.simulation.engine.run();
  EXPECT_EQ(ring.arrived(), 100u);
}

TEST(CreditLoop, is_gone_when_a_lifetime_has_ended_its_packets) {
  RingOfSwitches ring(5, kLeastInputBufferBytes, 100);
  ring.send_all(2, 10);
  ring.simulation.engine.run_until(at(50'000'000));
  EXPECT_EQ(ring.loop().size(), 5u);
  EXPECT_TRUE(ring.loop(LoopKind::kForEver).empty());
  ring.simulation.engine.run();
  EXPECT_TRUE(ring.loop().empty());
}

}  // namespace
}  // namespace verbatim::fabric
