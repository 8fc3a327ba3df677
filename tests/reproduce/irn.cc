// IRN (Mittal et al., SIGCOMM 2018): selective repeat and a window of one BDP against go-back-N, with PFC and
// without.
#include <algorithm>
#include <numeric>

#include "tests/reproduce/random_flows.h"
#include "tests/reproduce/shapes.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

constexpr std::size_t kIrnRadix = 6, kIrnHosts = 54;

double irn_alone_us(const workload::PoissonFlow& flow) {
  constexpr std::size_t kPerLeaf = kIrnRadix / 2, kPerPod = kPerLeaf * kPerLeaf;
  const double links = flow.from / kPerLeaf == flow.to / kPerLeaf ? 2
                       : flow.from / kPerPod == flow.to / kPerPod ? 4
                                                                  : 6;
  return time_alone_us(flow.bytes,
                       {.links = links, .host_ns_per_byte = 0.2, .trunk_ns_per_byte = 0.2, .cable_ns = 2000});
}

// Half of the flows are single packets of small calls, 15 % are of 200 KB to 3 MB.
workload::SizeDistribution heavy_tailed() {
  return workload::SizeDistribution({{32, 0}, {1'000, 500'000}, {200'000, 850'000}, {3'000'000, 1'000'000}});
}

struct IrnTransport {
  bool selective_repeat = false;
  bool pfc = false;
};

Devices irn_devices(const IrnTransport& transport) {
  Json adapter = ns3_adapter();
  adapter["congestion_control"]["controller"]["value"] = "none";
  adapter["congestion_control"]["ecn_capable"]["value"] = false;
  const auto given = [](const Json& value) { return Json{{"value", value}, {"source", "IRN"}}; };
  Json& recovery = adapter["loss_recovery"];
  for (const char* time : {"nak_generation", "nak_reaction", "read_nak_generation", "read_nak_reaction"})
    recovery[time] = given("0 us");
  recovery["selective_repeat"] = given(transport.selective_repeat);
  recovery["log_tx_psn_window"] = given(7);  // 128 packets: a BDP of 120 KB
  // 240 KB an input, independent of other inputs: 1/256 of a large pool. With PFC this includes the headroom.
  const Json sizes = {{"size", transport.pfc ? "53000000 B" : "61440000 B"},
                      {"reserved", "0 B"},
                      {"lossless_alpha_log2", -8},
                      {"lossy_alpha_log2", -8},
                      {"resume_offset", "3 KiB"}};
  Json cable = {{"length", "400 m"},
                {"delay_per_length", "5 ns/m"},
                {"pfc", {{"lossless_priorities", transport.pfc ? "3" : "7"}}}};
  return {.adapter = adapter,
          .changed_switch = changed_profile(
              "hpcc_switch", {{"name", "irn"}, {"shared_memory", sizes}, {"marking", nullptr}}),
          .rate = "40 Gbps",
          .cable = cable,
          .interface_mtu = 1500};
}

struct Means {
  double slowdown = 0, time_us = 0;
};

Means means(const char* name, const IrnTransport& transport) {
  // RTO_high of 320 us: 4.096 us x 2^6 = 262 us.
  const RandomFlows traffic{.name = std::string("IRN's fat tree of 54 hosts, ") + name,
                            .hosts = kIrnHosts,
                            .bits_per_second = 40'000'000'000,
                            .load = 700'000,
                            .time = 10 * kMillisecond,
                            .sizes = heavy_tailed(),
                            .alone_us = irn_alone_us,
                            .timeout = 6};
  const RandomRun run = run_random_flows(fat_tree(kIrnRadix, irn_devices(transport)), traffic);
  const auto mean = [&](double FlowSlowdown::*value) {
    double sum = 0;
    for (const FlowSlowdown& flow : run.flows) sum += flow.*value;
    return sum / static_cast<double>(run.flows.size());
  };
  if (run.flows.size() != run.cost.flows)
    std::fprintf(stderr, "reproduce: %s: %zu of %zu flows have failed\n", traffic.name.c_str(),
                 run.cost.flows - run.flows.size(), run.cost.flows);
  return {mean(&FlowSlowdown::slowdown), mean(&FlowSlowdown::time_us)};
}

}  // namespace

Simulated measure_irn(const Wanted&) {
  const Means irn = means("selective repeat", {.selective_repeat = true});
  const Means roce_with_pfc = means("go-back-N, PFC", {.pfc = true});
  const Means roce = means("go-back-N", {});
  const Means irn_with_pfc = means("selective repeat, PFC", {.selective_repeat = true, .pfc = true});
  return {{"slowdown.roce_with_pfc_to_irn", roce_with_pfc.slowdown / irn.slowdown},
          {"time.roce_with_pfc_to_irn", roce_with_pfc.time_us / irn.time_us},
          {"time.irn_with_pfc_to_irn", irn_with_pfc.time_us / irn.time_us},
          {"time.roce_to_roce_with_pfc", roce.time_us / roce_with_pfc.time_us}};
}

}  // namespace verbatim::reproduce
