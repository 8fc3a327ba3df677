#include "tools/verbatim/overview_recorder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "sim/core/words.h"
#include "tools/verbatim/fabric/layout.h"

namespace verbatim::cli {

namespace {

constexpr unsigned kFirstShift = 16;  // the first part has 2^16 ps

std::string without_number(std::string name) {
  while (!name.empty() && (name.back() >= '0' && name.back() <= '9')) name.pop_back();
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

// Prefix of a name: "pod3" for "pod3-leaf2"; empty if there is none.
std::string place_of(const std::string& name) {
  const std::size_t dash = name.find('-');
  if (dash == name.npos || dash == 0 || dash + 1 == name.size()) return "";
  return name[dash - 1] >= '0' && name[dash - 1] <= '9' ? name.substr(0, dash) : "";
}

// The fabric's layers with names, and the group of each node.
class FabricParts {
 public:
  explicit FabricParts(const config::TopologySpec& topology) : topology_(topology), layers_(topology) {
    for (std::size_t layer = 0; layer <= layers_.top(); ++layer) tiers.push_back(name_of_layer(layer));
    // Layers with the same name are numbered.
    for (std::size_t layer = 1; layer < tiers.size(); ++layer) {
      if (std::ranges::count(tiers, tiers[layer]) > 1)
        tiers[layer] = "switches of layer " + std::to_string(layer);
    }
    find_pods();
    group_of_.resize(layers_.size());
    for (std::size_t node = topology.adapters.size(); node < layers_.size(); ++node)
      group_of_[node] = number_of(group_name(node));
    std::vector<std::size_t> above(topology.adapters.size(), layers_.size());
    for (const FabricLayers::Cable& cable : layers_.cables()) {
      if (cable.a < above.size() && cable.b >= above.size())
        above[cable.a] = std::min(above[cable.a], cable.b);
    }
    for (std::size_t node = 0; node < above.size(); ++node) {
      const std::string place = place_of(topology.adapters[node].name);
      group_of_[node] = !place.empty() || above[node] == layers_.size()
                            ? number_of(place.empty() ? topology.adapters[node].name : place)
                            : group_of_[above[node]];
    }
  }

  std::uint32_t tier(const config::Endpoint& end) const {
    return static_cast<std::uint32_t>(layers_.layer(node_of(end)));
  }
  std::uint32_t group(const config::Endpoint& end) const { return group_of_[node_of(end)]; }
  std::uint32_t group_of_adapter(std::size_t adapter) const { return group_of_[adapter]; }

  std::vector<std::string> tiers, groups;

 private:
  std::size_t node_of(const config::Endpoint& end) const {
    return end.is_switch ? topology_.adapters.size() + end.node : end.node;
  }
  const std::string& name_of(std::size_t node) const {
    const std::size_t adapters = topology_.adapters.size();
    return node < adapters ? topology_.adapters[node].name : topology_.switches[node - adapters].name;
  }
  // Without pods in the names, pods are switches below the top layer that cables join: pods_ has the first
  // leaf of each node's pod.
  void find_pods() {
    pods_.assign(layers_.size(), layers_.size());
    if (layers_.top() < 3) return;
    std::vector<std::vector<std::size_t>> neighbours(layers_.size());
    for (const FabricLayers::Cable& cable : layers_.cables()) {
      if (layers_.layer(cable.a) == 0 || layers_.layer(cable.b) == layers_.top()) continue;
      neighbours[cable.a].push_back(cable.b);
      neighbours[cable.b].push_back(cable.a);
    }
    for (std::size_t first = topology_.adapters.size(); first < layers_.size(); ++first) {
      if (layers_.layer(first) != 1 || pods_[first] != layers_.size()) continue;
      std::vector<std::size_t> front = {first};
      pods_[first] = first;
      for (std::size_t i = 0; i < front.size(); ++i) {
        for (const std::size_t next : neighbours[front[i]]) {
          if (pods_[next] == layers_.size()) front.push_back(next);
          pods_[next] = first;
        }
      }
    }
  }
  std::string group_name(std::size_t node) const {
    const std::string place = place_of(name_of(node));
    if (place.empty() && pods_[node] != layers_.size()) return "pod of " + name_of(pods_[node]);
    return place.empty() ? name_of(node) : place;
  }
  std::uint32_t number_of(const std::string& name) {
    const auto [known, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(groups.size()));
    if (is_new) groups.push_back(name);
    return known->second;
  }
  std::string name_of_layer(std::size_t layer) const {
    if (layer == 0) return "host";
    std::set<std::string> kinds;
    for (std::size_t node = topology_.adapters.size(); node < layers_.size(); ++node) {
      if (layers_.layer(node) != layer) continue;
      const std::string& name = name_of(node);
      const std::string place = place_of(name);
      std::string kind = without_number(place.empty() ? name : name.substr(place.size() + 1));
      if (const std::size_t dash = kind.rfind('-'); dash != kind.npos) kind.erase(0, dash + 1);
      kinds.insert(kind);
    }
    if (kinds.size() == 1 && !kinds.begin()->empty() && *kinds.begin() != "host") return *kinds.begin();
    return "switches of layer " + std::to_string(layer);
  }

  const config::TopologySpec& topology_;
  FabricLayers layers_;
  std::vector<std::size_t> pods_;
  std::vector<std::uint32_t> group_of_;
  std::map<std::string, std::uint32_t> numbers_;
};

std::size_t parts_for(std::size_t ports) {
  std::size_t parts = 512;
  while (parts > 16 && parts * ports > RunOverview::kMostCells / 2) parts /= 2;
  return parts;
}

}  // namespace

OverviewRecorder::OverviewRecorder(const ComponentTable& components, const config::TopologySpec& topology) {
  const FabricParts fabric(topology);
  overview_.tiers = fabric.tiers;
  overview_.groups = fabric.groups;
  for (std::size_t i = 0; i < topology.adapters.size(); ++i) {
    overview_.hosts.push_back(topology.adapters[i].name);
    overview_.host_groups.push_back(fabric.group_of_adapter(i));
  }
  port_of_.assign(components.size(), kNoPort);
  for (const config::LinkSpec& link : topology.links) {
    for (const bool is_first : {true, false}) {
      const config::Endpoint &own = is_first ? link.end_a : link.end_b,
                             &far = is_first ? link.end_b : link.end_a;
      const ComponentId id = components.id(join("port/", topology.node_name(own), ":", own.port));
      port_of_[id.value] = static_cast<std::uint32_t>(overview_.ports.size());
      overview_.ports.push_back(
          {fabric.tier(own), fabric.tier(far), fabric.group(own),
           static_cast<std::uint64_t>(std::max<std::int64_t>(1, bits_per_second(link.rate)))});
    }
  }
  overview_.parts = parts_for(overview_.ports.size());
  part_shift_ = kFirstShift;
  overview_.part_ps = std::int64_t{1} << part_shift_;
  overview_.sent.resize(overview_.ports.size() * overview_.parts);
  overview_.deepest.resize(overview_.sent.size());
  levels_.resize(overview_.ports.size() * kLanes);
  last_part_.resize(overview_.ports.size());
}

void OverviewRecorder::halve_resolution() {
  const std::size_t parts = overview_.parts;
  for (std::size_t port = 0; port < overview_.ports.size(); ++port) {
    std::uint64_t* const sent = &overview_.sent[port * parts];
    std::uint32_t* const deepest = &overview_.deepest[port * parts];
    for (std::size_t k = 0; k < parts / 2; ++k) {
      sent[k] = sent[2 * k] + sent[2 * k + 1];
      deepest[k] = std::max(deepest[2 * k], deepest[2 * k + 1]);
    }
    std::fill(sent + parts / 2, sent + parts, 0);
    std::fill(deepest + parts / 2, deepest + parts, 0);
    last_part_[port] /= 2;
  }
  overview_.part_ps = std::int64_t{1} << ++part_shift_;
}

std::size_t OverviewRecorder::part_of(std::int64_t time_ps) {
  const auto since = static_cast<std::uint64_t>(std::max<std::int64_t>(0, time_ps - overview_.begin_ps));
  while (since >> part_shift_ >= overview_.parts) [[unlikely]]
    halve_resolution();
  return since >> part_shift_;
}

std::uint32_t OverviewRecorder::level_of(std::size_t port) const {
  return *std::max_element(&levels_[port * kLanes], &levels_[port * kLanes] + kLanes);
}

void OverviewRecorder::reach(std::size_t port, std::size_t part) {
  if (last_part_[port] >= part) return;
  if (const std::uint32_t level = level_of(port); level != 0) {
    std::uint32_t* const deepest = &overview_.deepest[port * overview_.parts];
    for (std::size_t k = last_part_[port] + 1; k <= part; ++k) deepest[k] = std::max(deepest[k], level);
  }
  last_part_[port] = static_cast<std::uint32_t>(part);
}

void OverviewRecorder::on_record(const TraceRecord& record, std::span<const std::byte>) {
  if (record.event != TraceEvent::kPacketTransmitted) return;
  const std::uint32_t port = port_of_[record.component];
  if (port == kNoPort) return;
  if (!has_begun_) {
    has_begun_ = true;
    overview_.begin_ps = record.time_ps;
  }
  const std::size_t part = part_of(record.time_ps);  // may double the length of parts
  overview_.sent[port * overview_.parts + part] += record.values[3];
}

void OverviewRecorder::on_output_queue(ComponentId id, std::uint32_t lane, std::uint64_t bytes, Instant now) {
  const std::uint32_t port = port_of_[id.value];
  if (port == kNoPort || lane >= kLanes) return;
  if (!has_begun_) {
    has_begun_ = true;
    overview_.begin_ps = to_ps(now);
  }
  const std::size_t part = part_of(to_ps(now));
  reach(port, part);
  const auto level =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
  levels_[port * kLanes + lane] = level;
  std::uint32_t& deepest = overview_.deepest[port * overview_.parts + part];
  deepest = std::max(deepest, level);
}

void OverviewRecorder::add_flows(const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures) {
  std::map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> by_kind;
  for (const workload::FlowKind& kind : scenario.traffic.kinds) {
    const auto [known, is_new] =
        numbers.try_emplace(kind.name, static_cast<std::uint32_t>(overview_.workloads.size()));
    if (is_new) overview_.workloads.push_back(kind.name);
    by_kind.push_back(known->second);
  }
  const std::size_t count = std::min(figures.size(), RunOverview::kMostFlows);
  overview_.flows_left_out = figures.size() - count;
  overview_.flows.reserve(count);
  const auto time = [](Instant when) { return when == kNever ? -1 : to_ps(when); };
  for (std::size_t i = 0; i < count; ++i) {
    const workload::FlowPlan& plan = scenario.traffic.flows[i];
    const FlowFigures& of = figures[i];
    RunOverview::Flow& flow = overview_.flows.emplace_back();
    flow.workload = by_kind[plan.kind];
    flow.from = plan.from;
    flow.to = plan.to;
    flow.bytes = plan.bytes;
    flow.acknowledged = of.acknowledged;
    flow.start_ps = time(of.start);
    flow.finish_ps = of.start == kNever ? -1 : time(of.finish);
    flow.ideal_ps = of.ideal > Duration(0) ? of.ideal.count() : -1;
    flow.is_good = of.status == ib::WcStatus::kSuccess;
  }
}

void OverviewRecorder::add_graphs(const std::vector<config::DrawnGraph>& graphs,
                                  const std::vector<const workload::GraphRun*>& runs) {
  std::size_t all = 0;
  for (const config::DrawnGraph& drawn : graphs) all += drawn.graph->size();
  const auto every =
      static_cast<std::uint32_t>((all + RunOverview::kMostOperations - 1) / RunOverview::kMostOperations);
  std::size_t room = RunOverview::kMostOperations;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const config::DrawnGraph& drawn = graphs[i];
    const workload::GraphRun& run = *runs[i];
    const workload::MessageGraph& of = *drawn.graph;
    RunOverview::Graph& graph = overview_.graphs.emplace_back();
    graph.name = drawn.spec->name;
    graph.what = drawn.spec->file_graph != nullptr
                     ? drawn.spec->file
                     : join(drawn.spec->pattern, " by ", name_of(config::algorithm_of(*drawn.spec)));
    graph.hosts = drawn.adapters;
    graph.every = std::max<std::uint32_t>(1, every);
    for (workload::OperationId id = 0; id < of.size() && room > 0; ++id) {
      const workload::Operation& operation = of[id];
      if (operation.rank % graph.every != 0 || run.started(id) == kNever) continue;
      using Kind = workload::Operation::Kind;
      RunOverview::Operation one;
      one.rank = one.peer = operation.rank;
      one.kind = static_cast<RunOverview::Operation::Kind>(operation.kind);
      Instant from = run.started(id);
      if (operation.kind == Kind::kSend) {
        one.peer = operation.peer;
        one.bytes = operation.amount;
      } else if (operation.kind == Kind::kReceive) {
        const workload::OperationId send = run.partner(id);
        if (send == workload::kNoOperation) continue;  // nothing has arrived
        one.peer = of[send].rank;
        one.bytes = of[send].amount;
        from = run.started(send);
      } else if (operation.amount == 0) {
        continue;  // joins others, takes no time
      }
      one.from_ps = to_ps(from);
      one.to_ps = run.ended(id) == kNever ? -1 : to_ps(run.ended(id));
      graph.operations.push_back(one);
      --room;
    }
  }
}

const RunOverview& OverviewRecorder::finish(Instant end, std::int64_t detail_until_ps, bool watches_all) {
  overview_.end_ps = to_ps(end);
  overview_.detail_until_ps = detail_until_ps;
  overview_.has_all_detail = watches_all && detail_until_ps < 0;
  const bool has_level = std::ranges::any_of(levels_, [](std::uint32_t level) { return level != 0; });
  const std::size_t last = has_begun_ && has_level ? part_of(overview_.end_ps) : 0;
  for (std::size_t port = 0; has_level && port < overview_.ports.size(); ++port) reach(port, last);
  return overview_;
}

}  // namespace verbatim::cli
