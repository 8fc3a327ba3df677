#include "sim/config/simulation.h"

#include <algorithm>

#include "sim/config/fields.h"
#include "sim/config/link_params.h"
#include "sim/config/node_description.h"
#include "sim/config/reroutes.h"
#include "sim/core/rng.h"
#include "sim/hca/congestion/controllers.h"
#include "sim/hca/inspector.h"
#include "sim/ib/wire.h"

namespace verbatim::config {

namespace {

// Visits 0 … n-1 in the given order.
template <class Visit>
void in_order(std::size_t n, Simulation::Order order, const Visit& visit) {
  for (std::size_t i = 0; i < n; ++i) visit(order == Simulation::Order::kForward ? i : n - 1 - i);
}

Duration least_propagation(const TopologySpec& topology) {
  Duration least = Duration::max();
  for (const LinkSpec& link : topology.links) least = std::min(least, link.propagation());
  return least;
}

hca::Neighbours neighbours_of(const TopologySpec& topology, const subnet::Plan& plan) {
  std::vector<hca::Neighbours::Entry> entries;
  for (std::size_t i = 0; topology.is_roce() && i < topology.adapters.size(); ++i) {
    for (const ib::Gid& gid : gids_of(topology, plan, i))
      entries.emplace_back(gid, plan.nodes[i].ports[0].mac);
  }
  return hca::Neighbours(std::move(entries));
}

bool asks_for_telemetry(const TopologySpec& topology) {
  return topology.is_roce() && std::ranges::any_of(topology.adapters, [&](const AdapterSpec& adapter) {
    return hca::wants_telemetry(topology.hca_profile(adapter).congestion_control);
  });
}

}  // namespace

std::optional<TopologyView::End> TopologyView::peer(const End& end) const {
  const std::size_t adapters = topology_.adapters.size();
  const bool is_switch = end.node >= adapters;
  const auto far = cables_.far_end({is_switch, is_switch ? end.node - adapters : end.node, end.port});
  if (!far) return std::nullopt;
  return End{far->is_switch ? adapters + far->node : far->node, static_cast<std::uint8_t>(far->port)};
}

const management::Node& TopologyView::node(std::size_t index) const {
  const std::size_t adapters = topology_.adapters.size();
  if (index >= adapters && managements_[index - adapters] != nullptr) managements_[index - adapters]->catch_up();
  return *nodes_[index];
}

std::string Simulation::port_name(const std::string& node, std::uint32_t port) {
  return "port/" + node + ":" + std::to_string(port);
}

std::vector<std::string> Simulation::component_names(const TopologySpec& topology) {
  std::vector<std::string> names = {"supervisor"};
  for (const HostSpec& host : topology.hosts) names.push_back("host/" + host.name);
  for (const AdapterSpec& adapter : topology.adapters) {
    names.push_back("hca/" + adapter.name);
    names.push_back(port_name(adapter.name, 1));
  }
  for (const SwitchSpec& s : topology.switches) {
    names.push_back("switch/" + s.name);
    for (std::uint32_t port = 1; port <= s.ports; ++port) names.push_back(port_name(s.name, port));
  }
  return names;
}

Simulation::Simulation(const TopologySpec& topology, std::uint64_t seed, Choices& choices, Order order)
    : topology_(topology),
      seed_(seed),
      choices_(choices),
      cables_(topology),
      least_cable_(least_propagation(topology)),
      components_(component_names(topology)),
      tracer_(engine_),
      has_telemetry_(asks_for_telemetry(topology)),
      plan_(plan_of(topology)),
      neighbours_(neighbours_of(topology, plan_)),
      pkey_tables_(pkey_tables_of(topology)),
      ports_(topology.adapters.size()),
      paths_(engine_, ports_, plan_.levels),
      view_(topology, cables_, nodes_, switch_managements_),
      adapters_(topology.adapters.size()),
      connections_(topology.hosts.size()),
      switches_(topology.switches.size()),
      switch_nodes_(topology.switches.size()),
      switch_managements_(topology.switches.size()),
      drawn_faults_(choices, tracer_, faults_),
      disturbances_(engine_, choices, tracer_, drawn_faults_),
      failing_calls_(choices) {
  set_check_seed(seed);
  for (const Adapter& adapter : adapters_) nodes_.push_back(&adapter.node);
  for (const management::Node& node : switch_nodes_) nodes_.push_back(&node);
  CHECK(plan_.findings.empty());  // the checker has reported them
  in_order(adapters_.size(), order, [&](std::size_t i) { build_adapter(i, seed, choices); });
  in_order(connections_.size(), order, [&](std::size_t i) { build_connections(i); });
  in_order(switches_.size(), order, [&](std::size_t i) { build_switch(i, seed); });
  in_order(topology.links.size(), order, [&](std::size_t i) { build_link(topology.links[i], seed); });
  if (topology.congestion_control.is_given()) configure_congestion(topology.congestion_control);
}

Simulation::~Simulation() = default;

hca::PortAddress Simulation::address_of(std::size_t index) const {
  const subnet::NodePlan& plan = plan_.nodes[index];
  hca::PortAddress address;
  address.node_guid = plan.guid;
  if (const LinkSpec* const link = cables_.at({false, index, 1})) {
    address.active_width = link->rate.active_width;
    address.active_speed = link->rate.active_speed;
  }
  address.gids = gids_of(topology_, plan_, index);
  address.pkeys = pkey_tables_[index];
  address.accepts_any_path = puts_into_order(topology_, topology_.adapters[index]);
  if (topology_.is_roce()) {
    address.roce = true;
    address.mac = plan.ports[0].mac;
    address.netdev_index = topology_.adapters[index].interface_index();
    address.interface_mtu = topology_.interface_mtu_of(topology_.adapters[index]);
    address.neighbours = &neighbours_;
    const hca::HcaProfile& profile = topology_.hca_profile(topology_.adapters[index]);
    address.priorities = fabric::PriorityMap(profile.trust, profile.dscp_to_priority);
    const std::vector<VlanSpec>& vlans = topology_.vlans_of(topology_.adapters[index]);
    const std::size_t first = address.gids.size() - 2 * vlans.size();
    for (std::size_t i = 0; i < vlans.size(); ++i) {
      const std::uint32_t netdev = topology_.first_vlan_interface(topology_.adapters[index]) + static_cast<std::uint32_t>(i);
      for (const std::size_t at : {first + 2 * i, first + 2 * i + 1})
        address.vlan_entries.push_back({at, static_cast<std::uint16_t>(vlans[i].id), netdev});
    }
  } else {
    if (!topology_.manages_subnet()) {
      address.state = hca::PortState::kInit;
      address.pkeys = {ib::kDefaultPkey};
      return address;
    }
    address.lid = plan.ports[0].lid;
    address.sm_lid = plan_.subnet_manager;
    address.sm_service_level = level_of(address.lid, address.sm_lid);
  }
  return address;
}

void Simulation::build_adapter(std::size_t index, std::uint64_t seed, Choices& choices) {
  const AdapterSpec& spec = topology_.adapters[index];
  const hca::HcaProfile& profile = topology_.hca_profile(spec);
  const hca::PortAddress address = address_of(index);
  const ComponentId id = adapter_component(index);
  Adapter& adapter = adapters_[index];
  fabric::PortParams params;
  params.virtual_lanes = profile.virtual_lanes;
  params.input_buffer_bytes = profile.receive_buffer_bytes;
  params.vl15_buffer_bytes = profile.vl15_buffer_bytes;
  params.output_queue_bytes = profile.output_queue_bytes;
  params.arbitration = profile.arbitration;
  params.sl_to_vl = profile.sl_to_vl;
  const auto make_port = [&](auto& owner) {
    adapter.port = std::make_unique<fabric::Port>(engine_, tracer_, components_.id(port_name(spec.name, 1)),
                                                  fabric::PortNumber{1}, params, owner);
    owner.attach(*adapter.port);
  };
  if (profile.is_light()) {
    adapter.light = hca::LightEndpoint::make(engine_, tracer_, choices, id, profile, address);
    make_port(*adapter.light);
  } else {
    adapter.hca = std::make_unique<hca::Hca>(engine_, tracer_, choices, id, topology_.device_name(spec), profile, address);
    make_port(*adapter.hca);
  }
  ports_[index] = {.node_guid = address.node_guid,
                   .roce = address.roce,
                   .lid = address.lid,
                   .gids = address.gids,
                   .pkeys = address.pkeys,
                   .mtu = static_cast<std::uint8_t>(address.active_mtu(profile.max_mtu)),
                   .rate = rate_code(address.active_width, address.active_speed)};
  adapter.node = adapter_node(topology_, cables_, plan_, index, address.pkeys);
  if (adapter.hca != nullptr) build_management(index, seed, choices);
}

void Simulation::build_management(std::size_t index, std::uint64_t seed, Choices& choices) {
  const AdapterSpec& spec = topology_.adapters[index];
  Adapter& adapter = adapters_[index];
  const bool is_managed = topology_.manages_subnet() && !topology_.is_roce();
  const bool manages = is_managed && adapter.hca->address().lid == plan_.subnet_manager;
  adapter.management = std::make_unique<HostManagement>(
      surroundings_of("host/" + topology_.hosts[spec.host].name, adapter.node), *adapter.hca, *adapter.port, ports_[index],
      HostManagement::Subnet{is_managed ? plan_.subnet_manager : ib::Lid{}, manages ? &paths_ : nullptr, &view_}, choices,
      Rng(seed, "cm/" + spec.name));
}

void Simulation::build_connections(std::size_t host) {
  if (!topology_.runs_programs(host)) return;
  std::vector<cm::AdapterSide> sides;
  for (const std::size_t adapter : topology_.adapters_of(host)) sides.push_back(adapters_[adapter].management->side());
  connections_[host] =
      std::make_unique<HostConnections>(engine_, host_component(host), HostAddresses(topology_, host, ports_), sides);
}

NodeSurroundings Simulation::surroundings_of(const std::string& component, management::Node& node) {
  return {engine_, components_.id(component), node, topology_.manages_subnet()};
}

void Simulation::build_switch(std::size_t index, std::uint64_t seed) {
  const SwitchSpec& spec = topology_.switches[index];
  std::vector<ComponentId> ports;
  for (std::uint32_t port = 1; port <= spec.ports; ++port)
    ports.push_back(components_.id(port_name(spec.name, port)));
  switches_[index] = std::make_unique<fabric::Switch>(engine_, tracer_, components_.id("switch/" + spec.name),
                                                      spec.switch_profile, ports);
  if (topology_.is_roce()) {
    // Drawn from the seed like all random values, so runs with several seeds show how much hash collisions
    // matter.
    const std::uint64_t salt = topology_.ecmp_seed == "same" ? 0 : Rng(seed, "ecmp/" + spec.name).next();
    switches_[index]->set_ethernet_routes(subnet::kMacBase, plan_.nodes[adapters_.size() + index].routes, salt);
  } else if (topology_.manages_subnet()) {
    switches_[index]->set_forwarding_table(plan_.nodes[adapters_.size() + index].forwarding_table);
    switches_[index]->set_groups(groups_of(topology_, plan_, index));
  }
  if (topology_.load_balancing.by != "flow") {
    switches_[index]->set_load_balancing(topology_.load_balancing, Rng(seed, "load_balancing/" + spec.name));
  }
  const auto& lanes = plan_.nodes[adapters_.size() + index].lanes;
  for (std::size_t i = 0; topology_.manages_subnet() && i < lanes.size(); ++i)
    switches_[index]->port(fabric::PortNumber{static_cast<std::uint8_t>(i + 1)}).set_lane_table(lanes[i]);
  for (const subnet::NodePlan::TurnLanes& turn : plan_.nodes[adapters_.size() + index].turn_lanes) {
    if (topology_.manages_subnet()) switches_[index]->set_lane_table(turn.in, turn.out, turn.lanes);
  }
  switches_[index]->set_multicast_ports(plan_.nodes[adapters_.size() + index].multicast_ports);
  if (topology_.is_roce()) return;
  if (!topology_.manages_subnet()) switches_[index]->set_multicast_table({});
  switch_nodes_[index] = switch_node(topology_, cables_, plan_, index);
  switch_managements_[index] = std::make_unique<SwitchManagement>(
      surroundings_of("switch/" + spec.name, switch_nodes_[index]), *switches_[index], seed, spec.name);
}

fabric::Port& Simulation::port_of(const Endpoint& end) {
  return end.is_switch ? switches_[end.node]->port(fabric::PortNumber{static_cast<std::uint8_t>(end.port)})
                       : *adapters_[end.node].port;
}

void Simulation::build_link(const LinkSpec& link, std::uint64_t seed) {
  const fabric::LinkParams params = link_params_of(link, topology_.is_roce());
  for (const Endpoint& end : {link.end_a, link.end_b}) {
    if (!end.is_switch) continue;
    auto marking = fabric::marking_of(topology_.switches[end.node].switch_profile.marking, params.byte_time);
    if (marking != nullptr && marking_params_ != nullptr && *marking == *marking_params_) marking = marking_params_;
    if (marking != nullptr) marking_params_ = marking;
    fabric::Port& port = port_of(end);
    if (marking != nullptr) port.set_marking(marking, Rng(seed, "marking/" + components_.name(port.id())));
    if (has_telemetry_) port.set_telemetry();
  }
  for (const auto& [near, far] : {std::pair(link.end_a, link.end_b), std::pair(link.end_b, link.end_a)}) {
    if (!near.is_switch || far.is_switch) continue;
    port_of(near).set_head_lifetime(topology_.switches[near.node].switch_profile.leaf_head_lifetime);
  }
  if (link_params_ == nullptr || *link_params_ != params) link_params_ = std::make_shared<const fabric::LinkParams>(params);
  const auto params_at = [&](const Endpoint& end) {
    if (link.flow_control != "pfc" || link.has_pauses_at(end)) return link_params_;
    fabric::LinkParams lossy = params;
    lossy.flow_control = fabric::FlowControlKind::kNone;
    return std::make_shared<const fabric::LinkParams>(lossy);
  };
  fabric::connect(port_of(link.end_a), port_of(link.end_b), params_at(link.end_a), params_at(link.end_b),
                  fabric::CableKind::kWithinPart);
  for (const Endpoint& end : {link.end_a, link.end_b}) {
    if (!end.is_switch || !link.has_pauses_at(end)) continue;
    const auto watchdog = fabric::watchdog_of(topology_.switches[end.node].switch_profile.watchdog);
    if (watchdog) port_of(end).set_watchdog(*watchdog);
  }
}

void Simulation::configure_congestion(const SubnetCongestionSpec& spec) {
  mad::congestion::SwitchSetting setting;
  setting.control_map = ~mad::congestion::SwitchSetting::kStarvation & 0x1f;
  setting.threshold = static_cast<std::uint8_t>(spec.threshold);
  setting.packet_size = static_cast<std::uint8_t>(spec.packet_size);
  setting.marking_rate = static_cast<std::uint16_t>(spec.marking_rate);
  for (std::size_t port = 0; port < spec.victims.size(); ++port) {
    if (spec.victims[port]) mad::congestion::set_port(setting.victim_mask, static_cast<std::uint8_t>(port));
  }
  for (const auto& one : switch_managements_) one->configure(setting);
  for (const Adapter& adapter : adapters_) {
    adapter.management != nullptr ? adapter.management->configure(spec.injection) : adapter.light->set_injection(spec.injection);
  }
}

void Simulation::add_faults(const std::vector<FaultSpec>& faults) {
  static constexpr std::pair<std::string_view, faults::Action> kActions[] = {
      {"drop", faults::Action::kDrop},
      {"duplicate", faults::Action::kDuplicate},
      {"corrupt", faults::Action::kCorrupt},
      {"delay", faults::Action::kDelay},
      {"mark", faults::Action::kMark},
      {"link_down", faults::Action::kLinkDown},
      {"pause_storm", faults::Action::kPauseStorm}};
  if (topology_.manages_subnet()) reroute(faults);
  std::map<ComponentId, std::uint32_t> rules_at;
  for (const FaultSpec& spec : faults) {
    const faults::Selection selection{static_cast<std::uint64_t>(spec.nth), static_cast<std::uint64_t>(spec.every),
                                      static_cast<std::uint64_t>(spec.times())};
    fault_kinds_.push_back(spec.of_management() ? FaultKind::kManagement
                           : spec.of_adapter()  ? FaultKind::kAdapter
                                                : FaultKind::kFabric);
    if (spec.of_adapter()) {
      adapter_faults_.add(instant_from_ps(spec.at.count()), endpoint(spec.adapter_index));
      continue;
    }
    if (spec.of_management()) {
      faults::ManagementRule rule{.selection = selection,
                                  .after = instant_from_ps(spec.after.count()),
                                  .delay = spec.delay,
                                  .from = spec.from_host,
                                  .to = spec.to_host};
      using faults::ManagementProtocol;
      if (spec.protocol == "tcp") rule.protocol = ManagementProtocol::kTcp;
      if (spec.protocol == "udp") rule.protocol = ManagementProtocol::kUdp;
      if (spec.protocol == "icmp") rule.protocol = ManagementProtocol::kIcmp;
      management_faults_.add(rule);
      continue;
    }
    faults::Rule rule;
    for (const auto& [name, action] : kActions) {
      if (spec.action == name) rule.action = action;
    }
    for (std::uint32_t code = 0; code < 0x20; ++code) {
      const auto operation = static_cast<ib::Operation>(code);
      if (ib::info(make_opcode(ib::Transport::kRc, operation)).name == spec.opcode)
        rule.operation = operation;
    }
    rule.selection = selection;
    rule.burst = {static_cast<std::uint64_t>(spec.burst), spec.burst_lengths == "geometric"};
    if (spec.is_random()) rule.chance = faults::Chance{static_cast<std::uint64_t>(spec.rate), kFractionParts};
    rule.after = instant_from_ps(spec.after.count());
    rule.delay = spec.delay;
    rule.hidden = spec.icrc == "valid";
    rule.byte = static_cast<std::uint64_t>(spec.byte);
    rule.down = instant_from_ps(spec.at.count());
    if (spec.until.count() != 0) rule.up = instant_from_ps(spec.until.count());
    rule.priorities = spec.storming_lanes;
    fabric::Port& port = port_of(spec.end);
    // Rules of each end are numbered separately, so its random stream does not depend on other faults.
    const std::string stream = "fault/" + components_.name(port.id()) + "/" + std::to_string(rules_at[port.id()]++);
    faults_.add(rule, port, Rng(seed_, stream));
  }
}

void Simulation::reroute(const std::vector<FaultSpec>& faults) {
  ComponentId manager;
  for (std::size_t i = 0; i < adapters_.size(); ++i) {
    if (plan_.nodes[i].ports[0].lid == plan_.subnet_manager) manager = components_.id(port_name(topology_.adapters[i].name, 1));
  }
  Reroutes reroutes = route_changes_of(topology_, faults, plan_, manager);
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    if (!reroutes.by_switch[i].empty()) switches_[i]->set_route_changes(std::move(reroutes.by_switch[i]));
  }
  paths_.set_changes(std::move(reroutes.paths));
}

void Simulation::draw_faults(std::int64_t budget) {
  if (budget <= 0) return;
  drawn_faults_.set_budget(static_cast<std::uint64_t>(budget));
  for (const LinkSpec& link : topology_.links) {
    drawn_faults_.add(port_of(link.end_a));
    drawn_faults_.add(port_of(link.end_b));
  }
}

void Simulation::draw_disturbances(bool of_datagrams) {
  for (const LinkSpec& link : topology_.links) {
    disturbances_.add(port_of(link.end_a));
    disturbances_.add(port_of(link.end_b));
  }
  disturbances_.set_patience([this] { return least_patience(); });
  hca::Quirks quirks = 0;
  for (const HostSpec& host : topology_.hosts) quirks |= host.hca_profile.quirks;
  if (of_datagrams) disturbances_.disturb_datagrams((quirks & bit_of(hca::Quirk::kDuplicatedDatagrams)) != 0);
}

Duration Simulation::least_patience() const {
  Duration least = hca::patience_of(hca::kLongestTimeout, 1);
  for (const Adapter& adapter : adapters_) {
    if (adapter.hca != nullptr) least = std::min(least, adapter.hca->inspector().least_patience());
  }
  return least;
}

void Simulation::draw_failing_calls(std::int64_t budget) {
  if (budget <= 0) return;
  failing_calls_.set_budget(static_cast<std::uint64_t>(budget));
  for (std::size_t i = 0; i < adapters_.size(); ++i) {
    if (adapters_[i].hca == nullptr) continue;
    adapters_[i].hca->use_failing_calls(failing_calls_, host_component(topology_.adapters[i].host));
  }
}

Duration Simulation::least_latency_to(std::size_t host) const {
  Duration least = Duration::max();
  for (const std::size_t adapter : topology_.adapters_of(host)) {
    const Endpoint end{false, adapter, 1};
    const LinkSpec* const link = cables_.at(end);
    if (link == nullptr) continue;
    const Endpoint& far = link->end_a == end ? link->end_b : link->end_a;
    Duration way = link->propagation();
    if (far.is_switch) {
      const fabric::SwitchProfile& profile = topology_.switches[far.node].switch_profile;
      way += least_cable_ + (ClockDomain(profile.core_clock_hz).edge(profile.cut_through_cycles) - Instant{});
    }
    least = std::min(least, way);
  }
  return least == Duration::max() ? Duration::zero() : least;
}

std::vector<Simulation::FaultCount> Simulation::fault_counts() const {
  std::vector<FaultCount> counts;
  std::size_t of_fabric = 0, of_management = 0, of_adapters = 0;
  for (const FaultKind kind : fault_kinds_) {
    switch (kind) {
      case FaultKind::kFabric:
        counts.push_back({faults_.seen(of_fabric), faults_.fired(of_fabric)});
        ++of_fabric;
        break;
      case FaultKind::kManagement:
        counts.push_back({management_faults_.seen(of_management), management_faults_.fired(of_management)});
        ++of_management;
        break;
      case FaultKind::kAdapter:
        counts.push_back({0, adapter_faults_.fired(of_adapters++)});
        break;
    }
  }
  return counts;
}

}  // namespace verbatim::config
