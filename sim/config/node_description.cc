#include "sim/config/node_description.h"

#include <algorithm>
#include <bit>

#include "sim/fabric/lane_table.h"
#include "sim/ib/partition.h"

namespace verbatim::config {

namespace {

using management::Node;
using management::NodePort;
using mad::smp::PhysicalState;
using mad::smp::PortState;

constexpr std::uint8_t kMost4096 = 5;  // code of ibv_mtu
constexpr std::uint32_t kSwitchVendor = 0x2c9, kSwitchDevice = 52000;

// IBA 14.2.5.6, VLCap: the greatest code whose number of lanes the port has.
std::uint8_t lanes_code(std::uint32_t lanes) {
  return lanes >= 15 ? 5 : lanes >= 8 ? 4 : lanes >= 4 ? 3 : lanes >= 2 ? 2 : 1;
}

std::uint32_t lanes_at(const TopologySpec& topology, const Endpoint& end) {
  return end.is_switch ? topology.switches[end.node].switch_profile.virtual_lanes
                       : topology.hca_profile(topology.adapters[end.node]).virtual_lanes;
}

std::uint8_t mtu_at(const TopologySpec& topology, const Endpoint& end) {
  return end.is_switch ? kMost4096 : static_cast<std::uint8_t>(topology.hca_profile(topology.adapters[end.node]).max_mtu);
}

// Codes of ibv_port_attr; 14 Gb/s a lane and more are extended speeds.
void set_rate(mad::smp::PortInfo& info, std::uint32_t width, std::uint32_t speed) {
  constexpr std::uint32_t kOne = 1, kQdr = 4, kFdr10 = 8, kFdr = 16;
  info.width_active = static_cast<std::uint8_t>(width);
  info.width_supported = info.width_enabled = static_cast<std::uint8_t>(width | kOne);
  const bool is_extended = speed >= kFdr;
  info.speed_active = static_cast<std::uint8_t>(is_extended || speed == kFdr10 ? kQdr : speed);
  info.speed_supported = info.speed_enabled = static_cast<std::uint8_t>(2 * info.speed_active - 1);
  if (!is_extended) return;
  info.extended_speed_active = static_cast<std::uint8_t>(speed / kFdr);
  info.extended_speed_supported = info.extended_speed_enabled = static_cast<std::uint8_t>(2 * info.extended_speed_active - 1);
  info.capabilities |= mad::smp::kHasExtendedSpeeds;
}

// IBA 7.6.9: tables of 64 entries, a lane and a weight each, sent in halves.
void put_arbitration(NodePort& port, const fabric::ArbitrationTables& tables, std::uint32_t lanes) {
  constexpr std::size_t kEntries = 32;
  port.info.vl_high_limit = static_cast<std::uint8_t>(tables.high_limit);
  if (lanes < 2) return;  // a port with one lane has no tables
  port.info.vl_arbitration_high_capacity = port.info.vl_arbitration_low_capacity = 2 * kEntries;
  const fabric::ArbitrationTables all = tables.or_default();
  for (const auto& [entries, first] : {std::pair(&all.low, 0), std::pair(&all.high, 2)}) {
    for (std::size_t i = 0; i < entries->size() && i < 2 * kEntries; ++i) {
      const auto block = static_cast<std::size_t>(first) + i / kEntries;
      port.vl_arbitration[block][i % kEntries * 2] = std::byte((*entries)[i].lane);
      port.vl_arbitration[block][i % kEntries * 2 + 1] = std::byte((*entries)[i].weight);
    }
  }
}

std::uint32_t operational_lanes(const TopologySpec& topology, const CableIndex& cables, const Endpoint& end) {
  const auto far = cables.far_end(end);
  return far ? std::min(lanes_at(topology, end), lanes_at(topology, *far)) : lanes_at(topology, end);
}

NodePort port_at(const TopologySpec& topology, const CableIndex& cables, const Endpoint& end,
                 const fabric::ArbitrationTables& arbitration, const std::vector<fabric::LevelMapping>& sl_to_vl) {
  NodePort port;
  mad::smp::PortInfo& info = port.info;
  const std::uint32_t lanes = lanes_at(topology, end);
  info.vl_capacity = info.operational_vls = lanes_code(lanes);
  info.mtu_capacity = info.neighbor_mtu = mtu_at(topology, end);
  put_arbitration(port, arbitration, lanes);
  const std::uint32_t operational = operational_lanes(topology, cables, end);
  if (const LinkSpec* link = cables.at(end)) {
    const Endpoint& far = link->end_a == end ? link->end_b : link->end_a;
    info.operational_vls = lanes_code(operational);
    info.neighbor_mtu = std::min(info.neighbor_mtu, mtu_at(topology, far));
    set_rate(info, link->rate.active_width, link->rate.active_speed);
    info.physical_state = PhysicalState::kLinkUp;
    info.state = topology.manages_subnet() ? PortState::kActive : PortState::kInit;
  } else {
    constexpr std::uint32_t kFour = 2, kEdr = 32;
    set_rate(info, kFour, kEdr);
  }
  const fabric::LaneTable table(sl_to_vl);
  for (std::uint8_t level = 0; level < port.sl_to_vl.size(); ++level) {
    port.sl_to_vl[level] = table.of(ib::ServiceLevel{level}, operational).value;
  }
  return port;
}

void take_given(Node& node, const NodeSpec& given) {
  if (!given.description.empty()) node.description = given.description;
  if (given.system_guid != 0) node.info.system_image_guid = given.system_guid;
  if (given.device_id != 0) node.info.device_id = static_cast<std::uint16_t>(given.device_id);
}

}  // namespace

Node adapter_node(const TopologySpec& topology, const CableIndex& cables, const subnet::Plan& plan, std::size_t index,
                  const std::vector<std::uint16_t>& pkeys) {
  const AdapterSpec& spec = topology.adapters[index];
  const hca::HcaProfile& profile = topology.hca_profile(spec);
  const subnet::NodePlan& planned = plan.nodes[index];
  Node node;
  node.description = topology.hosts[spec.host].name + " " + topology.device_name(spec);
  node.info.port_count = 1;
  node.info.system_image_guid = node.info.node_guid = planned.guid;
  node.info.port_guid = planned.ports[0].guid;
  node.info.partition_capacity = static_cast<std::uint16_t>(profile.pkey_table_length);
  node.info.device_id = static_cast<std::uint16_t>(profile.vendor_part_id);
  node.info.vendor_id = profile.vendor_id & 0xffffff;
  take_given(node, topology.node_of(spec));
  node.ports.resize(1);
  node.ports.push_back(port_at(topology, cables, {false, index, 1}, profile.arbitration, profile.sl_to_vl));
  NodePort& port = node.ports[1];
  port.guids.assign(profile.gid_table_length, 0);
  port.guids[0] = planned.ports[0].guid;
  port.pkeys = pkeys;
  port.pkeys.resize(std::max<std::size_t>(profile.pkey_table_length, pkeys.size()), 0);
  port.info.guid_capacity = static_cast<std::uint8_t>(std::min(profile.gid_table_length, 255u));
  port.info.capabilities |= mad::smp::kHasMigration | mad::smp::kHasServiceLevels | mad::smp::kHasCommunicationManagement |
                            mad::smp::kHasClientReregistration | mad::smp::kHasTrap;
  if (topology.is_roce() || !topology.manages_subnet()) return node;
  port.info.lid = planned.ports[0].lid.value;
  port.info.master_sm_lid = plan.subnet_manager.value;
  if (plan.levels != nullptr) port.info.master_sm_sl = plan.levels->of(planned.ports[0].lid, plan.subnet_manager);
  if (port.info.lid == port.info.master_sm_lid) port.info.capabilities |= mad::smp::kIsSubnetManager;
  return node;
}

Node switch_node(const TopologySpec& topology, const CableIndex& cables, const subnet::Plan& plan, std::size_t index) {
  const SwitchSpec& spec = topology.switches[index];
  const fabric::SwitchProfile& profile = spec.switch_profile;
  const subnet::NodePlan& planned = plan.nodes[topology.adapters.size() + index];
  Node node;
  node.description = spec.name;
  node.info.type = mad::smp::NodeType::kSwitch;
  node.info.port_count = static_cast<std::uint8_t>(spec.ports);
  node.info.system_image_guid = node.info.node_guid = node.info.port_guid = planned.guid;
  node.info.device_id = static_cast<std::uint16_t>(kSwitchDevice);
  node.info.vendor_id = kSwitchVendor;
  take_given(node, spec.node);
  node.ports.resize(1);
  for (std::uint32_t number = 1; number <= spec.ports; ++number) {
    const bool is_planned = topology.manages_subnet() && number <= planned.lanes.size();
    node.ports.push_back(port_at(topology, cables, {true, index, number}, profile.arbitration,
                                 is_planned ? planned.lanes[number - 1] : profile.sl_to_vl));
  }
  for (const subnet::NodePlan::TurnLanes& turn : planned.turn_lanes) {
    if (!topology.manages_subnet()) break;
    const fabric::LaneTable table(turn.lanes);
    const std::uint32_t operational = operational_lanes(topology, cables, {true, index, turn.out.value});
    std::array<std::uint8_t, 16>& lanes = node.turn_lanes[{turn.in.value, turn.out.value}];
    for (std::uint8_t level = 0; level < lanes.size(); ++level)
      lanes[level] = table.of(ib::ServiceLevel{level}, operational).value;
  }
  NodePort& own = node.ports[0];
  own.guids.assign(1, planned.guid);
  own.pkeys.assign(1, ib::kDefaultPkey);
  own.info.guid_capacity = 1;
  own.info.physical_state = PhysicalState::kLinkUp;
  own.info.state = PortState::kActive;
  own.info.capabilities = mad::smp::kHasServiceLevels | mad::smp::kHasTrap;
  set_rate(own.info, 1, 1);
  own.info.capabilities |= mad::smp::kHasExtendedSpeeds;  // the node has those of all its ports
  node.switch_info.port_state_change = !topology.manages_subnet();
  if (topology.is_roce() || !topology.manages_subnet()) return node;
  own.info.lid = planned.ports[0].lid.value;
  own.info.master_sm_lid = plan.subnet_manager.value;
  for (const fabric::PortNumber port : planned.forwarding_table) node.forwarding.push_back(port.value);
  if (!node.forwarding.empty()) node.switch_info.linear_top = static_cast<std::uint16_t>(node.forwarding.size() - 1);
  return node;
}

}  // namespace verbatim::config
