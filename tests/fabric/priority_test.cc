// Priorities on Ethernet: from the DSCP of the IP header or the VLAN tag, classified anew by each switch.
#include "sim/fabric/priority_map.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/ib/frame.h"
#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

constexpr std::uint16_t kVlan = 10;

ib::PacketPtr packet_of(std::uint8_t traffic_class, std::uint16_t tag = 0, std::uint8_t service_level = 0) {
  ib::PacketPtr packet = make_packet(0, 1000);
  packet->lrh.service_level = ib::ServiceLevel{service_level};
  packet->grh.emplace().traffic_class = traffic_class;
  packet->ethernet = ib::Ethernet{ib::MacAddress{1}, ib::MacAddress{2}, 0xc000, tag};
  return packet;
}

// A frame of a program with these bytes after the addresses.
ib::PacketPtr frame_of(std::vector<std::uint8_t> rest) {
  rest.resize(60);
  ib::PayloadBuffer buffer = ib::PayloadBuffer::allocate(72);
  std::ranges::fill(buffer.fill(), std::byte{2});
  std::ranges::transform(rest, buffer.fill().begin() + 12, [](std::uint8_t byte) { return std::byte{byte}; });
  ib::PacketPtr packet = ib::make_frame();
  packet->payload = {buffer, 0, 72};
  ib::address_frame(*packet);
  return packet;
}

std::uint32_t priority(const PriorityMap& map, ib::PacketPtr packet) {
  const std::uint32_t first = map.of(*packet).value;
  EXPECT_EQ(map.of(*packet).value, first) << "looked up before";
  return first;
}

TEST(PriorityMap, a_dscp_that_is_not_named_has_an_eighth_of_it_as_its_priority) {
  const PriorityMap map("dscp", {{"26", 3, 26, 26}, {"46-48", 5, 46, 48}});
  for (std::uint32_t dscp = 0; dscp < 64; ++dscp) {
    const std::uint32_t expected = dscp == 26 ? 3 : dscp >= 46 && dscp <= 48 ? 5 : dscp / 8;
    for (const std::uint32_t ecn : {0u, 3u}) {
      const auto traffic_class = static_cast<std::uint8_t>(dscp << 2 | ecn);
      EXPECT_EQ(priority(map, packet_of(traffic_class, 7 << ib::kVlanPriorityShift | kVlan, 6)), expected) << dscp;
      EXPECT_EQ(map.of_path(6, traffic_class).value, expected) << dscp;
    }
  }
}

TEST(PriorityMap, by_pcp_the_tag_counts_and_without_one_the_priority_is_0) {
  const PriorityMap map("pcp", {});
  EXPECT_EQ(priority(map, packet_of(0xff, 5 << ib::kVlanPriorityShift | kVlan)), 5u);
  EXPECT_EQ(priority(map, packet_of(0xff, 0, 3)), 0u);
  EXPECT_EQ(map.of_path(3, 0xff).value, 3) << "an adapter knows the service level";
  EXPECT_EQ(map.of_path(11, 0xff).value, 3) << "of which a tag has three bits";
  EXPECT_EQ(PriorityMap().of_path(11, 0xff).value, 11) << "InfiniBand";
}

TEST(PriorityMap, frames_of_programs_have_their_ip_header_and_tag) {
  const PriorityMap dscp("dscp", {}), pcp("pcp", {});
  const auto expect = [&](const std::vector<std::uint8_t>& rest, std::uint32_t by_dscp, std::uint32_t by_pcp) {
    EXPECT_EQ(priority(dscp, frame_of(rest)), by_dscp);
    EXPECT_EQ(priority(pcp, frame_of(rest)), by_pcp);
  };
  expect({0x08, 0x00, 0x45, 46 << 2}, 5, 0);
  expect({0x86, 0xdd, 0x60 | 46 >> 2, 0xff & 46 << 6}, 5, 0);
  expect({0x81, 0x00, 0x60, kVlan, 0x08, 0x00, 0x45, 46 << 2}, 5, 3);
  expect({0x81, 0x00, 0x60, kVlan, 0x08, 0x06}, 0, 3);  // ARP
  expect({0x08, 0x06}, 0, 0);
}

constexpr std::uint32_t kSenders = 2;

// Two senders and a receiver at a switch with two lanes: odd priorities use lane 1, which has three times the
// weight.
struct SharedOutput {
  explicit SharedOutput(const std::string& trust = "dscp") : hub(simulation.engine, simulation.tracer, ComponentId{9}, profile(trust), ids()) {
    hub.set_ethernet_routes(ib::MacAddress{2}, routes());
    for (std::uint8_t i = 0; i < kSenders; ++i) connect(senders[i], i);
    connect(receiver, kSenders);
  }

  static SwitchProfile profile(const std::string& trust) {
    SwitchProfile profile;
    profile.virtual_lanes = 2;
    profile.trust = trust;
    profile.arbitration.low = {{0, 64}, {1, 192}};
    return profile;
  }
  static PortParams two_lanes() {
    PortParams params;
    params.virtual_lanes = 2;
    return params;
  }
  static std::vector<ComponentId> ids() { return {ComponentId{10}, ComponentId{11}, ComponentId{12}}; }
  static std::shared_ptr<const RouteTable> routes() {
    RouteTable table(1);
    table.set(0, kSenders + 1);
    return std::make_shared<const RouteTable>(std::move(table));
  }
  void connect(Host& host, std::uint8_t i) {
    LinkParams link;
    link.byte_time = kEdr4x;
    link.propagation = kWay;
    link.header_bytes = 62;
    simulation.connect(host.port, hub.port(PortNumber{static_cast<std::uint8_t>(i + 1)}), link);
  }

  Simulation simulation;
  Switch hub;
  Host senders[kSenders] = {{simulation, 0, two_lanes()}, {simulation, 1, two_lanes()}};
  Host receiver{simulation, 2, two_lanes()};
};

TEST(Priorities, traffic_classes_share_a_link_by_the_weights_of_their_lanes) {
  SharedOutput net;
  constexpr std::uint8_t kClasses[kSenders] = {0, 32};
  constexpr std::size_t kEach = 1000;
  for (std::size_t i = 0; i < kEach; ++i) {
    for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
      ib::PacketPtr packet = packet_of(kClasses[sender]);
      packet->bth.psn = ib::Psn{sender};
      net.senders[sender].port.send(std::move(packet));
    }
  }
  net.simulation.engine.run();
  const std::vector<std::uint32_t>& arrived = net.receiver.numbers;
  ASSERT_EQ(arrived.size(), kSenders * kEach);
  // Packets sent while both flows have packets.
  constexpr std::size_t kBoth = 1200;
  const auto of_class_32 = static_cast<double>(std::count(arrived.begin(), arrived.begin() + kBoth, 1u));
  EXPECT_NEAR(of_class_32 / kBoth, 0.75, 0.01);
  for (std::size_t i = 0; i < arrived.size(); ++i) EXPECT_EQ(net.receiver.kept[i]->lrh.lane.value, arrived[i]);
}

TEST(Priorities, a_switch_knows_nothing_of_the_service_level_that_no_header_has) {
  for (const char* const trust : {"dscp", "pcp"}) {
    SharedOutput net(trust);
    for (std::uint8_t lane = 0; lane < 2; ++lane) {
      ib::PacketPtr packet = packet_of(0, 0, 3);
      packet->lrh.lane = ib::VirtualLane{lane};
      net.senders[0].port.send(std::move(packet));
    }
    net.simulation.engine.run();
    ASSERT_EQ(net.receiver.kept.size(), 2u);
    for (const ib::PacketPtr& packet : net.receiver.kept) {
      EXPECT_EQ(packet->lrh.service_level.value, 0);
      EXPECT_EQ(packet->lrh.lane.value, 0);
    }
    // Space is released on the lane that the sender has used.
    net.simulation.engine.run_until(net.simulation.engine.now() + Duration(1'000'000));
    for (std::uint8_t lane = 0; lane < 2; ++lane) {
      EXPECT_EQ(net.senders[0].port.credits(ib::VirtualLane{lane}), SwitchProfile().input_buffer_bytes / 64);
    }
  }
}

TEST(Priorities, a_switch_that_trusts_tags_and_one_that_trusts_dscp_choose_their_own_lanes) {
  for (const bool by_tag : {false, true}) {
    SharedOutput net(by_tag ? "pcp" : "dscp");
    net.senders[0].port.send(packet_of(32, 2 << ib::kVlanPriorityShift | kVlan));
    net.simulation.engine.run();
    ASSERT_EQ(net.receiver.kept.size(), 1u);
    EXPECT_EQ(net.receiver.kept[0]->lrh.service_level.value, by_tag ? 2 : 1);
    EXPECT_EQ(net.receiver.kept[0]->lrh.lane.value, by_tag ? 0 : 1);
  }
}

}  // namespace
}  // namespace verbatim::fabric
