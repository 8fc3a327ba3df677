// Port sets of destinations, and which port of a set a flow takes.
#include "sim/fabric/route_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/fabric/flow_hash.h"

namespace verbatim::fabric {
namespace {

std::vector<PortNumber> ports(std::initializer_list<std::uint8_t> numbers) {
  std::vector<PortNumber> all;
  for (const std::uint8_t number : numbers) all.push_back(PortNumber{number});
  return all;
}

TEST(RouteTable, destinations_share_sets_and_single_ports_need_none) {
  RouteTable table(4);
  const RouteTable::Entry up = table.add(ports({5, 6, 7}));
  table.set(0, up);
  table.set(1, table.add(ports({3})));
  table.set(2, up);
  EXPECT_EQ(table.ports_to(0), ports({5, 6, 7}));
  EXPECT_EQ(table.ports_to(1), ports({3}));
  EXPECT_EQ(table.ports_to(2), table.ports_to(0));
  EXPECT_TRUE(table.ports_to(3).empty());
  EXPECT_TRUE(table.ports_to(4).empty()) << "beyond the end";
  EXPECT_EQ(table.add({}), RouteTable::kNone);
}

TEST(RouteTable, a_linear_forwarding_table_keeps_its_ports) {
  const RouteTable table(ports({255, 2, 0, 254}));
  EXPECT_EQ(table.entry(0), RouteTable::kNone);
  EXPECT_EQ(table.entry(1), 2u);
  EXPECT_EQ(table.entry(2), 0u) << "the switch itself";
  EXPECT_EQ(table.entry(3), 254u);
  EXPECT_EQ(table.entry(0x10000), RouteTable::kNone);
}

ib::Packet flow(int from, int to, int port) {
  ib::Packet packet;
  packet.grh.emplace();
  packet.grh->source.raw[15] = static_cast<std::uint8_t>(from);
  packet.grh->destination.raw[15] = static_cast<std::uint8_t>(to);
  packet.ethernet = ib::Ethernet{ib::MacAddress{1}, ib::MacAddress{2}, static_cast<std::uint16_t>(port)};
  return packet;
}

// 20,480 flows over each number of paths: binomial, so five standard deviations are exceeded once in two
// million.
TEST(FlowHash, ways_get_equal_shares_whatever_their_number_and_the_salt) {
  for (const std::uint64_t salt : {0ull, 1ull, ~0ull}) {
    for (const std::uint32_t count : {2u, 3u, 4u, 18u, 128u, 253u}) {
      std::vector<double> flows(count);
      for (int from = 0; from < 32; ++from) {
        for (int to = 0; to < 64; ++to) {
          for (int port = 0; port < 10; ++port) {
            ++flows[ecmp_index(flow_hash(flow(from, to, 0xc000 + port)), salt, count)];
          }
        }
      }
      const double mean = 20'480.0 / count;
      for (const double of_way : flows) EXPECT_LT((of_way - mean) * (of_way - mean), 25 * mean) << count << " ways";
    }
  }
}

// Flows that one switch sends to the first of four ports are spread evenly by the next switch, unless both
// have the same salt.
TEST(FlowHash, switches_with_salts_of_their_own_split_what_another_has_chosen) {
  std::vector<int> other(4), same(4);
  int all = 0;
  for (int to = 0; to < 256; ++to) {
    for (int port = 0; port < 16; ++port) {
      const std::uint64_t hash = flow_hash(flow(1, to, 0xc000 + port));
      if (ecmp_index(hash, 1, 4) != 0) continue;
      ++all;
      ++other[ecmp_index(hash, 2, 4)];
      ++same[ecmp_index(hash, 1, 4)];
    }
  }
  EXPECT_EQ(same[0], all);
  for (const int flows : other) EXPECT_NEAR(flows, all / 4.0, 70) << "of about 1024";
}

TEST(FlowHash, every_part_of_the_flow_counts_and_nothing_else) {
  const std::uint64_t hash = flow_hash(flow(1, 2, 3));
  EXPECT_NE(flow_hash(flow(9, 2, 3)), hash);
  EXPECT_NE(flow_hash(flow(1, 9, 3)), hash);
  EXPECT_NE(flow_hash(flow(1, 2, 9)), hash);
  EXPECT_NE(flow_hash(flow(2, 1, 3)), hash);
  ib::Packet other = flow(1, 2, 3);
  other.bth.psn = ib::Psn{7};
  other.ethernet->source = ib::MacAddress{9};
  EXPECT_EQ(flow_hash(other), hash);
}

}  // namespace
}  // namespace verbatim::fabric
