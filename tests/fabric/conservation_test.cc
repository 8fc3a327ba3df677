// Every byte is in one buffer, on one line, delivered, or dropped with a reason. Linked with the checks of debug builds
// (`sim/fabric/conservation.h`) in every build.
#include "tests/fabric/conservation.h"

#include <gtest/gtest-spi.h>

#include "sim/ib/group_address.h"
#include "tests/fabric/net.h"
#include "tests/timing/reference/fabric_case.h"

namespace verbatim::fabric {
namespace {

static_assert(kChecksConservation);
constexpr int kInternalError = 70;

TEST(ByteAccount, more_cannot_leave_than_has_come) {
  Bytes bytes;
  bytes.enter(100);
  bytes.leave(40);
  bytes.expect(60);
  EXPECT_EXIT(bytes.leave(61), testing::ExitedWithCode(kInternalError), "bytes <= held_");
  EXPECT_EXIT(bytes.expect(59), testing::ExitedWithCode(kInternalError), "held_ == held");
}

// Two hosts on a switch; the first has sent a packet to the second.
struct OneSwitch {
  explicit OneSwitch(const SwitchProfile& profile = {}) {
    middle = std::make_unique<Switch>(simulation.engine, simulation.tracer, ComponentId{2}, profile,
                                      std::vector<ComponentId>{ComponentId{3}, ComponentId{4}, ComponentId{5}});
    middle->set_forwarding_table({Switch::kNoRoute, PortNumber{1}, PortNumber{2}});
    const LinkParams link{kEdr4x, kWay};
    for (std::uint8_t i = 0; i < 3; ++i) {
      hosts.push_back(std::make_unique<Host>(simulation, i < 2 ? i : 6u));
      simulation.connect(hosts.back()->port, middle->port(PortNumber{static_cast<std::uint8_t>(i + 1)}), link);
      conservation.add_cable(hosts.back()->port.id(), ComponentId{3u + i});
    }
    conservation.add_switch(ComponentId{2}, {ComponentId{3}, ComponentId{4}, ComponentId{5}});
    simulation.tracer.add(conservation);
  }

  Simulation simulation;
  Conservation conservation;
  std::vector<std::unique_ptr<Host>> hosts;
  std::unique_ptr<Switch> middle;
};

TEST(Conservation, holds_where_nothing_leaks) {
  OneSwitch net;
  for (std::uint32_t i = 0; i < 10; ++i) net.hosts[0]->port.send(make_packet(2, 1'000, i));
  net.hosts[0]->port.send(make_packet(9, 1'000));  // an unknown LID
  net.simulation.engine.run();
  net.conservation.expect_rest();
  EXPECT_EQ(net.conservation.delivered(), 10 * 1'026);
  EXPECT_EQ(net.conservation.dropped(), 1'026);
}

TEST(Conservation, counts_copies_for_groups) {
  OneSwitch net;
  net.middle->set_multicast_ports({PortNumber{1}, PortNumber{2}, PortNumber{3}});
  ib::PacketPtr packet = make_packet(0xc001, 1'000);
  ASSERT_TRUE(ib::is_to_group(*packet));
  net.hosts[0]->port.send(std::move(packet));
  net.simulation.engine.run();
  net.conservation.expect_rest();
  EXPECT_EQ(net.conservation.copied(), 1'026);
  EXPECT_EQ(net.conservation.delivered(), 2 * 1'026);
}

// A leak: space is taken by a packet that is neither forwarded nor dropped.
TEST(Conservation, a_packet_that_vanishes_in_a_switch_is_noticed) {
  OneSwitch net;
  ASSERT_TRUE(net.middle->port(PortNumber{1}).admit(*make_packet(2, 1'000)));
  net.hosts[0]->port.send(make_packet(2, 1'000));
  EXPECT_EXIT(net.simulation.engine.run(), testing::ExitedWithCode(kInternalError), "held_ == held");
}

// Space that is given back twice.
TEST(Conservation, space_that_is_given_back_twice_is_noticed) {
  OneSwitch net;
  EXPECT_EXIT(net.middle->port(PortNumber{1}).release(ib::VirtualLane{0}, 1'026, at(0)),
              testing::ExitedWithCode(kInternalError), "bytes <= held_");
}

// By records alone, as for random traffic in every build: a packet vanishes between its arrival and the next
// one.
TEST(Conservation, records_show_a_packet_that_vanishes) {
  Engine engine;
  Tracer tracer(engine);
  Conservation conservation;
  conservation.add_cable(ComponentId{0}, ComponentId{2});
  conservation.add_switch(ComponentId{1}, {ComponentId{2}});
  tracer.add(conservation);
  const ib::PacketPtr packet = make_packet(2, 1'000);
  packet->sent_bytes = packet->wire_bytes();
  const auto record = [&](TraceEvent event, ComponentId port) {
    tracer.record_packet(port, event, 0, 0, 0, packet->sent_bytes, *packet, port);
  };
  record(TraceEvent::kPacketTransmitted, ComponentId{0});
  record(TraceEvent::kPacketTransmitted, ComponentId{0});
  record(TraceEvent::kPacketReceived, ComponentId{2});
  EXPECT_NONFATAL_FAILURE(record(TraceEvent::kPacketReceived, ComponentId{2}), "has vanished");
}

// The fabrics of tests/timing with the checks on: every kind of flow control, drops of all reasons, VL15.
TEST(Conservation, holds_in_random_fabrics) {
  using timing::Buffers;
  for (const Buffers buffers : {Buffers::kAny, Buffers::kLeast, Buffers::kWithoutCredits}) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) run_event_model(timing::random_fabric(seed, buffers));
  }
}

}  // namespace
}  // namespace verbatim::fabric
