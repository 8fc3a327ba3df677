#include "sim/config/reroutes.h"

#include <algorithm>
#include <map>
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

// In the order in which FaultScript executes them: at one instant failures before repairs.
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

subnet::Plan plan_without(const TopologySpec& topology, const std::set<std::size_t>& broken) {
  const std::vector<subnet::Cable> all = cables_of(topology);
  std::vector<subnet::Cable> intact;
  for (std::size_t cable = 0; cable < all.size(); ++cable) {
    if (!broken.contains(cable)) intact.push_back(all[cable]);
  }
  return subnet::plan(nodes_of(topology), intact, true);
}

}  // namespace

std::vector<std::vector<fabric::RouteChange>> route_changes_of(const TopologySpec& topology,
                                                               const std::vector<FaultSpec>& faults) {
  std::vector<std::vector<fabric::RouteChange>> changes(topology.switches.size());
  const std::vector<CableEvent> events = cable_events(topology, faults);
  std::map<std::set<std::size_t>, subnet::Plan> plans;  // by broken cables: one that fails often has two states
  std::set<std::size_t> broken, before;
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].is_intact ? static_cast<void>(broken.erase(events[i].cable)) : static_cast<void>(broken.insert(events[i].cable));
    const bool is_last_of_instant = i + 1 == events.size() || events[i + 1].at != events[i].at;
    if (!is_last_of_instant || broken == before) continue;
    before = broken;
    const Instant at = instant_from_ps((events[i].at + topology.convergence_time).count());
    const bool is_whole = broken.empty();
    if (!is_whole && !plans.contains(broken)) plans.emplace(broken, plan_without(topology, broken));
    for (std::size_t s = 0; s < changes.size(); ++s) {
      fabric::RouteChange& change = changes[s].emplace_back();
      change.at = at;
      if (is_whole) continue;
      const subnet::NodePlan& plan = plans.at(broken).nodes[topology.adapters.size() + s];
      change.routes = plan.routes;
      change.multicast_ports = plan.multicast_ports;
    }
  }
  return changes;
}

}  // namespace verbatim::config
