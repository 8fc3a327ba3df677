// Two hosts send to one with `swift` and `hpcc`, controllers that have a window: shares, the queue before the
// receiver, bytes used by telemetry.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/config/flows.h"
#include "sim/config/simulation.h"
#include "sim/core/words.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

// A namespace of its own, because other test files of the executable have the same names.
namespace window_control {

struct Outcome {
  double first_us = 1e9, last_us = 0;
  double ratio() const { return last_us / first_us; }
  std::uint64_t pauses = 0, most_queued = 0;
  std::map<std::uint64_t, std::uint64_t> sizes;  // numbers of transmitted packets by wire size
};

struct Seen final : TraceSink {
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    outcome.pauses += record.event == TraceEvent::kPauseFrame && record.values[1] != 0 ? 1 : 0;
    if (record.event == TraceEvent::kPacketTransmitted) ++outcome.sizes[record.values[3]];
  }
  Outcome outcome;
};

// Runs flows over the topology t.json.
Outcome outcome_of(Folder& folder, const std::string& flows, const std::string& faults = "") {
  Diagnostics diagnostics;
  const std::string scenario =
      R"({"name": "s", "topology": "t.json", "flows": [)" + flows + R"(], "faults": [)" + faults + "]}";
  const auto spec = load_scenario(folder.write("s.json", scenario), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  if (!spec) return {};
  DefaultChoices choices;
  Simulation simulation(spec->topology, 1, choices);
  simulation.add_faults(spec->faults);
  Seen seen;
  simulation.tracer().add(seen);
  workload::Workload workload;
  add_traffic(simulation, spec->traffic, workload);
  simulation.engine().run();
  for (const workload::Flow& flow : workload.flows()) {
    EXPECT_TRUE(flow.is_done() && flow.status() == ib::WcStatus::kSuccess);
    const double us = static_cast<double>(to_ps(flow.finish())) * 1e-6;
    seen.outcome.first_us = std::min(seen.outcome.first_us, us);
    seen.outcome.last_us = std::max(seen.outcome.last_us, us);
  }
  for (std::uint8_t lane = 0; lane < 8; ++lane) {
    const fabric::Port& port = simulation.fabric_switch(0).port(fabric::PortNumber{1});
    seen.outcome.most_queued =
        std::max<std::uint64_t>(seen.outcome.most_queued, port.most_queued_bytes(ib::VirtualLane{lane}));
  }
  return seen.outcome;
}

Outcome incast(const std::string& controller, const std::string& endpoint, int senders, const std::string& more = "",
               const std::string& nic = "", const std::string& faults = "") {
  Folder folder;
  folder.write("nic.json", R"({"profile": "hca", "name": "nic", "endpoint": ")" + endpoint + "\"" + nic +
                               R"(, "congestion_control": {"controller": ")" + controller + "\"" + more + "}}");
  folder.write("t.json",
               R"({"name": "t", "link_layer": "roce", "interface_mtu": 9000, "generate": {"shape": "star", "hosts": 3,
                             "rate": "100 Gbps", "hca": "nic", "switch": "hpcc_switch"}})");
  std::string flows;
  for (int from = 1; from <= senders; ++from) {
    flows += R"({"from": "h)" + std::to_string(from) + R"(", "to": "h0", "bytes": "16 MiB", "message_size": "1 MiB"})" +
             (from < senders ? ", " : "");
  }
  return outcome_of(folder, flows, faults);
}

// 32 MiB at 100 Gb/s, with 94 bytes of headers and gaps per 4,096: 2.746 ms; telemetry takes another 1 %.
constexpr double kBoth = 2'746;
// Cables are short, so adapters take most of a round trip. hpcc receives the outputs' records late, and its
// rates oscillate.
struct Setting {
  std::string controller, round_trip;
  double slowest_us;
};
const Setting kSettings[] = {{"hpcc", R"(, "base_round_trip": "4 us")", kBoth * 1.2},
                             {"swift", R"(, "base_round_trip": "6 us")", kBoth * 1.01}};

TEST(WindowControl, two_flows_share_fairly_with_a_short_queue) {
  for (const char* const endpoint : {"full", "light"}) {
    const Outcome without = incast("none", endpoint, 2);
    EXPECT_GT(without.pauses, 0u);
    EXPECT_GT(without.most_queued, 3'000'000u);
    for (const Setting& setting : kSettings) {
      const Outcome with = incast(setting.controller, endpoint, 2, setting.round_trip);
      EXPECT_EQ(with.pauses, 0u) << setting.controller << ' ' << endpoint;
      EXPECT_LT(with.most_queued, 300'000u) << setting.controller << ' ' << endpoint;
      EXPECT_LT(with.last_us, setting.slowest_us) << setting.controller << ' ' << endpoint;
      EXPECT_GT(with.first_us, with.last_us * 0.9) << setting.controller << ' ' << endpoint;
    }
  }
}

// hpcc's target is 95 % of the line rate, of which telemetry takes 1 %.
TEST(WindowControl, a_flow_alone_is_hardly_slower) {
  const double without = incast("none", "light", 1).last_us;
  EXPECT_LT(incast("hpcc", "light", 1, kSettings[0].round_trip).last_us, without * 1.07);
  EXPECT_LT(incast("swift", "light", 1, kSettings[1].round_trip).last_us, without * 1.001);
}

const std::string kHpccInNs3 = R"("hpcc", "base_round_trip": "4656 ns")";

// Flows to one host, in packets of 4,096 bytes; adapters without delay and cables of 1 us.
Outcome as_in_ns3(int senders, const std::string& controller, const std::string& size = "16 MiB") {
  Folder folder;
  std::string stages;
  for (const char* const stage :
       {"doorbell", "wqe_decode", "packetize", "icrc", "receive_check", "acknowledge", "completion"})
    stages += join(", \"", stage, R"(": {"latency_cycles": 0, "interval_cycles": 1})");
  folder.write("nic.json", R"({"profile": "hca", "name": "nic", "endpoint": "light", "core_clock": "10 GHz",
      "output_queue": "1 B", "virtual_lanes": 8, "trust": "dscp",
      "pcie": {"one_way_latency": "0 ns", "memory_read_latency": "0 ns", "memory_write_latency": "0 ns"},
      "congestion_control": {"controller": )" +
                               controller + "}" + stages + "}");
  std::string hosts, links, flows;
  for (int i = 0; i <= senders; ++i) {
    const std::string comma = i == 0 ? "" : ", ", name = "h" + std::to_string(i);
    hosts += join(comma, R"({"name": ")", name, R"(", "hca": "nic.json"})");
    links += join(comma, R"({"a": ")", name, R"(:1", "b": "s0:)", i + 1,
                  R"(", "rate": "100 Gbps", "length": "200 m", "delay_per_length": "5 ns/m",
                      "pfc": {"lossless_priorities": "3"}})");
    if (i == 0) continue;
    flows += join(i == 1 ? "" : ", ", R"({"from": ")", name,
                  R"(", "to": "h0", "bytes": ")", size,
                  R"(", "message_size": ")", size, R"(", "traffic_class": 96})");
  }
  folder.write("t.json", join(R"({"name": "t", "link_layer": "roce", "interface_mtu": 9000, "hosts": [)", hosts,
                              R"(], "switches": [{"name": "s0", "profile": "hpcc_switch", "ports": )", senders + 1,
                              R"(}], "links": [)", links, "]}"));
  return outcome_of(folder, flows);
}

// The slowest flow of HPCC's simulator (9f4be2a9, run.py's `hp` on a star of these links, PACKET_PAYLOAD_SIZE
// 4096), run once. Headers have 38 bytes there and 82 here, a difference of 1 % of a packet. Flows start at
// one instant and are served in another order there, so times of other flows are not compared.
TEST(WindowControl, hpcc_takes_as_long_as_in_its_own_simulator) {
  for (const auto& [senders, us] : {std::pair(1, 1'447.488), std::pair(2, 2'893.885), std::pair(4, 5'808.846)})
    EXPECT_NEAR(as_in_ns3(senders, kHpccInNs3).last_us, us, us * 0.015) << senders;
}

// Eight flows that begin together end at 3.9 to 11.7 ms in HPCC's simulator, too, with its step of 40 Mb/s: nearly all of a
// rate is multiplied, so differences stay. The paper's step, a full window x (1 - target) / flows (3.3, from memory), is
// 625 Mb/s for eight flows at 100 Gb/s; with it they end at 11.0 to 11.3 ms there.
TEST(WindowControl, flows_of_hpcc_are_equal_with_the_step_of_the_paper_and_unequal_with_that_of_its_simulator) {
  const Outcome small = as_in_ns3(8, kHpccInNs3);
  EXPECT_GT(small.ratio(), 2);
  EXPECT_NEAR(small.last_us, 11'712, 11'712 * 0.015);
  const Outcome eight = as_in_ns3(8, kHpccInNs3 + R"(, "rpg_ai_rate": "625 Mbps")");
  EXPECT_LT(eight.ratio(), 1.1);
  EXPECT_NEAR(eight.last_us, 11'347, 11'347 * 0.015);
  EXPECT_LT(as_in_ns3(2, kHpccInNs3 + R"(, "rpg_ai_rate": "2500 Mbps")").ratio(), 1.1);
}

// Both flows go to rpg_min_rate first. They end after 2,743 and 2,806 us in HPCC's simulator (run.py's `timely`), run once;
// without `timely` after 1,373 us.
TEST(WindowControl, timely_takes_as_long_as_in_the_simulator_of_hpcc) {
  const Outcome two = as_in_ns3(2, "\"timely\"", "8 MiB");
  EXPECT_NEAR(two.first_us, 2'743, 2'743 * 0.02);
  EXPECT_NEAR(two.last_us, 2'806, 2'806 * 0.02);
}

// Lost packets leave the window: all flows finish with timeouts and with selective repeat.
TEST(WindowControl, losses_of_packets_and_acknowledgements_shut_no_window) {
  const std::string faults = R"({"action": "drop", "from": "h1", "nth": 50, "every": 97, "count": 0},
      {"action": "drop", "from": "h0", "nth": 33, "every": 151, "count": 0},
      {"action": "duplicate", "from": "h2", "nth": 10, "every": 211, "count": 0})";
  constexpr double kTimeouts = 1'000'000;  // 15 timeouts
  for (const char* const endpoint : {"full", "light"}) {
    for (const char* const repeat : {"false", "true"}) {
      for (const Setting& setting : kSettings) {
        const std::string nic = R"(, "loss_recovery": {"selective_repeat": )" + std::string(repeat) + "}";
        const Outcome with = incast(setting.controller, endpoint, 2, setting.round_trip, nic, faults);
        EXPECT_LT(with.last_us, kTimeouts) << setting.controller << ' ' << endpoint << ' ' << repeat;
      }
    }
  }
}

TEST(WindowControl, telemetry_takes_bytes_of_its_controllers_packets_alone) {
  const auto largest = [](const Outcome& outcome) { return outcome.sizes.rbegin()->first; };
  const auto smallest = [](const Outcome& outcome) { return outcome.sizes.begin()->first; };
  for (const char* const endpoint : {"full", "light"}) {
    const Outcome without = incast("none", endpoint, 1), swift = incast("swift", endpoint, 1),
                  hpcc = incast("hpcc", endpoint, 1);
    EXPECT_EQ(largest(swift), largest(without));
    EXPECT_EQ(smallest(swift), smallest(without));
    EXPECT_EQ(largest(hpcc), largest(without) + 42);
    EXPECT_EQ(smallest(hpcc), smallest(without) + 42) << "acknowledgements bring it back";
  }
}

}  // namespace window_control

}  // namespace
}  // namespace verbatim::config
