// Set-up of three-tier fat trees: CPU time and memory of reading and checking, of routes by each routing
// engine, and of the whole simulation. For each engine also the balance: the most paths between adapters on
// any direction of a cable between switches, divided by the mean. Nothing is asserted; goal for k = 36
// (11,664 hosts): 5 s and 1 GB. Arguments: values of k, default 8, 16, 36.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/cabling.h"
#include "sim/config/device_limits.h"
#include "sim/config/load.h"
#include "sim/config/simulation.h"

namespace {

using namespace verbatim;
using namespace verbatim::config;

std::size_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// CPU seconds and megabytes of the heap since it was made.
class Meter {
 public:
  std::string text() const {
    char line[64];
    std::snprintf(line, sizeof(line), "%6.2f s %7.1f MB", static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC,
                  (static_cast<double>(heap_bytes()) - static_cast<double>(before_)) / 1e6);
    return line;
  }

 private:
  const std::clock_t start_ = std::clock();
  const std::size_t before_ = heap_bytes();
};

std::optional<TopologySpec> fat_tree(std::uint64_t k, bool roce) {
  const std::string path = "fat_tree.json";
  FileTexts files;
  files.texts[path] = R"({"name": "fat_tree", "link_layer": ")" + std::string(roce ? "roce" : "infiniband") +
                      R"(", "generate": {"shape": "fat_tree", "rate": "100 Gbps", "hosts": )" + std::to_string(k * k * k / 4) + "}}";
  LoadOptions options{{VERBATIM_SOURCE_DIR "/topologies/profiles"}};
  options.files = &files;
  Diagnostics diagnostics;
  return load_topology(path, options, diagnostics);
}

// Paths between adapters on the most loaded output to a switch, over the mean.
double balance_of(const TopologySpec& topology, const subnet::Plan& plan) {
  const CableIndex cables(topology);
  const std::size_t adapters = topology.adapters.size();
  std::vector<std::vector<std::uint64_t>> loads(topology.switches.size());
  for (std::size_t s = 0; s < loads.size(); ++s) loads[s].assign(topology.switches[s].ports + 1, 0);
  std::vector<std::uint64_t> entering(topology.switches.size(), 0);
  for (std::size_t i = 0; i < adapters; ++i) ++entering[cables.far_end({false, i, 1})->node];
  for (std::size_t to = 0; to < adapters; ++to) {
    const std::uint16_t lid = plan.nodes[to].ports[0].lid.value;
    for (std::size_t from = 0; from < entering.size(); ++from) {
      for (std::size_t at = from; entering[from] != 0;) {
        const std::uint32_t port = plan.nodes[adapters + at].forwarding_table[lid].value;
        const auto next = cables.far_end({true, at, port});
        if (!next || !next->is_switch) break;
        loads[at][port] += entering[from];
        at = next->node;
      }
    }
  }
  std::uint64_t most = 0, sum = 0, count = 0;
  for (const LinkSpec& link : topology.links) {
    if (!link.end_a.is_switch || !link.end_b.is_switch) continue;
    for (const Endpoint& end : {link.end_a, link.end_b}) {
      most = std::max(most, loads[end.node][end.port]);
      sum += loads[end.node][end.port];
      ++count;
    }
  }
  return sum == 0 ? 0 : static_cast<double>(most) * static_cast<double>(count) / static_cast<double>(sum);
}

void measure_engines(std::uint64_t k, TopologySpec topology) {
  for (const subnet::EngineName& one : subnet::kEngineNames) {
    if (one.engine == subnet::Engine::kTorus2Qos || one.engine == subnet::Engine::kFile) continue;
    topology.routing.engines = {one.engine};
    const Meter meter;
    const subnet::Plan plan = plan_of(topology);
    const std::string cost = meter.text();
    std::printf("k=%-3llu %-10s routes of %-24s %s  balance %.3f, layers %u%s\n", static_cast<unsigned long long>(k), "infiniband", one.name.data(),
                cost.c_str(), balance_of(topology, plan), plan.layers, plan.engine == one.engine ? "" : ", fell back to minhop");
    std::fflush(stdout);
  }
}

void measure(std::uint64_t k, bool roce) {
  const auto print = [&](const char* part, const Meter& meter) {
    std::printf("k=%-3llu %-10s %-34s %s\n", static_cast<unsigned long long>(k), roce ? "roce" : "infiniband", part, meter.text().c_str());
    std::fflush(stdout);
  };
  const Meter all;
  const auto topology = fat_tree(k, roce);
  if (!topology) std::exit(1);
  print("read and checked", all);
  {
    const Meter meter;
    Diagnostics diagnostics;
    warn_of_device_limits(*topology, diagnostics);
    print("warnings (credit loops)", meter);
  }
  {
    const Meter meter;
    DefaultChoices choices;
    const Simulation simulation(*topology, 1, choices);
    print("simulation, with routes", meter);
    print("all", all);
  }
  const Meter meter;
  const subnet::Plan plan = plan_of(*topology);
  print("once more addresses and routes", meter);
  if (!roce) measure_engines(k, *topology);
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::uint64_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(std::strtoull(words[i], nullptr, 10));
  if (sizes.empty()) sizes = {8, 16, 36};
  for (const std::uint64_t k : sizes) {
    for (const bool roce : {false, true}) measure(k, roce);
  }
  return 0;
}
