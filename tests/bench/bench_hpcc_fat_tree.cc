// HPCC's fat tree of 320 hosts under FbHadoop at 30 % for 10 ms (tests/reproduce, target hpcc_fat_tree): CPU
// time and events, compared to HPCC's simulator with the same flows. Arguments: another distribution of sizes,
// such as "websearch"; another time in ms.
#include <cstdio>
#include <cstdlib>

#include "tests/reproduce/random_flows.h"

int main(int count, char** words) {
  using namespace verbatim::reproduce;
  const std::string sizes = count > 1 ? words[1] : "fb-hadoop";
  RandomFlows flows = hpcc_fat_tree_flows(sizes);
  const int ms = count > 2 ? std::atoi(words[2]) : static_cast<int>(flows.time / kMillisecond);
  flows.time = ms * kMillisecond;
  const RunCost cost = run_random_flows(hpcc_fat_tree(), flows).cost;
  const double hops = static_cast<double>(cost.packet_hops), events = static_cast<double>(cost.events);
  std::printf(
      "%s, 320 hosts, 30 %% for %d ms: %zu flows  run %.1f s  set-up %.1f s  %.2f million packet-hops/CPU-s  %.2f events/packet-hop  "
      "%.2f million events/s  %.1f KB/flow\n",
      sizes.c_str(), ms, cost.flows, cost.run_seconds, cost.set_up_seconds, hops / cost.run_seconds / 1e6,
      events / hops, events / cost.run_seconds / 1e6,
      static_cast<double>(cost.peak_kib) / static_cast<double>(cost.flows));
  // tests/reproduce/README.md has the measurement, of 1 ms.
  constexpr double kHpccSecondsPerMs = 30;
  if (sizes == "fb-hadoop") {
    const double hpcc_seconds = kHpccSecondsPerMs * ms;
    std::printf("HPCC's simulator takes about %.0f s for these flows, %.1f times as long (goal: 20)\n", hpcc_seconds,
                hpcc_seconds / cost.run_seconds);
  }
  return 0;
}
