// ConWeave's leaf-spine fabric of 128 hosts (leaf_spine_128_100G_OS2 of its simulator), lossless, with ECMP
// and with LetFlow.
#include <algorithm>

#include "tests/reproduce/random_flows.h"
#include "tests/reproduce/shapes.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

constexpr std::size_t kConweaveLeaves = 8, kConweaveHostsPerLeaf = 16,
                      kConweaveSpines = 8;  // two hosts for each cable to a spine
constexpr std::size_t kConweaveHosts = kConweaveLeaves * kConweaveHostsPerLeaf;

// As in ConWeave's run.py for 100 Gb/s: rate increases of 40 and 100 Mb/s; no delays for NAKs and their
// handling. CNPs have priority over data, because its acknowledgements, which carry them, have it.
Json conweave_adapter() {
  Json adapter = ns3_adapter();
  for (const auto& [key, value] :
       {std::pair("rpg_ai_rate", "40 Mbps"), std::pair("rpg_hai_rate", "100 Mbps")})
    adapter["congestion_control"][key] = {{"value", value}, {"source", "ConWeave, run.py; read there"}};
  adapter["congestion_control"]["cnp_dscp"]["value"] = 0;
  for (const char* key : {"nak_generation", "nak_reaction"}) adapter["loss_recovery"][key]["value"] = "0 ns";
  return adapter;
}

// As in ConWeave's SwitchMmu: 9 MiB, alpha 1/16 at inputs and 1 at outputs, two packets reserved; marks from
// 100 to 400 KB at 20 %.
Json conweave_switch() {
  const Json curve = {{"priorities", "1-7"},
                      {"kmin", "100000 B"},
                      {"kmax", "400000 B"},
                      {"pmax_percent", 20},
                      {"source", "ConWeave, run.py; read there"}};
  return changed_profile("hpcc_switch", {{"name", "conweave"},
                                         {"shared_memory",
                                          {{"size", "9 MiB"},
                                           {"reserved", "2096 B"},
                                           {"lossless_alpha_log2", -4},
                                           {"output_alpha_log2", 0},
                                           {"resume_offset", "1 B"}}},
                                         {"marking", {{"queues", Json::array({curve})}}}});
}

Shape conweave_leaf_spine() {
  return leaf_spine(
      kConweaveLeaves, kConweaveHostsPerLeaf, kConweaveSpines,
      {.adapter = conweave_adapter(), .changed_switch = conweave_switch(), .interface_mtu = 1500});
}

IdlePath idle_leaf_spine_path(const workload::PoissonFlow& flow) {
  return {.links = flow.from / kConweaveHostsPerLeaf == flow.to / kConweaveHostsPerLeaf ? 2.0 : 4.0,
          .host_ns_per_byte = 0.08,
          .trunk_ns_per_byte = 0.08,
          .cable_ns = 1000};
}

// Acknowledgements have priority 0, which precedes that of data. The load is 25 % of the hosts' rate and 50 % of the
// rate of the cables to spines. The first 5 ms are left out, as in ConWeave's fctAnalysis.py.
RandomFlows conweave_flows(const std::string& name) {
  return {.name = "leaf-spine of 128 hosts, " + name,
          .hosts = kConweaveHosts,
          .bits_per_second = 100'000'000'000,
          .load = 250'000,
          .time = 10 * kMillisecond,
          .sizes = *workload::find_size_distribution("ali-storage"),
          .alone_us =
              [](const workload::PoissonFlow& flow) {
                return time_alone_us(flow.bytes, idle_leaf_spine_path(flow));
              },
          .acknowledgement_class = 0,
          .counted_from = 5 * kMillisecond};
}

}  // namespace

Simulated measure_conweave(const Wanted& wanted) {
  Simulated simulated;
  const auto wants = [&](const std::string& prefix) {
    return std::ranges::any_of(wanted, [&](const std::string& one) { return one.starts_with(prefix); });
  };
  const bool compares = wants("letflow_to_ecmp.");
  if (compares || wants("ecmp."))
    add_slowdowns(simulated, "ecmp", run_random_flows(conweave_leaf_spine(), conweave_flows("ECMP")).flows);
  if (compares || wants("letflow.")) {
    Shape shape = conweave_leaf_spine();
    shape.set("load_balancing", {{"by", "flowlet"}, {"gap", "100 us"}, {"grade", "0 B"}});
    add_slowdowns(simulated, "letflow", run_random_flows(shape, conweave_flows("LetFlow")).flows);
  }
  if (compares)
    for (const std::string of_all : {"all.mean", "all.p99"})
      simulated["letflow_to_ecmp." + of_all] = simulated["letflow." + of_all] / simulated["ecmp." + of_all];
  return simulated;
}

}  // namespace verbatim::reproduce
