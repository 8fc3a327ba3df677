// The fabric does not depend on the order of construction and the order of entries in the file.
#include "sim/config/simulation.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sim/ib/management.h"
#include "sim/mad/mad.h"
#include "sim/mad/smp.h"
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

// Every host sends to every other at the same instant, which causes many ties. The destination queue pair
// does not exist.
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

// The previous test would pass with a digest that covers nothing; a cable that is one millimetre longer
// changes the trace.
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
  EXPECT_EQ(simulation.hca(2).device_name(), "mlx5_0");
  EXPECT_EQ(simulation.components().name(simulation.host_component(2)), "host/c");
}

TEST(Simulation, what_does_not_fit_into_the_adapters_buffer_of_vl15_is_dropped_and_counted) {
  DefaultChoices choices;
  const TopologySpec topology = load(R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}],
      "links": [{"a": "a", "b": "b", "rate": "EDR"}]})");
  Simulation simulation(topology, 1, choices);
  observe::Counters counters(simulation.components().size());
  simulation.tracer().add(counters);
  const std::uint32_t fits = topology.hosts[1].hca_profile.vl15_buffer_bytes - 26;
  for (const std::uint32_t bytes : {fits, fits + 4, fits + 4}) {
    auto packet = std::make_unique<ib::Packet>();
    packet->lrh.destination = simulation.hca(1).address().lid;
    packet->lrh.lane = fabric::kManagementLane;
    packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kSendMiddle);
    packet->payload.length = bytes / 4 * 4;
    simulation.host_port(0).send(std::move(packet));
    simulation.engine().run();
  }
  const observe::Counters::Component& counted = counters.of(simulation.host_port(1).id());
  EXPECT_EQ(counted.packets_received, 3u);
  EXPECT_EQ(counted.vl15_dropped, 2u);
  EXPECT_EQ(counted.packets_dropped, 0u);
}

// A subnet manager's Set of half of a VL arbitration table (IBA 14.2.5.9): lanes and weights from the first
// entry on.
void set_arbitration(Simulation& simulation, ib::Lid node, std::uint32_t port, std::uint32_t block,
                     const std::vector<fabric::ArbitrationEntry>& entries) {
  ib::Mad mad{};
  mad::Header header;
  header.management_class = mad::kSubnetManagementLid;
  header.class_version = mad::smp::kClassVersion;
  header.method = mad::kSet;
  header.attribute_id = mad::smp::kVlArbitrationTable;
  header.attribute_modifier = block << 16 | port;
  mad::put_header(mad, header);
  mad::smp::Data table{};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    table[2 * i] = std::byte(entries[i].lane);
    table[2 * i + 1] = std::byte(entries[i].weight);
  }
  mad::smp::put_data(mad, table);
  auto packet = std::make_unique<ib::Packet>();
  packet->lrh.source = simulation.hca(0).address().lid;
  packet->lrh.destination = node;
  packet->lrh.lane = fabric::kManagementLane;
  packet->bth.opcode = ib::make_opcode(ib::Transport::kUd, ib::Operation::kSendOnly);
  packet->bth.destination = packet->deth.source = ib::kSubnetManagementQp;
  packet->payload.buffer = ib::PayloadBuffer::copy_of(mad);
  packet->payload.length = ib::kMadBytes;
  simulation.host_port(0).send(std::move(packet));
  simulation.engine().run();
}

// Sends five packets, two of them on lane 1; returns their lanes in the order in which they leave the port.
std::string lanes_in_order(Simulation& simulation, fabric::Port& port) {
  struct Order final : TraceSink {
    explicit Order(ComponentId port) : port(port) {}
    void on_record(const TraceRecord& record, std::span<const std::byte>) override {
      constexpr std::uint64_t kPerLane = 10;
      if (record.component == port.value && record.event == TraceEvent::kPacketTransmitted)
        lanes += std::to_string(record.values[2] / kPerLane);
    }
    const ComponentId port;
    std::string lanes;
  } order(port.id());
  simulation.tracer().add(order);
  for (const std::uint8_t lane : {0, 0, 0, 1, 1}) {
    auto packet = std::make_unique<ib::Packet>();
    packet->lrh.lane = ib::VirtualLane{lane};
    packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kSendMiddle);
    packet->bth.psn = ib::Psn{lane * 10u};
    packet->payload.length = 64;  // exceeds the smallest weight
    port.send(std::move(packet));
  }
  simulation.engine().run();
  return order.lanes;
}

// By default lane 0 has high priority for one packet at a time. The new tables give lane 1 many packets, then
// lane 0. The first packet always finds an empty port.
TEST(Simulation, a_table_of_arbitration_that_a_manager_writes_changes_which_lane_goes_first) {
  TopologySpec topology = load(R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}], "switches": [{"name": "s"}],
      "links": [{"a": "a", "b": "s:1", "rate": "EDR"}, {"a": "b", "b": "s:2", "rate": "EDR"}]})");
  for (HostSpec& host : topology.hosts) host.hca_profile.virtual_lanes = 2;
  topology.switches[0].switch_profile.virtual_lanes = 2;
  for (const bool at_switch : {false, true}) {
    const std::uint32_t number = at_switch ? 2 : 1;
    for (const bool is_set : {false, true}) {
      DefaultChoices choices;
      Simulation simulation(topology, 1, choices);
      fabric::Port& port = at_switch ? simulation.fabric_switch(0).port(fabric::PortNumber{2}) : simulation.host_port(1);
      ASSERT_EQ(port.operational_lanes(), 2u);
      const ib::Lid lid = simulation.plan().nodes[at_switch ? 2 : 1].ports[0].lid;
      constexpr std::uint32_t kLow = 1, kHigh = 3;
      if (is_set) set_arbitration(simulation, lid, number, kHigh, {});
      if (is_set) set_arbitration(simulation, lid, number, kLow, {{1, 255}, {0, 1}});
      EXPECT_EQ(lanes_in_order(simulation, port), is_set ? "01100" : "01010") << number;
    }
  }
}

// Control symbols between packets: 8b/10b framing, SKIPs or refreshes, depending on the link's rate.
TEST(Simulation, links_have_the_gaps_and_refreshes_of_their_rate) {
  const auto link = [](const std::string& more, const char* layer = "infiniband") {
    DefaultChoices choices;
    const TopologySpec topology =
        load(R"({"name": "t", "link_layer": ")" + std::string(layer) + R"(", "hosts": [{"name": "a"}, {"name": "b"}],
             "links": [{"a": "a", "b": "b", )" + more + "}]}");
    return Simulation(topology, 1, choices).host_port(0).link();
  };
  const fabric::LinkParams edr = link(R"("rate": "EDR 4x")"), qdr = link(R"("rate": "QDR 4x")");
  EXPECT_EQ(edr.bytes_before + edr.bytes_after, 0u);
  EXPECT_EQ(qdr.bytes_before, 1u);
  EXPECT_EQ(qdr.bytes_after, 1u);
  EXPECT_EQ(link(R"("rate": "QDR", "start_bytes": 0, "end_bytes": 3)").bytes_after, 3u);
  EXPECT_EQ(link(R"("rate": "QDR", "start_bytes": 0, "end_bytes": 3)").bytes_before, 0u);
  EXPECT_EQ(edr.credit_refresh_interval, Duration(65'536 * 320));
  EXPECT_EQ(qdr.credit_refresh_interval, Duration(65'536 * 1'000));
  EXPECT_EQ(link(R"("rate": "EDR", "credit_refresh_interval": "0 s")").credit_refresh_interval, Duration(0));
  EXPECT_EQ(link(R"("rate": "100 Gbps")", "roce").credit_refresh_interval, Duration(0));
  EXPECT_EQ(link(R"("rate": "40 Gbps")", "roce").bytes_before, 8u);
  const ByteTime skips = link(R"("rate": "QDR 4x", "skip_interval_symbols": 4608)").byte_time;
  EXPECT_EQ(skips.time_for(4'604), Duration(4'608 * 250));
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

// A packet from another host has crossed the host's own cable and, if that leads to a switch, also the switch
// and another cable.
TEST(Simulation, tells_how_soon_another_host_can_be_heard) {
  DefaultChoices choices;
  const auto least_way = [&](const std::string& hosts_and_links, std::size_t host) {
    const TopologySpec topology = load(R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}], )" + hosts_and_links + "}");
    return Simulation(topology, 1, choices).least_latency_to(host);
  };
  const std::string direct = R"("links": [{"a": "a", "b": "b", "rate": "EDR", "length": "3 m", "delay_per_length": "5 ns/m"}])";
  EXPECT_EQ(least_way(direct, 0), std::chrono::nanoseconds(15));
  EXPECT_EQ(least_way(direct, 1), std::chrono::nanoseconds(15));
  // The switch takes 36 cycles of 400 MHz from the header to the first byte of output.
  const std::string over_switch = R"("switches": [{"name": "s"}],
      "links": [{"a": "a", "b": "s:1", "rate": "EDR", "length": "2 m", "delay_per_length": "5 ns/m"},
                {"a": "b", "b": "s:2", "rate": "EDR", "length": "4 m", "delay_per_length": "5 ns/m"}])";
  EXPECT_EQ(least_way(over_switch, 0), std::chrono::nanoseconds(10 + 90 + 10));
  EXPECT_EQ(least_way(over_switch, 1), std::chrono::nanoseconds(20 + 90 + 10));
}

}  // namespace
}  // namespace verbatim::config
