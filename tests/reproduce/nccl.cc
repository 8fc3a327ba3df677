// Collectives as nccl-tests measures them: bus bandwidth of rings and trees of NCCL, between light endpoints.
#include <numeric>

#include "sim/workload/collectives.h"
#include "tests/reproduce/shapes.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

// Members behind one switch at 200 Gb/s, without congestion control.
Shape hosts_at_200g(std::size_t members) {
  Json adapter = ns3_adapter();
  adapter["congestion_control"]["controller"]["value"] = "none";
  adapter["congestion_control"]["ecn_capable"]["value"] = false;
  adapter["link_rate_max"] = {{"value", "HDR 4x"}, {"source", "tests/reproduce"}};
  return star(members, {.adapter = adapter, .rate = "200 Gbps"});
}

// In GB/s; 0 if it has not finished.
double bus_bandwidth(std::uint32_t members, const workload::CollectiveParams& params) {
  std::vector<std::uint32_t> ranks(members);
  std::iota(ranks.begin(), ranks.end(), 0u);
  workload::MessageGraph graph(members);
  workload::Team team(ranks);
  const workload::Collective collective = append_collective(graph, team, params);
  graph.seal();
  Fabric fabric(hosts_at_200g(members));
  config::WorkloadSpec spec;
  spec.traffic_class = kPriority3;
  const config::DrawnGraph drawn{
      &spec, std::make_shared<const workload::MessageGraph>(std::move(graph)), {collective}, ranks};
  const workload::GraphRun& run = fabric.add(drawn);
  fabric.run();
  if (!run.is_complete()) return 0;
  return static_cast<double>(workload::bandwidth_of(collective, run.finish() - run.params().start)->bus) /
         1e9;
}

}  // namespace

Simulated measure_nccl(const Wanted& wanted) {
  using workload::Algorithm, workload::Pattern;
  constexpr std::uint64_t kMib = 1 << 20, kGib = 1 << 30;
  Simulated simulated;
  const auto add = [&](const std::string& key, std::uint32_t members,
                       const workload::CollectiveParams& params) {
    if (wanted.contains(key)) simulated[key] = bus_bandwidth(members, params);
  };
  for (const std::uint32_t members : {4u, 8u, 16u}) {
    const std::string of = std::to_string(members);
    add("ring." + of, members, {.algorithm = Algorithm::kNcclRing, .bytes = 256 * kMib, .channels = 2});
    add("tree." + of, members, {.algorithm = Algorithm::kNcclTree, .bytes = 256 * kMib, .channels = 2});
  }
  for (const std::uint64_t size : {1, 2, 4, 8, 16, 32, 64, 128})
    add("alps." + std::to_string(size), 2,
        {.algorithm = Algorithm::kNcclRing, .bytes = size * kMib, .channels = 2});
  for (const std::uint64_t size : {1, 2, 4})
    add("all_gather." + std::to_string(size), 2,
        {.pattern = Pattern::kAllGather, .algorithm = Algorithm::kRing, .bytes = size * kGib});
  return simulated;
}

}  // namespace verbatim::reproduce
