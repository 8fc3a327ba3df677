#include "sim/config/marked_priorities.h"

#include <algorithm>
#include <bit>
#include <map>

#include "sim/core/words.h"
#include "sim/fabric/priority_map.h"
#include "sim/hca/congestion/controllers.h"

namespace verbatim::config {

namespace {

constexpr int kDscpShift = 2;      // position in a traffic class
constexpr int kPriorityShift = 5;  // a DSCP has the priority DSCP / 8 if no profile says otherwise

bool needs_marks(const hca::CongestionControl& control) {
  const hca::ControllerRow* const row = hca::find_controller(control.controller);
  return row != nullptr && (row->signals & hca::kNotifications) != 0 && control.ecn_capable &&
         control.cnp_receive_buffer_bytes == 0;
}

std::uint8_t marked_lanes(const fabric::MarkingProfile& marking) {
  std::uint8_t lanes = 0;
  for (const fabric::MarkedQueues& queues : marking.queues)
    lanes |= queues.probability_percent != 0 ? queues.lanes : 0;
  return lanes;
}

}  // namespace

std::string marked_priorities(const fabric::MarkingProfile& marking) {
  std::string all;
  for (const fabric::MarkedQueues& queues : marking.queues) {
    if (queues.probability_percent != 0) all += (all.empty() ? "" : ",") + queues.priorities;
  }
  return all;
}

void warn_of_unmarked_traffic(const ScenarioSpec& scenario, const std::vector<std::string>& pointers,
                              Diagnostics& diagnostics) {
  const TopologySpec& topology = scenario.topology;
  if (!topology.is_roce()) return;
  std::vector<const fabric::SwitchProfile*> marking;  // switches that mark, one of each profile
  for (const SwitchSpec& one : topology.switches) {
    const fabric::SwitchProfile& profile = one.switch_profile;
    if (marked_lanes(profile.marking) == 0) continue;
    if (profile.trust != "dscp" || profile.virtual_lanes < fabric::kPriorities)
      return;  // the priority is not that of the DSCP
    if (std::ranges::none_of(marking, [&](const auto* known) { return known->name == profile.name; }))
      marking.push_back(&profile);
  }
  if (marking.empty()) return;
  struct Unmarked {
    std::size_t first = 0, others = 0;  // index of a kind of flows; number of further ones
    std::string controller;
    std::uint8_t priority = 0;
  };
  std::vector<Unmarked> unmarked;
  std::vector<bool> is_seen(scenario.traffic.kinds.size());
  for (const workload::FlowPlan& flow : scenario.traffic.flows) {
    if (is_seen[flow.kind]) continue;
    const hca::CongestionControl& control =
        topology.hca_profile(topology.adapters[flow.from]).congestion_control;
    if (!needs_marks(control)) continue;
    const std::uint32_t traffic_class = scenario.traffic.kinds[flow.kind].traffic_class;
    const auto priority_at = [&](const fabric::SwitchProfile& profile) {
      return fabric::priorities_of(profile.dscp_to_priority)[traffic_class >> kDscpShift];
    };
    const auto is_marked_at = [&](const fabric::SwitchProfile* profile) {
      return (marked_lanes(profile->marking) >> priority_at(*profile) & 1) != 0;
    };
    if (std::ranges::any_of(marking, is_marked_at)) continue;
    is_seen[flow.kind] = true;
    const std::uint8_t priority = priority_at(*marking.front());
    const auto same = std::ranges::find_if(unmarked, [&](const Unmarked& one) {
      return one.priority == priority && one.controller == control.controller;
    });
    if (same == unmarked.end()) {
      unmarked.push_back({flow.kind, 0, control.controller, priority});
    } else {
      same->first = std::min<std::size_t>(same->first, flow.kind);
      ++same->others;
    }
  }
  const fabric::SwitchProfile& first = *marking.front();
  const int usual = 3, lanes = marked_lanes(first.marking);
  const int other = (lanes >> usual & 1) != 0 ? usual : std::countr_zero(static_cast<unsigned>(lanes));
  for (const Unmarked& one : unmarked) {
    const std::string whose = one.others == 0
                                  ? "its packets"
                                  : join("the packets of these flows and of ", one.others, " other entries");
    diagnostics.warn(
        {scenario.file, pointers[one.first],
         join(whose, " have priority ", one.priority, ", and ", first.name, " marks ",
              marked_priorities(first.marking), ": ", one.controller, " is not notified of congestion"),
         join(R"(give "traffic_class" )", other << kPriorityShift, " for priority ", other,
              ", or mark this priority with \"marking\" of the switches' profile")});
  }
}

void warn_of_unpaused_traffic(const ScenarioSpec& scenario, const std::vector<std::string>& pointers,
                              Diagnostics& diagnostics) {
  const TopologySpec& topology = scenario.topology;
  if (!topology.is_roce()) return;
  std::vector<const LinkSpec*> links(topology.adapters.size());  // to a switch
  for (const LinkSpec& link : topology.links) {
    if (link.end_a.is_switch != link.end_b.is_switch)
      links[(link.end_a.is_switch ? link.end_b : link.end_a).node] = &link;
  }
  struct Unpaused {
    std::size_t first = 0, others = 0;  // index of a kind of flows; number of further ones
  };
  std::map<std::string, Unpaused> unpaused;  // by text
  std::vector<bool> is_seen(scenario.traffic.kinds.size());
  for (const workload::FlowPlan& flow : scenario.traffic.flows) {
    const LinkSpec* const link = links[flow.from];
    if (is_seen[flow.kind] || link == nullptr) continue;
    const Endpoint& far = link->end_a.is_switch ? link->end_a : link->end_b;
    const auto& adapter = topology.hca_profile(topology.adapters[flow.from]);
    const fabric::SwitchProfile& profile = topology.switches[far.node].switch_profile;
    const bool do_differ = adapter.trust == "pcp" && profile.trust == "dscp" && profile.virtual_lanes >= fabric::kPriorities;
    if (!do_differ || adapter.virtual_lanes == 1 || !link->has_pauses_at(far)) continue;
    const workload::FlowKind& kind = scenario.traffic.kinds[flow.kind];
    const std::uint32_t level = kind.service_level == workload::FlowKind::kOfPath ? 0 : kind.service_level;
    const std::uint32_t lane = level % fabric::kPriorities;
    const std::uint32_t priority = fabric::priorities_of(profile.dscp_to_priority)[kind.traffic_class >> kDscpShift];
    if (lane == priority || (link->lossless_lanes >> priority & 1) == 0) continue;
    is_seen[flow.kind] = true;
    const std::string text =
        join(adapter.name, " trusts VLAN tags and sends packets of service level ", level, " by lane ", lane, ", and ", profile.name,
             " trusts DSCP and gives traffic class ", kind.traffic_class, " priority ", priority,
             ": its pauses do not stop these packets, and it drops what finds no space");
    const auto [found, is_new] = unpaused.try_emplace(text, Unpaused{flow.kind, 0});
    if (!is_new) ++found->second.others;
  }
  for (const auto& [text, flows] : unpaused) {
    const std::string same = flows.others == 0 ? "" : join("; the same of ", flows.others, flows.others == 1 ? " other entry" : " other entries");
    diagnostics.warn({scenario.file, pointers[flows.first], text + same,
                      R"(give the profile of the adapters "trust": "dscp", or the traffic the "service_level" of that priority)"});
  }
}

}  // namespace verbatim::config
