#include "tools/verbatim/completion_times.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace verbatim::cli {

void write_completion_times(std::FILE* file, const config::ScenarioSpec& scenario,
                            std::span<const FlowFigures> figures) {
  constexpr std::uint32_t kFirstPort = 10'000, kPorts = 65'536 - kFirstPort;
  constexpr std::uint16_t kUsualPort = 100;
  constexpr std::int64_t kPsPerNs = 1'000;
  const std::vector<workload::FlowPlan>& flows = scenario.traffic.flows;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> used;
  std::vector<std::uint32_t> ports, finished;
  for (std::uint32_t i = 0; i < figures.size(); ++i) {
    ports.push_back(kFirstPort + used[{flows[i].from, flows[i].to}]++ % kPorts);
    if (slowdown_of(figures[i])) finished.push_back(i);
  }
  std::ranges::stable_sort(finished, {}, [&](std::uint32_t i) { return figures[i].finish; });
  const auto address = [&](std::uint32_t adapter) { return scenario.topology.interface_of(adapter).address; };
  for (const std::uint32_t i : finished) {
    const workload::FlowPlan& flow = flows[i];
    const FlowFigures& of = figures[i];
    std::fprintf(
        file, "%08" PRIx32 " %08" PRIx32 " %" PRIu32 " %u %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
        address(flow.from), address(flow.to), ports[i], unsigned{flow.port != 0 ? flow.port : kUsualPort},
        flow.bytes, to_ps(of.start) / kPsPerNs, (of.finish - of.start).count() / kPsPerNs,
        of.ideal.count() / kPsPerNs);
  }
}

}  // namespace verbatim::cli
