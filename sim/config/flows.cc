#include "sim/config/flows.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/ib/partition.h"
#include "sim/workload/freedom.h"

namespace verbatim::config {

namespace {

// The greatest number of outstanding READs that both adapters allow.
std::uint8_t reads_under_way(const hca::HcaProfile& a, const hca::HcaProfile& b) {
  constexpr std::uint32_t kMost = 255;
  return static_cast<std::uint8_t>(
      std::min({a.max_qp_init_rd_atom, a.max_qp_rd_atom, b.max_qp_init_rd_atom, b.max_qp_rd_atom, kMost}));
}

hca::SourcePath path_to(const Simulation& simulation, const hca::Endpoint& from, const hca::Endpoint& to,
                        const workload::FlowKind& kind, bool sends_data) {
  hca::SourcePath path;
  const hca::PortAddress &here = from.address(), &there = to.address();
  path.mtu = path_mtu(from, to);
  path.timeout = kind.timeout;
  if (kind.operation == hca::SourceWork::Operation::kRead) path.reads = reads_under_way(from.profile(), to.profile());
  path.address.port = 1;
  path.address.service_level = kind.service_level == workload::FlowKind::kOfPath
                                   ? simulation.level_of(here.lid, there.lid)
                                   : static_cast<std::uint8_t>(kind.service_level);
  if (here.roce) {
    // Uses the GID of the interface's IPv4 address, as programs do that connect by address.
    constexpr std::uint8_t kIpv4Entry = 1, kHopLimit = 64;
    path.address.is_global = 1;
    path.address.sgid_index = kIpv4Entry;
    path.address.hop_limit = kHopLimit;
    const bool is_separate = !sends_data && kind.acknowledgement_traffic_class != workload::FlowKind::kAsData;
    path.address.traffic_class =
        static_cast<std::uint8_t>(is_separate ? kind.acknowledgement_traffic_class : kind.traffic_class);
    std::memcpy(path.address.dgid, there.gids.at(kIpv4Entry).raw, sizeof path.address.dgid);
  } else {
    path.address.dlid = there.lid.value;
  }
  for (std::size_t i = 0; i < here.pkeys.size(); ++i) {
    const auto matches = [own = here.pkeys[i]](std::uint16_t pkey) { return ib::do_pkeys_match(own, pkey); };
    if (!std::ranges::any_of(there.pkeys, matches)) continue;
    path.pkey_index = static_cast<std::uint16_t>(i);
    break;
  }
  return path;
}

// Paths of a flow whose requests are posted at `poster`.
workload::FlowPaths flow_paths(const Simulation& simulation, const hca::Endpoint& poster, const hca::Endpoint& peer,
                               const workload::FlowKind& kind) {
  const bool is_read = kind.operation == hca::SourceWork::Operation::kRead;
  return {path_to(simulation, poster, peer, kind, !is_read), path_to(simulation, peer, poster, kind, is_read)};
}

// Indices of the flows, sorted by content.
std::vector<std::size_t> content_order(const workload::Traffic& traffic) {
  std::vector<std::size_t> order(traffic.flows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto of_kind = [](const workload::FlowKind& k) {
    return std::tie(k.name, k.operation, k.message_bytes, k.queue_pairs, k.depth, k.service_level,
                    k.traffic_class, k.acknowledgement_traffic_class, k.timeout, k.on, k.off, k.is_background);
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const workload::FlowPlan &x = traffic.flows[a], &y = traffic.flows[b];
    const auto first_of = [](const workload::FlowPlan& flow) {
      return std::tie(flow.start, flow.from, flow.to, flow.bytes, flow.port);
    };
    if (first_of(x) != first_of(y)) return first_of(x) < first_of(y);
    return x.kind != y.kind && of_kind(traffic.kinds[x.kind]) < of_kind(traffic.kinds[y.kind]);
  });
  return order;
}

// Start delays of background traffic, chosen once for each sending adapter.
class BackgroundPhases {
 public:
  explicit BackgroundPhases(Simulation& simulation) : simulation_(simulation) {}
  Duration of(std::uint32_t adapter) {
    Choices& choices = simulation_.choices();
    if (!choices.is_free()) return Duration(0);
    const auto [entry, is_new] = chosen_.try_emplace(adapter);
    if (is_new) entry->second = workload::freedom::kBackgroundPhase.choose(choices, simulation_.adapter_component(adapter));
    return entry->second;
  }

 private:
  Simulation& simulation_;
  std::map<std::uint32_t, Duration> chosen_;  // by adapter
};

}  // namespace

std::uint32_t path_mtu(const hca::Endpoint& from, const hca::Endpoint& to) {
  return std::min(from.address().active_mtu(from.profile().max_mtu), to.address().active_mtu(to.profile().max_mtu));
}

std::vector<const workload::Flow*> add_traffic(Simulation& simulation, const workload::Traffic& traffic,
                                               workload::Workload& workload) {
  std::vector<workload::Trigger*> triggers;
  for (const workload::TriggerPlan& trigger : traffic.triggers)
    triggers.push_back(&workload.add_trigger(trigger));
  const auto trigger_of = [&](std::uint32_t index) {
    return index == workload::FlowPlan::kNone ? nullptr : triggers[index];
  };
  std::vector<workload::Flow*> added(traffic.flows.size());
  BackgroundPhases phases(simulation);
  for (const std::size_t index : content_order(traffic)) {
    const workload::FlowPlan& plan = traffic.flows[index];
    const workload::FlowKind& kind = traffic.kinds[plan.kind];
    const bool is_read = kind.operation == hca::SourceWork::Operation::kRead;
    hca::Endpoint& poster = simulation.endpoint(is_read ? plan.to : plan.from);
    hca::Endpoint& peer = simulation.endpoint(is_read ? plan.from : plan.to);
    workload::FlowParams params;
    params.bytes = plan.bytes;
    const bool is_triggered = plan.trigger != workload::FlowPlan::kNone;
    params.start = is_triggered ? kNever : instant_from_ps(plan.start.count());
    params.delay = is_triggered ? plan.start : Duration(0);
    params.message_bytes = kind.message_bytes;
    params.queue_pairs = kind.queue_pairs;
    params.depth = kind.depth;
    params.operation = kind.operation;
    params.on = kind.on;
    params.off = kind.off;
    params.is_background = traffic.is_background(plan);
    if (params.is_background && !is_triggered) params.start += phases.of(plan.from);
    params.on_sent = trigger_of(plan.on_sent);
    params.on_received = trigger_of(plan.on_received);
    added[index] =
        &workload.add(simulation.engine(), poster, peer,
                      flow_paths(simulation, poster, peer, kind), params);
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (workload::Trigger* const trigger = trigger_of(traffic.flows[i].trigger)) trigger->add(*added[i]);
  }
  return {added.begin(), added.end()};
}

std::vector<const workload::PoissonLoad*> add_loads(Simulation& simulation, const workload::Traffic& traffic,
                                                    workload::Workload& workload) {
  std::vector<const workload::PoissonLoad*> loads;
  if (traffic.loads.empty()) return loads;
  BackgroundPhases phases(simulation);
  std::vector<hca::Endpoint*> places;
  for (std::size_t i = 0; i < simulation.topology().adapters.size(); ++i) places.push_back(&simulation.endpoint(i));
  for (const workload::LoadPlan& plan : traffic.loads) {
    const workload::FlowKind& kind = traffic.kinds[plan.kind];
    const auto paths = [&simulation, &kind](std::uint32_t poster, std::uint32_t peer) {
      return flow_paths(simulation, simulation.endpoint(poster), simulation.endpoint(peer), kind);
    };
    std::vector<Duration> of_members;
    for (const std::uint32_t member : plan.members) of_members.push_back(phases.of(member));
    loads.push_back(&workload.add_load(simulation.engine(), plan, kind, places, paths, of_members));
  }
  return loads;
}

std::vector<const workload::GraphRun*> add_graphs(Simulation& simulation, const std::vector<DrawnGraph>& graphs,
                                                  workload::Workload& workload) {
  constexpr std::uint64_t kEagerBytesOfMpi = 65'535;
  std::vector<const workload::GraphRun*> runs;
  for (const DrawnGraph& drawn : graphs) {
    const WorkloadSpec& spec = *drawn.spec;
    workload::FlowKind kind;
    kind.service_level = spec.service_level;
    kind.traffic_class = spec.traffic_class;
    std::vector<hca::Endpoint*> places;
    for (const std::uint32_t adapter : drawn.adapters) places.push_back(&simulation.endpoint(adapter));
    workload::GraphRunParams params;
    params.start = instant_from_ps(spec.start.count());
    // As in LogGOPSim, an eager send completes at once because its data is buffered.
    params.sends_are_buffered = spec.is_goal;
    if (spec.is_goal) params.eager_bytes = kEagerBytesOfMpi;
    if (spec.eager_size != WorkloadSpec::kNotGiven) params.eager_bytes = static_cast<std::uint64_t>(spec.eager_size);
    using Operation = hca::SourceWork::Operation;
    params.operation = spec.operation == "send" ? Operation::kSend : Operation::kWrite;
    const auto paths = [&](std::uint32_t from, std::uint32_t to) {
      return flow_paths(simulation, *places[from], *places[to], kind);
    };
    runs.push_back(&workload.add_graph(simulation.engine(), drawn.graph, places, paths, params));
  }
  return runs;
}

}  // namespace verbatim::config
