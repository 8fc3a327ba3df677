// Checks of flows that involve several values: which adapters they join, and whether these can carry them.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/config/load.h"
#include "sim/config/marked_priorities.h"

namespace verbatim::config {

namespace {

class FlowResolver {
 public:
  FlowResolver(ScenarioSpec& scenario, Diagnostics& diagnostics)
      : scenario_(scenario), diagnostics_(diagnostics) {}

  void run() {
    for (FlowSpec& flow : scenario_.flows) resolve(flow);
  }

 private:
  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(scenario_.file, pointer, std::move(text), std::move(hint));
  }

  void resolve(FlowSpec& flow) {
    const bool has_from = find(flow.from, flow.pointer + "/from", &flow.from_adapter);
    const bool has_to = find(flow.to, flow.pointer + "/to", &flow.to_adapter);
    if (has_from && has_to && flow.from_adapter == flow.to_adapter) {
      add(flow.pointer + "/to", "the flow leads from " + in_quotes(flow.from) + " to itself",
          "name another host");
    } else if (has_from && has_to) {
      flow.is_resolved = true;
    }
    check_traffic_keys(scenario_, "flow", flow.pointer, flow.start, flow.traffic_class,
                       flow.acknowledgement_traffic_class, diagnostics_);
    if (!flow.is_resolved) return;
    const std::vector<std::uint32_t> ends = {static_cast<std::uint32_t>(flow.from_adapter),
                                             static_cast<std::uint32_t>(flow.to_adapter)};
    check_message_size(scenario_, ends, flow.pointer, flow.message_size, diagnostics_);
  }

  bool find(const std::string& name, const std::string& pointer, std::size_t* index) {
    if (name.empty()) return false;  // already a finding
    if (by_name_.empty()) {
      for (const AdapterSpec& adapter : scenario_.topology.adapters)
        by_name_.emplace(adapter.name, by_name_.size());
    }
    if (const auto found = by_name_.find(name); found != by_name_.end()) {
      *index = found->second;
      return true;
    }
    std::vector<std::string> names;
    for (const AdapterSpec& adapter : scenario_.topology.adapters) names.push_back(adapter.name);
    const std::string near = nearest(name, names);
    add(pointer, "the topology has no host " + in_quotes(name),
        near.empty() ? "name one of its hosts, such as " + in_quotes(names.front())
                     : "did you mean \"" + near + "\"?");
    return false;
  }

  ScenarioSpec& scenario_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::size_t> by_name_;  // adapters
};

}  // namespace

void resolve_flows(ScenarioSpec& scenario, Diagnostics& diagnostics) {
  if (!scenario.flows.empty()) FlowResolver(scenario, diagnostics).run();
}

void check_traffic_keys(const ScenarioSpec& scenario, const std::string& what, const std::string& pointer,
                        Duration start, std::uint32_t traffic_class, std::uint32_t acknowledgement_traffic_class,
                        Diagnostics& diagnostics) {
  const auto text = [](Duration time) { return format_quantity(time.count(), Dimension::kDuration); };
  for (const auto& [end, key] :
       {std::pair(scenario.time_limit, "time_limit"), std::pair(scenario.until, "until")}) {
    if (end == Duration(0) || start < end) continue;
    diagnostics.add(scenario.file, pointer + "/start",
                    "the " + what + " starts at " + text(start) + ", and the run ends at " + text(end),
                    std::string("start it earlier, or set a longer ") + in_quotes(key));
  }
  if (scenario.topology.is_roce()) return;
  for (const auto& [key, is_given] :
       {std::pair("/traffic_class", traffic_class != 0),
        std::pair("/acknowledgement_traffic_class",
                  acknowledgement_traffic_class != workload::FlowKind::kAsData)}) {
    if (!is_given) continue;
    diagnostics.add(scenario.file, pointer + key, "packets of InfiniBand have no IP header",
                    "leave it out, or give \"service_level\"");
  }
}

void check_message_size(const ScenarioSpec& scenario, const std::vector<std::uint32_t>& adapters,
                        const std::string& pointer, std::int64_t bytes, Diagnostics& diagnostics) {
  const TopologySpec& topology = scenario.topology;
  for (const std::uint32_t adapter : adapters) {
    const std::int64_t most = topology.hca_profile(topology.adapters[adapter]).max_message_bytes;
    if (bytes <= most) continue;
    diagnostics.add(scenario.file, pointer + "/message_size",
                    format_quantity(bytes, Dimension::kSize) + " is more than the adapter of " +
                        in_quotes(topology.adapters[adapter].name) + " sends in a message",
                    "its limit is " + format_quantity(most, Dimension::kSize));
    return;
  }
}

namespace {

// The place in the file of each kind of traffic.
std::vector<std::string> pointers_of(const ScenarioSpec& scenario) {
  std::map<std::string, std::string> workloads;
  for (const WorkloadSpec& one : scenario.workloads) workloads.emplace(one.name, one.pointer);
  std::vector<std::string> pointers;
  auto flow = scenario.flows.begin();
  for (const workload::FlowKind& kind : scenario.traffic.kinds) {
    if (!kind.name.empty()) {
      pointers.push_back(workloads.at(kind.name));
      continue;
    }
    flow = std::find_if(flow, scenario.flows.end(), [](const FlowSpec& one) { return one.is_resolved; });
    pointers.push_back((flow++)->pointer);
  }
  return pointers;
}

}  // namespace

void check_traffic(const ScenarioSpec& scenario, Diagnostics& diagnostics) {
  const auto is_graph = [](const WorkloadSpec& one) { return one.is_ready_graph; };
  if (scenario.traffic.empty() && std::ranges::none_of(scenario.workloads, is_graph)) return;
  const TopologySpec& topology = scenario.topology;
  if (!topology.manages_subnet()) {
    diagnostics.add(scenario.file, scenario.flows.empty() ? "/workloads" : "/flows",
                    "flows need addresses and routes from the start, and this topology has no subnet manager "
                    "until a program is one",
                    "set \"subnet_manager\" of the topology to \"simulated\"");
  }
  // A flow uses queue pairs at both ends.
  std::vector<std::uint64_t> used(topology.adapters.size());
  for (const WorkloadSpec& one : scenario.workloads) {
    for (std::size_t i = 0; i < one.member_queue_pairs.size(); ++i) {
      const std::uint32_t adapter = one.members[i], most = topology.hca_profile(topology.adapters[adapter]).max_qp;
      const bool had_room = used[adapter] <= most;
      used[adapter] += one.member_queue_pairs[i];
      if (!had_room || used[adapter] <= most) continue;
      diagnostics.add(scenario.file, one.pointer,
                      "the adapter of " + in_quotes(topology.adapters[adapter].name) + " has " + std::to_string(most) +
                          " queue pairs, and the workloads up to this one need up to " + std::to_string(used[adapter]),
                      "leave hosts out, or give fewer channels");
    }
  }
  const std::vector<std::string> pointers = pointers_of(scenario);
  warn_of_unmarked_traffic(scenario, pointers, diagnostics);
  warn_of_unpaused_traffic(scenario, pointers, diagnostics);
  std::vector<bool> is_refused(scenario.traffic.kinds.size());
  for (const workload::FlowPlan& flow : scenario.traffic.flows) {
    bool has_room = true;
    for (const std::uint32_t adapter : {flow.from, flow.to}) {
      const std::uint32_t most = topology.hca_profile(topology.adapters[adapter]).max_qp;
      std::uint64_t& count = used[adapter];
      const bool had_room = count <= most;
      count += scenario.traffic.kinds[flow.kind].queue_pairs;
      if (!had_room || count <= most || is_refused[flow.kind]) continue;
      has_room = false;
      diagnostics.add(scenario.file, pointers[flow.kind] + "/queue_pairs",
                      "the adapter of " + in_quotes(topology.adapters[adapter].name) + " has " +
                          std::to_string(most) + " queue pairs, and the flows up to this one need " +
                          std::to_string(count),
                      "give its flows fewer");
    }
    if (!has_room) is_refused[flow.kind] = true;
  }
}

}  // namespace verbatim::config
