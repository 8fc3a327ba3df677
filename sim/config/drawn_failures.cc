#include "sim/config/drawn_failures.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/faults/drawn_failures.h"

namespace verbatim::config {

namespace {

std::vector<faults::MayFail> all_that_may_fail(const ScenarioSpec& scenario) {
  const TopologySpec& topology = scenario.topology;
  const ComponentTable components(Simulation::component_names(topology));
  std::vector<faults::MayFail> all;
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const Endpoint& end = topology.links[i].end_a;
    const std::string& node = end.is_switch ? topology.switches[end.node].name : topology.adapters[end.node].name;
    all.push_back({&faults::kLinkDown, components.id(Simulation::port_name(node, end.port)), i});
  }
  for (std::size_t i = 0; i < topology.adapters.size(); ++i)
    all.push_back({&faults::kAdapterFailure, components.id("hca/" + topology.adapters[i].name), i});
  for (std::size_t i = 0; i < scenario.programs.size(); ++i) {
    const std::string& host = topology.hosts[scenario.programs[i].host_index].name;
    all.push_back({&faults::kProgramKilled, components.id("host/" + host), i});
  }
  return all;
}

}  // namespace

void draw_failures(ScenarioSpec& scenario, Choices& choices) {
  if (scenario.spec.failures <= 0 || !choices.is_free()) return;
  const TopologySpec& topology = scenario.topology;
  Duration base{0};
  for (const ProgramSpec& program : scenario.programs) base = std::max(base, program.start);
  for (const auto& [what, after] : faults::draw_failures(choices, all_that_may_fail(scenario), scenario.spec.failures)) {
    if (what.site == &faults::kProgramKilled) {
      ProgramSpec& program = scenario.programs[what.index];
      if (program.kill.count() != 0) continue;
      program.kill = base + after;
      program.kill_is_drawn = true;
      continue;
    }
    FaultSpec& fault = scenario.faults.emplace_back();
    fault.at = base + after;
    fault.is_drawn = true;
    if (what.site == &faults::kAdapterFailure) {
      fault.action = "device_fatal";
      fault.host = topology.hosts[topology.adapters[what.index].host].name;
      fault.adapter_index = what.index;
      continue;
    }
    const LinkSpec& link = topology.links[what.index];
    fault.action = "link_down";
    fault.end = link.end_a;
    fault.link = link.a + " - " + link.b;
    const Duration lasts = faults::kLinkDownTime.choose(choices, what.actor);
    if (lasts != Duration::zero()) fault.until = fault.at + lasts;
  }
}

}  // namespace verbatim::config
