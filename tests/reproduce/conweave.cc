// ConWeave's leaf-spine fabric (SIGCOMM 2023; leaf_spine_128_100G_OS2 of its simulator) under flows of
// AliStorage at 50 % of the uplinks: by hash, and with flowlets (LetFlow).
#include <algorithm>

#include "tests/reproduce/random_flows.h"
#include "tests/reproduce/shapes.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

constexpr std::size_t kLeaves = 8, kHostsPerLeaf = 16, kSpines = 8;

// As in hpcc_fat_tree.cc, with links of one rate.
double alone_us(const workload::PoissonFlow& flow) {
  constexpr double kMtu = 1024, kHeaders = 82, kNsPerByte = 0.08, kCableNs = 1000;
  const double links = flow.from / kHostsPerLeaf == flow.to / kHostsPerLeaf ? 2 : 4;
  const auto bytes = static_cast<double>(flow.bytes);
  const double packets = static_cast<double>((flow.bytes + 1023) / 1024);
  return (2 * links * kCableNs + kMtu * links * kNsPerByte + (bytes + packets * kHeaders) * kNsPerByte) /
         1000;
}

Devices devices() {
  Json adapter = ns3_adapter();
  // Its run.py: 10 and 25 Mb/s for each 25 Gb/s of the line.
  adapter["congestion_control"]["rpg_ai_rate"] = {{"value", "40 Mbps"}, {"source", "ConWeave, run.py"}};
  adapter["congestion_control"]["rpg_hai_rate"] = {{"value", "100 Mbps"}, {"source", "ConWeave, run.py"}};
  const Json curve = {{"priorities", "1-7"},
                      {"kmin", "100000 B"},
                      {"kmax", "400000 B"},
                      {"pmax_percent", 20},
                      {"source", "ConWeave, run.py"}};
  const Json conweave_switch =
      changed_profile("hpcc_switch", {{"name", "conweave"},
                                      {"shared_memory", {{"size", "9 MiB"}, {"lossless_alpha_log2", -4}}},
                                      {"marking", {{"queues", Json::array({curve})}}}});
  return {.adapter = adapter, .changed_switch = conweave_switch, .interface_mtu = 1500};
}

}  // namespace

Simulated measure_conweave(const Wanted& wanted) {
  const RandomFlows traffic{.name = "leaf-spine of 128 hosts, AliStorage",
                            .hosts = kLeaves * kHostsPerLeaf,
                            .bits_per_second = 100'000'000'000,
                            .load = 250'000,
                            .time = 5 * kMillisecond,
                            .sizes = *workload::find_size_distribution("ali-storage"),
                            .alone_us = alone_us};
  Simulated simulated;
  for (const std::string key : {"ecmp", "letflow"}) {
    if (std::ranges::none_of(wanted, [&](const std::string& one) { return one.starts_with(key + "."); }))
      continue;
    Shape shape = leaf_spine(kLeaves, kHostsPerLeaf, kSpines, devices());
    // LetFlow takes any output, whatever waits there.
    if (key == "letflow")
      shape.set("load_balancing", {{"by", "flowlet"}, {"gap", "100 us"}, {"grade", "0 B"}});
    add_slowdowns(simulated, key, run_random_flows(shape, traffic).flows);
  }
  return simulated;
}

}  // namespace verbatim::reproduce
