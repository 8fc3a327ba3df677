#include "sim/config/drawn_failures.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/faults/drawn_failures.h"

namespace verbatim::config {

void draw_failures(ScenarioSpec& scenario, Choices& choices) {
  std::int64_t left = scenario.spec.failures;
  if (left <= 0 || !choices.is_free()) return;
  const TopologySpec& topology = scenario.topology;
  const ComponentTable components(Simulation::component_names(topology));
  Duration base{0};
  for (const ProgramSpec& program : scenario.programs) base = std::max(base, program.start);

  std::vector<ComponentId> links, adapters, hosts;
  for (const LinkSpec& link : topology.links) {
    const std::string& node =
        link.end_a.is_switch ? topology.switches[link.end_a.node].name : topology.adapters[link.end_a.node].name;
    links.push_back(components.id(Simulation::port_name(node, link.end_a.port)));
  }
  for (const AdapterSpec& adapter : topology.adapters) adapters.push_back(components.id("hca/" + adapter.name));
  for (const ProgramSpec& program : scenario.programs)
    hosts.push_back(components.id("host/" + topology.hosts[program.host_index].name));

  for (const auto& [index, after] : faults::draw_failures(choices, faults::kLinkDown, links, left)) {
    FaultSpec& fault = scenario.faults.emplace_back();
    fault.action = "link_down";
    fault.end = topology.links[index].end_a;
    fault.link = topology.links[index].a + " - " + topology.links[index].b;
    fault.at = base + after;
    const Duration lasts = faults::kLinkDownTime.choose(choices, links[index]);
    if (lasts != Duration::zero()) fault.until = fault.at + lasts;
    fault.is_drawn = true;
  }
  for (const auto& [index, after] : faults::draw_failures(choices, faults::kAdapterFailure, adapters, left)) {
    FaultSpec& fault = scenario.faults.emplace_back();
    fault.action = "device_fatal";
    fault.host = topology.hosts[topology.adapters[index].host].name;
    fault.adapter_index = index;
    fault.at = base + after;
    fault.is_drawn = true;
  }
  for (const auto& [index, after] : faults::draw_failures(choices, faults::kProgramKilled, hosts, left)) {
    ProgramSpec& program = scenario.programs[index];
    if (program.kill.count() != 0) continue;
    program.kill = base + after;
    program.kill_is_drawn = true;
  }
}

}  // namespace verbatim::config
