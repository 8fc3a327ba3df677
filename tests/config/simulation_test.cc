// The builder: the same fabric whatever the order of construction or of the file.
#include "sim/config/simulation.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/observe/counters.h"
#include "sim/observe/digest_sink.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

TopologySpec load(const std::string& text) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec.value_or(TopologySpec());
}

const char kForward[] = R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
    "switches": [{"name": "s"}, {"name": "r"}],
    "links": [{"a": "a", "b": "s:1", "rate": "EDR"}, {"a": "s:9", "b": "r:8", "rate": "FDR"},
              {"a": "r:2", "b": "b", "rate": "EDR"}, {"a": "c", "b": "s:2", "rate": "HDR"}]})";
const char kShuffled[] = R"({"name": "t", "hosts": [{"name": "c"}, {"name": "a"}, {"name": "b"}],
    "switches": [{"name": "r"}, {"name": "s"}],
    "links": [{"a": "s:2", "b": "c", "rate": "HDR"}, {"a": "b", "b": "r:2", "rate": "EDR"},
              {"a": "r:8", "b": "s:9", "rate": "FDR"}, {"a": "a", "b": "s:1", "rate": "EDR"}]})";

// Every host sends to every other at the same instant, so that ties abound; what arrives has no queue pair.
std::string digest_of_traffic(const TopologySpec& topology, Simulation::Order order,
                              std::uint64_t* delivered) {
  DefaultChoices choices;
  Simulation simulation(topology, 1, choices, order);
  observe::DigestSink digest;
  observe::Counters counters(simulation.components().size());
  simulation.tracer().add(digest);
  simulation.tracer().add(counters);
  for (const char* from : {"a", "b", "c"}) {
    for (const char* to : {"a", "b", "c"}) {
      const std::size_t source = *topology.host(from), destination = *topology.host(to);
      for (std::uint32_t n = 0; n < 20 && source != destination; ++n) {
        auto packet = std::make_unique<ib::Packet>();
        packet->lrh.source = simulation.hca(source).address().lid;
        packet->lrh.destination = simulation.hca(destination).address().lid;
        packet->bth.destination = ib::Qpn{0xabcde};
        packet->bth.psn = ib::Psn{n};
        simulation.host_port(source).send(std::move(packet));
      }
    }
  }
  simulation.engine().run();
  *delivered = 0;
  for (std::size_t i = 0; i < topology.hosts.size(); ++i) {
    *delivered += counters.of(simulation.host_port(i).id()).packets_received;
  }
  return digest.hex();
}

TEST(Simulation, order_of_construction_changes_nothing) {
  const TopologySpec topology = load(kForward);
  std::uint64_t forward = 0, backward = 0;
  EXPECT_EQ(digest_of_traffic(topology, Simulation::Order::kForward, &forward),
            digest_of_traffic(topology, Simulation::Order::kBackward, &backward));
  EXPECT_EQ(forward, 120u);
  EXPECT_EQ(backward, 120u);
}

TEST(Simulation, order_in_the_file_changes_nothing) {
  std::uint64_t delivered = 0;
  EXPECT_EQ(digest_of_traffic(load(kForward), Simulation::Order::kForward, &delivered),
            digest_of_traffic(load(kShuffled), Simulation::Order::kForward, &delivered));
}

// The test above would pass on a digest that sees nothing: a cable one millimetre longer must show.
TEST(Simulation, a_longer_cable_changes_the_trace) {
  std::string longer = kForward;
  longer.replace(longer.find("\"rate\": \"FDR\""), 13, "\"rate\": \"FDR\", \"length\": \"2001 mm\"");
  std::uint64_t delivered = 0;
  EXPECT_NE(digest_of_traffic(load(kForward), Simulation::Order::kForward, &delivered),
            digest_of_traffic(load(longer), Simulation::Order::kForward, &delivered));
}

TEST(Simulation, adapters_know_their_address_and_link) {
  const TopologySpec topology = load(kForward);
  DefaultChoices choices;
  Simulation simulation(topology, 1, choices);
  const hca::PortAddress& c = simulation.hca(2).address();
  EXPECT_EQ(c.active_speed, 64u) << "HDR";
  EXPECT_EQ(c.active_width, 2u) << "4x";
  EXPECT_EQ(c.lid.value, 3) << "the third adapter by name";
  EXPECT_EQ(c.sm_lid.value, 1);
  EXPECT_EQ(simulation.hca(2).device_name(), kDeviceName);
  EXPECT_EQ(simulation.components().name(simulation.host_component(2)), "host/c");
}

TEST(Simulation, component_names_cover_hosts_adapters_switches_and_every_port) {
  const auto names = Simulation::component_names(load(kForward));
  const std::set<std::string> set(names.begin(), names.end());
  EXPECT_EQ(set.size(), names.size());
  EXPECT_EQ(names.size(), 1 + 3 * 3 + 2 * 37u);
  for (const char* name : {"supervisor", "host/a", "hca/b", "port/c:1", "switch/s", "port/s:36"}) {
    EXPECT_TRUE(set.contains(name)) << name;
  }
}

}  // namespace
}  // namespace verbatim::config
