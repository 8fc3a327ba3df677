#include "tools/verbatim/memory_estimate.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "sim/core/words.h"

namespace verbatim::cli {

namespace {

// Measured with massif on leaf-spine fabrics of 200 to 4,000 hosts: an idle adapter with its port, management
// agents and names; its rings and packets under traffic; a switch port; a queue pair of a flow with its table
// entry. Light endpoints were measured by the resident size of runs with fat trees of 1,024 and 11,664 hosts.
constexpr std::uint64_t kAdapterBytes = 24 << 10, kTrafficBytes = 24 << 10, kSwitchPortBytes = 5 << 9, kQueuePairBytes = 2 << 10;
constexpr std::uint64_t kLightAdapterBytes = 10 << 10, kLightTrafficBytes = 8 << 10;
// Proportional set size of ibv_rc_pingpong and the simulator's side of a process, rounded up.
constexpr std::uint64_t kProgramBytes = 1 << 20;
// Memory of observe::RemoteRaces and observe::LateReceives for each pair of hosts.
constexpr std::uint64_t kRemoteRaceBytes = 4, kLateReceiveBytes = 8;

std::string mib(std::uint64_t bytes) {
  constexpr std::uint64_t kMib = 1 << 20;
  return join((bytes + kMib - 1) / kMib, " MiB");
}

// The number in a file, or after a key in it; the greatest number if there is none.
std::uint64_t number_in(const char* path, const std::string& key = "") {
  std::ifstream file(path);
  std::string word;
  while (!key.empty() && file >> word && word != key) {
  }
  std::uint64_t number = 0;
  return file >> number ? number : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

MemoryEstimate estimate_memory(const config::ScenarioSpec& scenario, const CheckLevels& checks) {
  const config::TopologySpec& topology = scenario.topology;
  MemoryEstimate estimate;
  estimate.hosts = topology.hosts.size();
  const auto is_light = [&](std::size_t adapter) { return topology.hca_profile(topology.adapters[adapter]).is_light(); };
  for (std::size_t i = 0; i < topology.adapters.size(); ++i)
    estimate.model_bytes += is_light(i) ? kLightAdapterBytes : kAdapterBytes;
  for (const config::SwitchSpec& one : topology.switches) estimate.model_bytes += one.ports * kSwitchPortBytes;
  std::vector<bool> has_traffic(topology.adapters.size());
  for (const workload::FlowPlan& flow : scenario.traffic.flows) {
    has_traffic.at(flow.from) = has_traffic.at(flow.to) = true;
    estimate.model_bytes += 2 * scenario.traffic.kinds[flow.kind].queue_pairs * kQueuePairBytes;
  }
  for (const config::WorkloadSpec& one : scenario.workloads) {
    for (std::size_t i = 0; i < one.member_queue_pairs.size(); ++i) {
      has_traffic.at(one.members[i]) = true;
      estimate.model_bytes += one.member_queue_pairs[i] * kQueuePairBytes;
    }
  }
  for (const config::ProgramSpec& program : scenario.programs) has_traffic.at(program.host_index) = true;
  for (std::size_t i = 0; i < has_traffic.size(); ++i) {
    if (has_traffic[i]) estimate.model_bytes += is_light(i) ? kLightTrafficBytes : kTrafficBytes;
  }
  estimate.program_bytes = scenario.programs.size() * kProgramBytes;
  // Without programs the checks do not run.
  constexpr std::size_t kFewHosts = 2;
  if (scenario.programs.empty() || topology.hosts.size() <= kFewHosts) return estimate;
  const std::uint64_t pairs = estimate.hosts * estimate.hosts;
  if (checks.of("remote-race") != CheckLevel::kOff) estimate.check_bytes += pairs * kRemoteRaceBytes;
  if (checks.of("late-receive") != CheckLevel::kOff) estimate.check_bytes += pairs * kLateReceiveBytes;
  return estimate;
}

std::uint64_t available_memory() {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t least = number_in("/proc/meminfo", "MemAvailable:");
  if (least != kNone) least *= 1024;
  const std::uint64_t most = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (most != kNone && used != kNone) least = std::min(least, most - std::min(most, used));
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
    least = std::min<std::uint64_t>(least, limit.rlim_max);
  return least;
}

std::string lacking_memory(const MemoryEstimate& estimate, std::uint64_t available) {
  if (estimate.total() <= available) return "";
  std::string text = join("this run needs at least ", mib(estimate.total()), " of memory: ", estimate.hosts, " hosts × ",
                          (estimate.model_bytes / std::max<std::uint64_t>(estimate.hosts, 1) + 1023) / 1024,
                          " KiB for adapters, switches and flows");
  if (estimate.check_bytes != 0) {
    text += join(", and ", mib(estimate.check_bytes), " for the checks remote-race and late-receive, ", estimate.hosts, " × ",
                 estimate.hosts, " hosts");
  }
  if (estimate.program_bytes != 0) text += join(", and ", mib(estimate.program_bytes), " for programs");
  text += join("; ", mib(available), " are available");
  if (estimate.check_bytes != 0 && estimate.total() - estimate.check_bytes <= available)
    return text + "; turn these checks off with --check remote-race=off --check late-receive=off";
  return text + "; run with fewer hosts" + (estimate.program_bytes != 0 ? ", or with flows instead of programs" : "");
}

}  // namespace verbatim::cli
