// Ideal times of flows compared with their closed form and with lone flows: none is faster, and one without
// competing traffic takes little longer.
#include "sim/config/ideal_times.h"

#include <gtest/gtest.h>

#include "sim/config/flows.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

using workload::FlowKind, workload::FlowPlan;

TopologySpec ideal_topology(const std::string& keys) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec =
      load_topology(folder.write("t.json", R"({"name": "t", )" + keys + "}"), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec.value_or(TopologySpec());
}

// Whole packets with 4096 bytes on Ethernet, as on InfiniBand.
std::string mtu_of(const std::string& keys) {
  return keys.find("roce") == std::string::npos ? "" : R"("interface_mtu": 9000, )";
}

TopologySpec star_of(const std::string& hca, const std::string& keys = "") {
  return ideal_topology(
      mtu_of(keys) + R"("generate": {"shape": "star", "hosts": 2, "rate": "100 Gbps", "hca": ")" +
      hca + "\"}" + keys);
}

// Three links, the one in the middle with that rate, and switches that are far from each other.
TopologySpec chain_of(const std::string& hca, const std::string& middle, const std::string& keys = "") {
  const std::string host = R"(", "hca": ")" + hca + "\"}";
  return ideal_topology(
      mtu_of(keys) + R"("hosts": [{"name": "a)" + host + R"(, {"name": "b)" + host + R"(],
      "switches": [{"name": "s"}, {"name": "t"}],
      "links": [{"a": "a", "b": "s:1", "rate": "100 Gbps"}, {"a": "s:2", "b": "t:2", "rate": ")" +
      middle + R"(", "length": "200 m"}, {"a": "t:1", "b": "b", "rate": "100 Gbps"}])" + keys);
}

struct Times {
  std::int64_t ideal = 0, real = 0;
};

Times times_of_lone_flow(const TopologySpec& topology, const FlowKind& kind, std::uint64_t bytes) {
  DefaultChoices choices;
  Simulation simulation(topology, 1, choices);
  workload::Workload workload;
  const workload::Traffic traffic{
      .kinds = {kind}, .flows = {{.from = 0, .to = 1, .bytes = bytes, .start = Duration(1'000'000)}}};
  const auto flows = add_traffic(simulation, traffic, workload);
  while (!workload.is_done()) simulation.engine().step();
  EXPECT_EQ(flows[0]->status(), ib::WcStatus::kSuccess);
  const auto ideal = IdealTimes(simulation).of(kind, traffic.flows[0]);
  EXPECT_TRUE(ideal.has_value());
  return {ideal.value_or(Duration(0)).count(), (flows[0]->finish() - flows[0]->start()).count()};
}

// 1 MiB by one WRITE over 100 Gbps: 80 ps a byte. 62 bytes of headers, CRC and frame check sequence for each
// of 256 packets, 16 of a RETH, 20 of preambles and gaps.
TEST(IdealTimes, one_write_behind_a_switch_in_numbers) {
  const TopologySpec topology = star_of("edr_light", R"(, "link_layer": "roce")");
  DefaultChoices choices;
  Simulation simulation(topology, 1, choices);
  const auto ideal = IdealTimes(simulation).of({}, {.from = 0, .to = 1, .bytes = 1 << 20});
  constexpr std::int64_t kByte = 80, kPropagation = 2000 * 4.6, kForwarding = 36 * 2'500,
                         kHead = 8 + 14 + 40 + 8;
  constexpr std::int64_t kPackets = (1 << 20) + 256 * (62 + 20) + 16, kAcknowledgement = 8 + 62 + 4;
  const hca::LightDelays delays(topology.hca_profile(topology.adapters[0]));
  const Duration host = delays.request + delays.send(4096) + delays.receive + delays.acknowledge +
                        delays.receive + delays.complete;
  ASSERT_TRUE(ideal.has_value());
  // The gap after the last packet does not count; in each direction the packet's head must cross the first
  // cable.
  EXPECT_EQ(ideal->count(), host.count() + (kPackets - 12) * kByte + kAcknowledgement * kByte +
                                2 * (kHead * kByte + 2 * kPropagation + kForwarding));
}

// One packet waits for edges of the switches' clocks alone, and several for a larger one ahead of the last, too.
TEST(IdealTimes, a_lone_flow_between_light_endpoints_takes_little_more) {
  constexpr std::int64_t kPeriod = 2'500, kOtherPacket = 100'000;
  for (const std::string layer : {R"(, "link_layer": "roce")", ""}) {
    for (const auto operation : {hca::SourceWork::Operation::kWrite, hca::SourceWork::Operation::kSend,
                                 hca::SourceWork::Operation::kRead}) {
      for (const std::uint64_t bytes : {1ull, 64ull, 4096ull, 4097ull, 100'000ull, 3ull << 20}) {
        for (const std::uint32_t message : {1u << 20, 50'000u, 8'192u}) {
          const FlowKind kind{.operation = operation, .message_bytes = message};
          const auto expect_near = [&](const TopologySpec& topology, int switches) {
            const Times times = times_of_lone_flow(topology, kind, bytes);
            EXPECT_GE(times.real, times.ideal);
            EXPECT_LE(times.real, times.ideal + 2 * switches * kPeriod + (bytes > 4096 ? kOtherPacket + times.ideal / 1000 : 0));
          };
          SCOPED_TRACE(layer + " " + std::to_string(bytes) + " in " + std::to_string(message) + " " +
                       std::to_string(static_cast<int>(operation)));
          expect_near(star_of("edr_light", layer), 1);
          for (const std::string rate : {"25 Gbps", "100 Gbps", "400 Gbps"}) {
            SCOPED_TRACE(rate);
            expect_near(chain_of("edr_light", rate, layer), 2);
          }
        }
      }
    }
  }
}

// Clock edges of the adapters' stages are added, and a gather of less than a packet is shorter than the ideal
// time takes it.
TEST(IdealTimes, a_lone_flow_between_whole_adapters_takes_little_more) {
  for (const std::uint64_t bytes : {1ull, 64ull, 1000ull, 4096ull, 100'000ull, 3ull << 20}) {
    SCOPED_TRACE(bytes);
    const Times times = times_of_lone_flow(star_of("edr_hca"), {}, bytes);
    EXPECT_GE(times.real, times.ideal - 10'000);
    EXPECT_LE(times.real, times.ideal + 40'000);
  }
}

TEST(IdealTimes, flows_with_several_paths_are_not_held_to_one_slow_cable) {
  const FlowKind one, many{.queue_pairs = 4};
  const FlowPlan flow{.from = 0, .to = 1, .bytes = 1 << 20};
  const TopologySpec topology = chain_of("edr_light", "25 Gbps", R"(, "link_layer": "roce")");
  DefaultChoices choices;
  Simulation simulation(topology, 1, choices);
  IdealTimes ideals(simulation);
  EXPECT_GT(ideals.of(one, flow)->count(), 3 * ideals.of(many, flow)->count());
}

TEST(IdealTimes, a_flow_without_end_has_none) {
  const TopologySpec topology = star_of("edr_light");
  DefaultChoices choices;
  Simulation simulation(topology, 1, choices);
  EXPECT_FALSE(IdealTimes(simulation).of({}, {.from = 0, .to = 1, .bytes = 0}).has_value());
}

}  // namespace
}  // namespace verbatim::config
