#include "sim/config/reroutes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "sim/config/cabling.h"

namespace verbatim::config {

namespace {

struct CableEvent {
  Duration at{};
  bool is_intact = false;
  std::size_t cable = 0;  // index into TopologySpec::links
};

// Events in the order in which FaultScript executes them: at one instant failures precede repairs.
std::vector<CableEvent> cable_events(const TopologySpec& topology, const std::vector<FaultSpec>& faults) {
  const CableIndex cables(topology);
  std::vector<CableEvent> events;
  for (const FaultSpec& fault : faults) {
    if (fault.action != "link_down") continue;
    const LinkSpec* const link = cables.at(fault.end);
    if (link == nullptr || !link->end_a.is_switch || !link->end_b.is_switch) continue;
    const auto cable = static_cast<std::size_t>(link - topology.links.data());
    events.push_back({fault.at, false, cable});
    if (fault.until != Duration(0)) events.push_back({fault.until, true, cable});
  }
  std::ranges::stable_sort(events, {}, [](const CableEvent& event) { return std::tuple(event.at, event.is_intact); });
  return events;
}

subnet::Plan plan_without(const TopologySpec& topology, const std::set<std::size_t>& broken, const subnet::Plan& whole) {
  const std::vector<subnet::Cable> all = cables_of(topology);
  std::vector<subnet::Cable> intact;
  for (std::size_t cable = 0; cable < all.size(); ++cable) {
    if (!broken.contains(cable)) intact.push_back(all[cable]);
  }
  return subnet::plan(nodes_of(topology), intact, needs_all_paths(topology), routing_of(topology),
                      topology.is_roce() ? nullptr : &whole);
}

std::string names_of(const TopologySpec& topology, const std::set<std::size_t>& cables) {
  std::string names;
  for (const std::size_t cable : cables) names += (names.empty() ? "" : ", ") + topology.links[cable].a + " - " + topology.links[cable].b;
  return names;
}

// Adds the reasons for which engines cannot route the fabric without these cables.
void note_refusals(const TopologySpec& topology, const subnet::Plan& plan, const std::set<std::size_t>& broken,
                   std::vector<std::string>& refusals) {
  for (const subnet::Refusal& one : plan.refusals) {
    refusals.push_back("without " + names_of(topology, broken) + " the routing engine " + std::string(subnet::name_of(one.engine)) +
                       " cannot route this fabric: " + one.text + "; " +
                       (plan.is_routed ? std::string(subnet::name_of(plan.engine)) + " routes it" : "all switches keep their tables"));
  }
}

// Islands for PathChange: the number of an island is the index of its first switch.
std::vector<std::uint32_t> islands_without(const TopologySpec& topology, const subnet::Plan& plan,
                                           const std::set<std::size_t>& broken) {
  std::vector<std::uint32_t> parents(topology.switches.size());
  std::iota(parents.begin(), parents.end(), 0u);
  const auto first_of = [&](std::size_t at) {
    while (parents[at] != at) at = parents[at] = parents[parents[at]];
    return static_cast<std::uint32_t>(at);
  };
  for (std::size_t cable = 0; cable < topology.links.size(); ++cable) {
    const Endpoint &a = topology.links[cable].end_a, &b = topology.links[cable].end_b;
    if (broken.contains(cable) || !a.is_switch || !b.is_switch) continue;
    const std::uint32_t one = first_of(a.node), other = first_of(b.node);
    parents[std::max(one, other)] = std::min(one, other);
  }
  const CableIndex cables(topology);
  std::vector<std::uint32_t> islands;
  for (std::size_t i = 0; i < topology.adapters.size(); ++i) {
    const auto far = cables.far_end({false, i, 1});
    const std::size_t lid = plan.nodes[i].ports[0].lid.value;
    if (islands.size() <= lid) islands.resize(lid + 1, 0);
    if (far && far->is_switch) islands[lid] = first_of(far->node);
  }
  return islands;
}

// Adds a sweep that writes the tables of `plan` to all switches at `at`. `before` is the plan in effect until
// then.
void add_sweep(const TopologySpec& topology, const subnet::Plan& plan, const subnet::Plan& before, Instant at,
               ComponentId manager, const std::set<std::size_t>& broken, Reroutes& reroutes) {
  const bool is_whole = broken.empty();
  const auto sweep = std::make_shared<fabric::RouteSweep>(fabric::RouteSweep{manager});
  for (std::size_t s = 0; s < topology.switches.size(); ++s) {
    const subnet::NodePlan &now = plan.nodes[topology.adapters.size() + s], &old = before.nodes[topology.adapters.size() + s];
    if (now.forwarding_table != old.forwarding_table) ++sweep->tables;
    fabric::RouteChange& change = reroutes.by_switch[s].emplace_back();
    change.at = at;
    change.sweep = sweep;
    if (is_whole) continue;
    change.routes = std::make_shared<const fabric::RouteTable>(now.forwarding_table);
    change.multicast_ports = now.multicast_ports;
    change.groups = groups_of(topology, plan, s);
  }
  reroutes.paths.push_back({at, plan.levels, is_whole ? std::vector<std::uint32_t>() : islands_without(topology, plan, broken)});
}

}  // namespace

Reroutes route_changes_of(const TopologySpec& topology, const std::vector<FaultSpec>& faults, const subnet::Plan& whole,
                          ComponentId manager) {
  Reroutes reroutes;
  reroutes.by_switch.resize(topology.switches.size());
  const bool is_roce = topology.is_roce();
  if (!is_roce && !topology.sweep) return reroutes;
  const Duration delay = is_roce ? topology.convergence_time : *topology.sweep;
  const std::vector<CableEvent> events = cable_events(topology, faults);
  std::map<std::set<std::size_t>, subnet::Plan> plans;  // by broken cables; a flapping cable has two states only
  std::set<std::size_t> broken, before;
  const subnet::Plan* current = &whole;
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].is_intact ? static_cast<void>(broken.erase(events[i].cable)) : static_cast<void>(broken.insert(events[i].cable));
    const bool is_last_of_instant = i + 1 == events.size() || events[i + 1].at != events[i].at;
    if (!is_last_of_instant || broken == before) continue;
    before = broken;
    const Instant at = instant_from_ps((events[i].at + delay).count());
    const bool is_whole = broken.empty();
    if (!is_whole && !plans.contains(broken)) {
      plans.emplace(broken, plan_without(topology, broken, whole));
      note_refusals(topology, plans.at(broken), broken, reroutes.refusals);
    }
    const subnet::Plan& plan = is_whole ? whole : plans.at(broken);
    if (!is_roce) {
      if (!plan.is_routed) continue;
      add_sweep(topology, plan, *current, at, manager, broken, reroutes);
      current = &plan;
      continue;
    }
    for (std::size_t s = 0; s < topology.switches.size(); ++s) {
      fabric::RouteChange& change = reroutes.by_switch[s].emplace_back();
      change.at = at;
      if (is_whole) continue;
      const subnet::NodePlan& planned = plan.nodes[topology.adapters.size() + s];
      change.routes = planned.routes;
      change.multicast_ports = planned.multicast_ports;
    }
  }
  return reroutes;
}

void warn_of_reroutes(const ScenarioSpec& scenario, Diagnostics& diagnostics) {
  const TopologySpec& topology = scenario.topology;
  const bool is_usual = topology.routing.engines == std::vector{subnet::Engine::kMinhop};
  if (is_usual || !topology.sweep) return;
  for (const std::string& refusal : route_changes_of(topology, scenario.faults, plan_of(topology)).refusals) {
    diagnostics.warn({topology.file, "/routing_engine", refusal, "name \"root_switches\", or choose an engine that can"});
  }
}

}  // namespace verbatim::config
