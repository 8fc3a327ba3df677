#include "sim/config/cabling.h"

#include <algorithm>

#include "sim/fabric/switch.h"

namespace verbatim::config {

namespace {

std::size_t node_index(const TopologySpec& topology, const Endpoint& end) {
  return end.is_switch ? topology.adapters.size() + end.node : end.node;
}

fabric::PortNumber port_number(const Endpoint& end) {
  return fabric::PortNumber{static_cast<std::uint8_t>(end.port)};
}

}  // namespace

CableIndex::CableIndex(const TopologySpec& topology) : topology_(topology) {
  std::size_t places = 0;
  for (const subnet::Node& node : nodes_of(topology)) {
    first_.push_back(places);
    places += node.ports;
  }
  first_.push_back(places);
  links_.assign(places, kNone);
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    for (const Endpoint& end : {topology.links[i].end_a, topology.links[i].end_b})
      links_[first_[node_index(topology, end)] + end.port - 1] = static_cast<std::uint32_t>(i);
  }
}

std::vector<subnet::Node> nodes_of(const TopologySpec& topology) {
  std::vector<subnet::Node> nodes;
  for (const AdapterSpec& adapter : topology.adapters)
    nodes.push_back({adapter.name, subnet::NodeKind::kAdapter, 1, !topology.hca_profile(adapter).is_light()});
  for (const SwitchSpec& s : topology.switches) nodes.push_back({s.name, subnet::NodeKind::kSwitch, s.ports});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t adapters = topology.adapters.size();
    const NodeSpec& given = i < adapters ? topology.node_of(topology.adapters[i]) : topology.switches[i - adapters].node;
    nodes[i].guid = given.guid;
    nodes[i].port_guid = given.port_guid;
    nodes[i].lid = static_cast<std::uint16_t>(given.lid);
  }
  return nodes;
}

std::vector<subnet::Cable> cables_of(const TopologySpec& topology) {
  std::vector<subnet::Cable> cables;
  for (const LinkSpec& link : topology.links) {
    cables.push_back({{node_index(topology, link.end_a), port_number(link.end_a)},
                      {node_index(topology, link.end_b), port_number(link.end_b)}});
  }
  return cables;
}

subnet::Routing routing_of(const TopologySpec& topology) {
  constexpr std::uint32_t kMostLanes = 15;
  subnet::Routing routing = topology.routing;
  routing.lanes = kMostLanes;
  for (const LinkSpec& link : topology.links) {
    if (!link.end_a.is_switch || !link.end_b.is_switch) continue;
    for (const Endpoint& end : {link.end_a, link.end_b})
      routing.lanes = std::min(routing.lanes, topology.switches[end.node].switch_profile.virtual_lanes);
  }
  return routing;
}

std::shared_ptr<const fabric::RouteTable> groups_of(const TopologySpec& topology, const subnet::Plan& plan, std::size_t index) {
  const std::shared_ptr<const fabric::RouteTable>& all = plan.nodes[topology.adapters.size() + index].routes;
  if (all == nullptr || topology.is_roce()) return nullptr;
  std::shared_ptr<fabric::RouteTable> some;
  for (std::size_t i = 0; i < topology.adapters.size(); ++i) {
    if (puts_into_order(topology, topology.adapters[i])) continue;
    if (some == nullptr) some = std::make_shared<fabric::RouteTable>(*all);
    some->set(plan.nodes[i].ports[0].lid.value, fabric::RouteTable::kNone);
  }
  return some == nullptr ? all : some;
}

std::vector<ib::Gid> gids_of(const TopologySpec& topology, const subnet::Plan& plan, std::size_t adapter) {
  const subnet::PortPlan& port = plan.nodes[adapter].ports[0];
  if (!topology.is_roce()) return {port.gid};
  const ib::IpInterface interface = topology.interface_of(adapter);
  std::vector<ib::Gid> gids = {subnet::link_local_gid(port.mac), interface.v4(), interface.v6()};
  for (const VlanSpec& vlan : topology.vlans_of(topology.adapters[adapter])) {
    gids.push_back(vlan.interface.v4());
    gids.push_back(vlan.interface.v6());
  }
  return gids;
}

std::vector<std::vector<std::uint16_t>> pkey_tables_of(const TopologySpec& topology) {
  std::vector<subnet::Partition> partitions;
  for (const PartitionSpec& spec : topology.partitions) {
    partitions.push_back({static_cast<std::uint16_t>(spec.number), spec.full_members, spec.limited_members});
  }
  return subnet::pkey_tables(topology.adapters.size(), std::move(partitions));
}

std::vector<Endpoint> outputs_of(const TopologySpec& topology, const CableIndex& cables, const subnet::Plan& plan,
                                 std::size_t from, std::size_t to) {
  const std::uint16_t lid = plan.nodes[to].ports[0].lid.value;
  std::vector<Endpoint> outputs;
  Endpoint at{false, from, 1};
  // A route visits a switch at most once.
  for (std::size_t hop = 0; hop <= topology.switches.size(); ++hop) {
    const auto next = cables.far_end(at);
    if (!next) return {};
    outputs.push_back(at);
    at = *next;
    if (!at.is_switch) return at.node == to ? outputs : std::vector<Endpoint>{};
    const auto& table = plan.nodes[topology.adapters.size() + at.node].forwarding_table;
    if (lid >= table.size() || table[lid] == fabric::Switch::kNoRoute) return {};
    at.port = table[lid].value;
  }
  return {};
}

std::vector<std::string> route(const TopologySpec& topology, const subnet::Plan& plan, std::size_t from,
                               std::size_t to) {
  const CableIndex cables(topology);
  const auto name = [&](const Endpoint& end) {
    return topology.node_name(end) + ":" + std::to_string(end.port);
  };
  std::vector<std::string> hops;
  for (const Endpoint& out : outputs_of(topology, cables, plan, from, to)) {
    if (out.is_switch) hops.push_back(name(out));
    hops.push_back(name(*cables.far_end(out)));
  }
  return hops;
}

}  // namespace verbatim::config
