// Set-up of three-tier fat trees: CPU time and memory of reading and checking, of routes alone, and of everything. Printed, not
// asserted; goal for k = 36 (11,664 hosts): 5 s and 1 GB. Arguments: values of k; without any 8, 16, 36.
#include <malloc.h>

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
