// Distribution of flows over the cables from aggregation to core switches of a fat tree: k = 8, 128 hosts,
// 128 of these cables. 512 flows: from every host to the hosts at the same place of the next four pods. Each
// of these four permutations could have one flow on every cable.
#include <gtest/gtest.h>

#include "sim/config/simulation.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

constexpr std::size_t kHosts = 128, kInPod = 16, kUp = 4;

TopologySpec fat_tree_8(const std::string& more) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_topology(
      folder.write("t.json", R"({"name": "t", "generate": {"shape": "fat_tree", "hosts": 128, "rate": "100 Gbps"})" + more + "}"),
      with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec.value_or(TopologySpec());
}

ib::PacketPtr packet_between(Simulation& simulation, std::size_t from, std::size_t to, std::uint16_t udp_source_port) {
  auto packet = std::make_unique<ib::Packet>();
  const hca::PortAddress &source = simulation.hca(from).address(), &destination = simulation.hca(to).address();
  packet->lrh.source = source.lid;
  packet->lrh.destination = destination.lid;
  packet->bth.destination = ib::Qpn{0xabcde};  // no such queue pair: the adapter drops the packet
  if (!simulation.topology().is_roce()) return packet;
  constexpr std::size_t kIpv4 = 1;  // index in the GID table
  packet->grh.emplace();
  packet->grh->source = source.gids[kIpv4];
  packet->grh->destination = destination.gids[kIpv4];
  packet->ethernet = ib::Ethernet{source.mac, destination.mac, udp_source_port};
  return packet;
}

// Sends one packet of every flow to the hosts `pods` further on; returns the number of packets on each cable.
std::vector<std::uint64_t> packets_up(const TopologySpec& topology, const std::vector<std::size_t>& pods,
                                      std::uint64_t seed = 1) {
  DefaultChoices choices;
  Simulation simulation(topology, seed, choices);
  for (const std::size_t pod : pods) {
    for (std::size_t from = 0; from < kHosts; ++from) {
      const std::size_t to = (from + pod * kInPod) % kHosts;
      const auto port = static_cast<std::uint16_t>(0xc000 + pod * kHosts + from);
      simulation.host_port(from).send(packet_between(simulation, from, to, port));
    }
  }
  simulation.engine().run();
  std::vector<std::uint64_t> packets;
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    if (!topology.switches[i].name.starts_with("agg")) continue;
    for (std::size_t up = 0; up < kUp; ++up) {
      const fabric::PortNumber port{static_cast<std::uint8_t>(kUp + up + 1)};
      packets.push_back(simulation.fabric_switch(i).port(port).counters().xmit_packets);
    }
  }
  return packets;
}

std::size_t used(const std::vector<std::uint64_t>& packets) {
  return packets.size() - static_cast<std::size_t>(std::ranges::count(packets, 0u));
}

// All switches have the same hash: the leaf's hash sends these flows to the first aggregation switch, which
// therefore sends them to its first core switch. With independent hashes 1/64 of the cables have no flow.
TEST(Spread, flows_use_a_quarter_of_the_cables_with_one_hash_and_nearly_all_with_own_ones) {
  const auto polarised = packets_up(fat_tree_8(R"(, "link_layer": "roce", "ecmp_seed": "same")"), {1, 2, 3, 4});
  ASSERT_EQ(polarised.size(), 128u);
  EXPECT_EQ(used(polarised), 32u);
  for (const std::uint64_t seed : {1, 2, 3}) EXPECT_GE(used(packets_up(fat_tree_8(R"(, "link_layer": "roce")"), {1, 2, 3, 4}, seed)), 122u);
}

TEST(Spread, the_seed_of_the_run_decides_where_flows_meet_unless_all_switches_have_one) {
  const TopologySpec own = fat_tree_8(R"(, "link_layer": "roce")"), same = fat_tree_8(R"(, "link_layer": "roce", "ecmp_seed": "same")");
  EXPECT_EQ(packets_up(own, {1}, 7), packets_up(own, {1}, 7));
  EXPECT_NE(packets_up(own, {1}, 7), packets_up(own, {1}, 8));
  EXPECT_EQ(packets_up(same, {1}, 7), packets_up(same, {1}, 8));
}

// Routes by destination: each permutation has one flow on every cable.
TEST(Spread, minimum_hops_on_infiniband_give_every_cable_one_flow_of_a_permutation_between_pods) {
  const TopologySpec topology = fat_tree_8("");
  const auto all = packets_up(topology, {1, 2, 3, 4});
  ASSERT_EQ(all.size(), 128u);
  EXPECT_EQ(used(all), 128u);
  for (const std::size_t pod : {1, 2, 3, 4, 5, 6, 7})
    EXPECT_EQ(packets_up(topology, {pod}), std::vector<std::uint64_t>(128, 1)) << pod;
}

}  // namespace
}  // namespace verbatim::config
