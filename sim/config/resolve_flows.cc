// The questions about flows that need more than one value: which adapters they join, and whether those can carry them.
#include <algorithm>
#include <map>

#include "sim/config/load.h"

namespace verbatim::config {

namespace {

class FlowResolver {
 public:
  FlowResolver(ScenarioSpec& scenario, Diagnostics& diagnostics) : scenario_(scenario), diagnostics_(diagnostics) {}

  void run() {
    if (!scenario_.topology.manages_subnet()) {
      add("/flows", "flows need addresses and routes from the start, and this topology has no subnet manager until a program is one",
          "set \"subnet_manager\" of the topology to \"simulated\"");
    }
    for (FlowSpec& flow : scenario_.flows) resolve(flow);
    check_queue_pairs();
  }

 private:
  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(scenario_.file, pointer, std::move(text), std::move(hint));
  }

  void resolve(FlowSpec& flow) {
    const bool has_from = find(flow.from, flow.pointer + "/from", &flow.from_adapter);
    const bool has_to = find(flow.to, flow.pointer + "/to", &flow.to_adapter);
    if (has_from && has_to && flow.from_adapter == flow.to_adapter) {
      add(flow.pointer + "/to", "the flow leads from " + in_quotes(flow.from) + " to itself", "name another host");
    } else if (has_from && has_to) {
      flow.is_resolved = true;
    }
    if (scenario_.time_limit != Duration(0) && flow.start >= scenario_.time_limit) {
      add(flow.pointer + "/start",
          "the flow starts at " + format_quantity(flow.start.count(), Dimension::kDuration) + ", and the run ends at " +
              format_quantity(scenario_.time_limit.count(), Dimension::kDuration),
          "start it earlier, or set a longer \"time_limit\"");
    }
    if (flow.traffic_class != 0 && !scenario_.topology.is_roce()) {
      add(flow.pointer + "/traffic_class", "packets of InfiniBand have no IP header", "leave it out, or give \"service_level\"");
    }
    if (!flow.is_resolved) return;
    for (const std::size_t adapter : {flow.from_adapter, flow.to_adapter}) {
      const std::int64_t most = profile_of(adapter).max_message_bytes;
      if (flow.message_size <= most) continue;
      add(flow.pointer + "/message_size",
          format_quantity(flow.message_size, Dimension::kSize) + " is more than the adapter of " +
              in_quotes(scenario_.topology.adapters[adapter].name) + " sends in a message",
          "its limit is " + format_quantity(most, Dimension::kSize));
      break;
    }
  }

  const hca::HcaProfile& profile_of(std::size_t adapter) const {
    return scenario_.topology.hca_profile(scenario_.topology.adapters[adapter]);
  }

  bool find(const std::string& name, const std::string& pointer, std::size_t* index) {
    if (name.empty()) return false;  // already a finding
    if (by_name_.empty()) {
      for (const AdapterSpec& adapter : scenario_.topology.adapters) by_name_.emplace(adapter.name, by_name_.size());
    }
    if (const auto found = by_name_.find(name); found != by_name_.end()) {
      *index = found->second;
      return true;
    }
    std::vector<std::string> names;
    for (const AdapterSpec& adapter : scenario_.topology.adapters) names.push_back(adapter.name);
    const std::string near = nearest(name, names);
    add(pointer, "the topology has no host " + in_quotes(name),
        near.empty() ? "name one of its hosts, such as " + in_quotes(names.front()) : "did you mean \"" + near + "\"?");
    return false;
  }

  // Both ends of a flow have its queue pairs.
  void check_queue_pairs() {
    std::map<std::size_t, std::uint64_t> used;
    for (const FlowSpec& flow : scenario_.flows) {
      if (!flow.is_resolved) continue;
      for (const std::size_t adapter : {flow.from_adapter, flow.to_adapter}) {
        const std::uint32_t most = profile_of(adapter).max_qp;
        std::uint64_t& count = used[adapter];
        const bool had_room = count <= most;
        count += flow.queue_pairs;
        if (!had_room || count <= most) continue;
        add(flow.pointer + "/queue_pairs",
            "the adapter of " + in_quotes(scenario_.topology.adapters[adapter].name) + " has " + std::to_string(most) +
                " queue pairs, and the flows up to this one need " + std::to_string(count),
            "give its flows fewer");
      }
    }
  }

  ScenarioSpec& scenario_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::size_t> by_name_;  // adapters
};

}  // namespace

void resolve_flows(ScenarioSpec& scenario, Diagnostics& diagnostics) {
  if (!scenario.flows.empty()) FlowResolver(scenario, diagnostics).run();
}

}  // namespace verbatim::config
