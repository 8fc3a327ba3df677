// Flows over several equal paths: by flow hash, by flowlets, and by packet.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/config/flows.h"
#include "sim/config/simulation.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

// Names that other tests have, too.
namespace multipath {

constexpr int kHosts = 8;  // four at each of two leaves, which four spines join

struct Outcome {
  double slowest_us = 0, fastest_us = 0;
  std::map<std::uint64_t, std::uint64_t> retransmissions;  // by cause
  std::uint64_t drops = 0;
  std::uint64_t writes = 0;  // packets of WRITEs that left a port
};

struct Seen final : TraceSink {
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    if (record.event == TraceEvent::kRetransmission) ++outcome.retransmissions[record.values[2]];
    if (record.event == TraceEvent::kPacketDropped) ++outcome.drops;
    if (record.event != TraceEvent::kPacketTransmitted) return;
    const ib::Operation operation = ib::operation_of(static_cast<ib::Opcode>(record.values[0]));
    outcome.writes += operation >= ib::Operation::kWriteFirst && operation <= ib::Operation::kWriteOnly ? 1 : 0;
  }
  Outcome outcome;
};

// Each host of the first leaf writes 4 MiB to one of the second.
Outcome run(const std::string& hca, const std::string& balancing, std::uint64_t seed = 1, const std::string& faults = "[]") {
  Folder folder;
  for (const std::string endpoint : {"full", "light"}) {
    const std::string begin = R"({"profile": "hca", "name": "nic", "endpoint": ")" + endpoint + R"(", "loss_recovery": )";
    folder.write(endpoint + ".json", begin + R"({"gap_time": "100 us"}})");
    folder.write(endpoint + "_selective.json", begin + R"({"selective_repeat": true}})");
  }
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", "interface_mtu": 9000, "load_balancing": )" + balancing +
                             R"(, "generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 4, "spines": 4,
                             "rate": "100 Gbps", "hca": ")" + hca + R"("}})");
  std::string flows;
  for (int from = 0; from < kHosts / 2; ++from) {
    flows += R"({"from": "h)" + std::to_string(from) + R"(", "to": "h)" + std::to_string(from + kHosts / 2) +
             R"(", "bytes": "4 MiB", "message_size": "1 MiB"})" + (from + 1 < kHosts / 2 ? ", " : "");
  }
  Diagnostics diagnostics;
  const std::string text = R"({"name": "s", "topology": "t.json", "faults": )" + faults + R"(, "flows": [)" + flows + "]}";
  const auto spec = load_scenario(folder.write("s.json", text), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  if (!spec) return {};
  DefaultChoices choices;
  Simulation simulation(spec->topology, seed, choices);
  Seen seen;
  simulation.tracer().add(seen);
  simulation.add_faults(spec->faults);
  workload::Workload workload;
  add_traffic(simulation, spec->traffic, workload);
  simulation.engine().run();
  seen.outcome.fastest_us = 1e9;
  for (const workload::Flow& flow : workload.flows()) {
    EXPECT_TRUE(flow.is_done() && flow.status() == ib::WcStatus::kSuccess);
    const double end = static_cast<double>(to_ps(flow.finish())) * 1e-6;
    seen.outcome.slowest_us = std::max(seen.outcome.slowest_us, end);
    seen.outcome.fastest_us = std::min(seen.outcome.fastest_us, end);
  }
  return seen.outcome;
}

constexpr char kFlow[] = R"({"by": "flow"})", kPacket[] = R"({"by": "packet"})";
constexpr char kChance[] = R"({"by": "packet", "grade": "0 B"})";

constexpr char kLoss[] =
    R"([{"action": "drop", "from": "h0", "opcode": "RDMA Write Middle", "nth": 50, "every": 100, "count": 0}])";

// 4 MiB in packets of 4,096 bytes and 94 of headers and gaps, at 100 Gb/s: 343 us.
constexpr double kAlone = 343;

TEST(Multipath, packets_on_ways_of_their_own_give_each_flow_its_whole_rate_and_hashes_do_not) {
  for (const char* const hca : {"full", "light"}) {
    double worst = 0;
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      worst = std::max(worst, run(hca, kFlow, seed).slowest_us);
      const Outcome sprayed = run(hca, kPacket, seed);
      EXPECT_LT(sprayed.slowest_us, kAlone * 1.1) << hca << " " << seed;
      EXPECT_TRUE(sprayed.retransmissions.empty()) << hca << " " << seed;
    }
    EXPECT_GT(worst, kAlone * 1.8) << hca << ": two flows met on one cable";
  }
}

TEST(Multipath, chance_alone_balances_less_well_and_keeps_the_order_all_the_same) {
  const Outcome chance = run("light", kChance);
  EXPECT_TRUE(chance.retransmissions.empty());
  EXPECT_LT(chance.slowest_us, kAlone * 1.5);
}

TEST(Multipath, an_adapter_that_takes_packets_in_order_alone_keeps_the_ways_of_flows) {
  Folder folder;
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", R"({"name": "t", "link_layer": "roce",
      "load_balancing": {"by": "packet"}, "generate": {"shape": "star", "hosts": 2, "rate": "100 Gbps", "hca": "edr_hca"}})"),
                                      with_profiles(), diagnostics);
  EXPECT_FALSE(topology.has_value());
  EXPECT_NE(text_of(diagnostics).find("/load_balancing/by: no adapter here can put packets into order"), std::string::npos)
      << text_of(diagnostics);
}

TEST(Multipath, what_is_lost_is_asked_for_again_when_the_gap_is_old) {
  for (const char* const hca : {"full", "light"}) {
    Outcome lossy = run(hca, kPacket, 1, kLoss);
    EXPECT_GT(lossy.drops, 0u) << hca;
    EXPECT_GT(lossy.retransmissions[2], 0u) << hca << ": by a NAK";
  }
}

// Each packet that takes the dead cable is lost, until the port leaves its group after 10 ms.
TEST(Multipath, packets_leave_out_a_port_whose_link_is_down) {
  constexpr char kDown[] = R"([{"action": "link_down", "link": "leaf0:5", "at": "20 us"}])";
  for (const char* const hca : {"full", "light"}) {
    const Outcome outcome = run(hca, kPacket, 1, kDown);
    EXPECT_GT(outcome.drops, 0u) << hca;
    EXPECT_GT(outcome.slowest_us, 10'000) << hca;
    EXPECT_LT(outcome.slowest_us, 1'000'000) << hca;
  }
}

TEST(Multipath, selective_repeat_sends_less_again_at_whole_adapters_and_at_light_ones) {
  // Two cables to the spines and one to each host: a packet leaves four ports. 1,024 packets of each of four flows, and what
  // is lost once.
  constexpr std::uint64_t kHops = 4, kPackets = 4 * 1024;
  const std::uint64_t all = run("full", kFlow, 1, kLoss).writes;
  for (const char* const hca : {"full_selective", "light_selective"}) {
    const Outcome selective = run(hca, kFlow, 1, kLoss);
    EXPECT_EQ(selective.drops, 10u) << hca;
    EXPECT_EQ(selective.writes, kHops * kPackets + selective.drops) << hca << ": each lost packet has left one port";
    EXPECT_LT(selective.writes, all) << hca;
  }
}

TEST(Multipath, the_same_seed_gives_the_same_times_and_another_seed_others) {
  EXPECT_EQ(run("light", kPacket, 5).slowest_us, run("light", kPacket, 5).slowest_us);
  EXPECT_NE(run("light", kChance, 5).slowest_us, run("light", kChance, 6).slowest_us);
}

}  // namespace multipath

}  // namespace
}  // namespace verbatim::config
