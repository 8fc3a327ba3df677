// Four hosts send to one, with and without `timely` at the senders: the queue before the receiver, and
// utilisation of its link.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/config/flows.h"
#include "sim/config/simulation.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

// A namespace of its own, because other test files of the executable have the same names.
namespace timely {

struct Outcome {
  double slowest_us = 0;
  std::uint64_t pauses = 0, rates = 0;
};

struct Seen final : TraceSink {
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    outcome.pauses += record.event == TraceEvent::kPauseFrame && record.values[1] != 0 ? 1 : 0;
    outcome.rates += record.event == TraceEvent::kRate ? 1 : 0;
  }
  Outcome outcome;
};

Outcome incast(const std::string& controller, const std::string& endpoint, int senders) {
  Folder folder;
  folder.write("nic.json", R"({"profile": "hca", "name": "nic", "endpoint": ")" + endpoint +
                               R"(", "congestion_control": {"controller": ")" + controller + R"("}})");
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", "interface_mtu": 9000, "generate": {"shape": "star", "hosts": 5,
                             "rate": "100 Gbps", "hca": "nic", "switch": "hpcc_switch"}})");
  std::string flows;
  for (int from = 1; from <= senders; ++from) {
    flows += R"({"from": "h)" + std::to_string(from) + R"(", "to": "h0", "bytes": "16 MiB", "message_size": "64 KiB"})" +
             (from < senders ? ", " : "");
  }
  Diagnostics diagnostics;
  const auto spec = load_scenario(folder.write("s.json", R"({"name": "s", "topology": "t.json", "flows": [)" + flows + "]}"),
                                  with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  if (!spec) return {};
  DefaultChoices choices;
  Simulation simulation(spec->topology, 1, choices);
  Seen seen;
  simulation.tracer().add(seen);
  workload::Workload workload;
  add_traffic(simulation, spec->traffic, workload);
  simulation.engine().run();
  for (const workload::Flow& flow : workload.flows()) {
    EXPECT_TRUE(flow.is_done() && flow.status() == ib::WcStatus::kSuccess);
    seen.outcome.slowest_us = std::max(seen.outcome.slowest_us, static_cast<double>(to_ps(flow.finish())) * 1e-6);
  }
  return seen.outcome;
}

// 64 MiB at 100 Gb/s, with 94 bytes of headers and gaps for 4,096: 5.49 ms.
constexpr double kAlone = 5'492;

TEST(Timely, an_incast_pauses_less_and_uses_most_of_the_line) {
  for (const char* const endpoint : {"full", "light"}) {
    const Outcome without = incast("none", endpoint, 4), with = incast("timely", endpoint, 4);
    EXPECT_EQ(without.rates, 0u);
    EXPECT_GT(with.rates, 100u) << endpoint;
    EXPECT_LT(without.slowest_us, kAlone * 1.02) << endpoint;
    EXPECT_LT(with.slowest_us, kAlone * 1.5) << endpoint;
    EXPECT_LT(with.pauses, without.pauses / 2) << endpoint;
  }
}

TEST(Timely, a_flow_alone_keeps_the_rate_of_the_line) {
  for (const char* const endpoint : {"full", "light"}) {
    EXPECT_EQ(incast("timely", endpoint, 1).rates, 0u) << endpoint;
    EXPECT_EQ(incast("timely", endpoint, 1).slowest_us, incast("none", endpoint, 1).slowest_us) << endpoint;
  }
}

}  // namespace timely

}  // namespace
}  // namespace verbatim::config
