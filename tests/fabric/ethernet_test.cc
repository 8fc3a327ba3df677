// Ethernet switches forward by MAC address over all equal paths, and a flow always uses the same path.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/ib/frame.h"
#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

ib::PacketPtr frame(std::uint64_t to, std::uint16_t udp_port, std::uint32_t number) {
  ib::PacketPtr packet = make_packet(0, 1000, number);
  packet->grh.emplace().destination.raw[15] = static_cast<std::uint8_t>(to);
  packet->ethernet = ib::Ethernet{ib::MacAddress{1}, ib::MacAddress{to}, udp_port};
  return packet;
}

struct Spread {
  Simulation simulation;
  Switch hub{simulation.engine,
             simulation.tracer,
             ComponentId{99},
             {},
             {ComponentId{90}, ComponentId{91}, ComponentId{92}, ComponentId{93}}};
  Host sender{simulation, 0};
  Host a{simulation, 1}, b{simulation, 2}, c{simulation, 3};
  Spread() {
    LinkParams link;
    link.byte_time = kEdr4x;
    link.propagation = kWay;
    link.header_bytes = 62;
    simulation.connect(sender.port, hub.port(PortNumber{1}), link);
    simulation.connect(a.port, hub.port(PortNumber{2}), link);
    simulation.connect(b.port, hub.port(PortNumber{3}), link);
    simulation.connect(c.port, hub.port(PortNumber{4}), link);
    RouteTable routes(3);
    routes.set(0, routes.add(std::vector{PortNumber{2}, PortNumber{3}, PortNumber{4}}));
    routes.set(2, routes.add(std::vector{PortNumber{3}}));
    hub.set_ethernet_routes(ib::MacAddress{5}, std::make_shared<const RouteTable>(std::move(routes)));
  }
};

TEST(Ethernet, flows_spread_over_equal_ways_and_each_keeps_to_its_own) {
  Spread spread;
  std::uint32_t number = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::uint16_t port = 0; port < 60; ++port) {
      spread.sender.port.send(frame(5, static_cast<std::uint16_t>(0xc000 + port), ++number));
    }
  }
  spread.simulation.engine.run();
  std::map<std::uint32_t, std::set<std::uint32_t>> ways;  // by flow
  std::size_t total = 0;
  for (const Host* host : {&spread.a, &spread.b, &spread.c}) {
    EXPECT_GT(host->numbers.size(), 30u) << "of 180 in three ways";
    total += host->numbers.size();
    for (const std::uint32_t n : host->numbers)
      ways[(n - 1) % 60].insert(static_cast<std::uint32_t>(host - &spread.a));
  }
  EXPECT_EQ(total, 180u);
  for (const auto& [flow, ports] : ways) EXPECT_EQ(ports.size(), 1u) << "flow " << flow;
}

TEST(Ethernet, an_unknown_address_is_dropped) {
  Spread spread;
  spread.sender.port.send(frame(6, 0xc000, 1));
  spread.sender.port.send(frame(7, 0xc000, 2));
  spread.simulation.engine.run();
  EXPECT_EQ(spread.b.numbers, std::vector<std::uint32_t>{2});
  const auto drops = spread.simulation.trace.of(TraceEvent::kPacketDropped);
  ASSERT_EQ(drops.size(), 1u);
  EXPECT_EQ(drops[0].values[3], static_cast<std::uint64_t>(DropReason::kNoRoute));
}

// Formula: first byte out = edge(62 header bytes at 80 ps and the propagation) + cut-through; the frame has Ethernet
// 14, IPv6 40, UDP 8, BTH 12, payload 1000, ICRC 4 and check sequence 4 bytes.
TEST(Ethernet, a_switch_waits_for_the_headers_up_to_udp) {
  Spread spread;
  spread.sender.port.send(frame(7, 0xc000, 1));
  spread.simulation.engine.run();
  const auto sent = spread.simulation.trace.of(TraceEvent::kPacketTransmitted);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].values[3], 1082u);
  const std::int64_t heard = 62 * 80 + kWayPs, cycle = 2500, cut_through = 36;  // 400 MHz
  EXPECT_EQ(sent[1].time_ps, ((heard + cycle - 1) / cycle + cut_through) * cycle);
}

// A program's IPv4 datagram between two addresses.
ib::PacketPtr frame_of_program(std::uint64_t to, std::uint8_t from_address, std::uint32_t length = 64) {
  ib::PayloadBuffer buffer = ib::PayloadBuffer::allocate(length);
  const std::span<std::byte> bytes = buffer.fill();
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  for (int i = 0; i < 6; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(to >> 8 * (5 - i));
  bytes[11] = std::byte{1};
  bytes[12] = std::byte{0x08};
  bytes[14] = std::byte{0x45};
  bytes[29] = static_cast<std::byte>(from_address);
  ib::PacketPtr packet = ib::make_frame();
  packet->payload = {buffer, 0, length};
  ib::address_frame(*packet);
  return packet;
}

TEST(Ethernet, frames_of_programs_go_by_address_and_spread_by_what_is_in_them) {
  Spread spread;
  for (int round = 0; round < 2; ++round) {
    for (int flow = 0; flow < 60; ++flow) spread.sender.port.send(frame_of_program(5, static_cast<std::uint8_t>(flow)));
  }
  for (int i = 0; i < 7; ++i) spread.sender.port.send(frame_of_program(7, 1));
  spread.simulation.engine.run();
  EXPECT_EQ(spread.a.numbers.size() + spread.b.numbers.size() + spread.c.numbers.size(), 127u);
  for (const Host* host : {&spread.a, &spread.c}) {
    EXPECT_GT(host->numbers.size(), 20u) << "of 120 in three ways";
    EXPECT_EQ(host->numbers.size() % 2, 0u) << "a flow keeps to its way";
  }
}

TEST(Ethernet, frames_to_groups_and_to_nobody_known_leave_by_all_ports_of_the_tree) {
  for (const std::uint64_t to : {0xffff'ffff'ffffull, 0x0100'5e00'0001ull, 6ull}) {
    Spread spread;
    spread.hub.set_multicast_ports({PortNumber{1}, PortNumber{2}, PortNumber{4}});
    spread.sender.port.send(frame_of_program(to, 1));
    spread.simulation.engine.run();
    EXPECT_EQ(spread.a.numbers.size(), 1u);
    EXPECT_EQ(spread.b.numbers.size(), 0u) << "not in the tree";
    EXPECT_EQ(spread.c.numbers.size(), 1u);
    EXPECT_EQ(spread.sender.numbers.size(), 0u);
  }
}

}  // namespace
}  // namespace verbatim::fabric
