#include "sim/mad/smp.h"

#include <cstring>

#include "sim/mad/fields.h"

namespace verbatim::mad::smp {

namespace {

template <class Fields, class Route>
void visit_route(Fields& fields, Route& route) {
  fields.number(4, 0, 1, route.is_return);
  fields.number(6, 0, 8, route.hop_pointer);
  fields.number(7, 0, 8, route.hop_count);
  fields.number(32, 0, 16, route.drslid);
  fields.number(34, 0, 16, route.drdlid);
  for (std::size_t i = 0; i < route.initial_path.size(); ++i) {
    fields.number(128 + i, 0, 8, route.initial_path[i]);
    fields.number(192 + i, 0, 8, route.return_path[i]);
  }
}

template <class Fields, class Info>
void visit_node(Fields& fields, Info& node) {
  fields.number(0, 0, 8, node.base_version);
  fields.number(1, 0, 8, node.class_version);
  fields.number(2, 0, 8, node.type);
  fields.number(3, 0, 8, node.port_count);
  fields.number(4, 0, 64, node.system_image_guid);
  fields.number(12, 0, 64, node.node_guid);
  fields.number(20, 0, 64, node.port_guid);
  fields.number(28, 0, 16, node.partition_capacity);
  fields.number(30, 0, 16, node.device_id);
  fields.number(32, 0, 32, node.revision);
  fields.number(36, 0, 8, node.local_port);
  fields.number(37, 0, 24, node.vendor_id);
}

template <class Fields, class Info>
void visit_switch(Fields& fields, Info& info) {
  fields.number(0, 0, 16, info.linear_capacity);
  fields.number(2, 0, 16, info.random_capacity);
  fields.number(4, 0, 16, info.multicast_capacity);
  fields.number(6, 0, 16, info.linear_top);
  fields.number(8, 0, 8, info.default_port);
  fields.number(9, 0, 8, info.default_multicast_primary);
  fields.number(10, 0, 8, info.default_multicast_not_primary);
  fields.number(11, 0, 5, info.life_time);
  fields.number(11, 5, 1, info.port_state_change);
  fields.number(11, 6, 2, info.optimized_sl_to_vl);
  fields.number(12, 0, 16, info.lids_per_port);
  fields.number(14, 0, 16, info.partition_enforcement_capacity);
  fields.number(16, 0, 1, info.inbound_enforcement);
  fields.number(16, 1, 1, info.outbound_enforcement);
  fields.number(16, 2, 1, info.filter_raw_inbound);
  fields.number(16, 3, 1, info.filter_raw_outbound);
  fields.number(16, 4, 1, info.enhanced_port0);
  fields.number(18, 0, 16, info.multicast_top);
}

template <class Fields, class Info>
void visit_port(Fields& fields, Info& port) {
  fields.number(0, 0, 64, port.mkey);
  fields.number(8, 0, 64, port.gid_prefix);
  fields.number(16, 0, 16, port.lid);
  fields.number(18, 0, 16, port.master_sm_lid);
  fields.number(20, 0, 32, port.capabilities);
  fields.number(24, 0, 16, port.diagnostic_code);
  fields.number(26, 0, 16, port.mkey_lease_period);
  fields.number(28, 0, 8, port.local_port);
  fields.number(29, 0, 8, port.width_enabled);
  fields.number(30, 0, 8, port.width_supported);
  fields.number(31, 0, 8, port.width_active);
  fields.number(32, 0, 4, port.speed_supported);
  fields.number(32, 4, 4, port.state);
  fields.number(33, 0, 4, port.physical_state);
  fields.number(33, 4, 4, port.down_default_state);
  fields.number(34, 0, 2, port.mkey_protect_bits);
  fields.number(34, 5, 3, port.lmc);
  fields.number(35, 0, 4, port.speed_active);
  fields.number(35, 4, 4, port.speed_enabled);
  fields.number(36, 0, 4, port.neighbor_mtu);
  fields.number(36, 4, 4, port.master_sm_sl);
  fields.number(37, 0, 4, port.vl_capacity);
  fields.number(37, 4, 4, port.init_type);
  fields.number(38, 0, 8, port.vl_high_limit);
  fields.number(39, 0, 8, port.vl_arbitration_high_capacity);
  fields.number(40, 0, 8, port.vl_arbitration_low_capacity);
  fields.number(41, 0, 4, port.init_type_reply);
  fields.number(41, 4, 4, port.mtu_capacity);
  fields.number(42, 0, 3, port.vl_stall_count);
  fields.number(42, 3, 5, port.head_lifetime);
  fields.number(43, 0, 4, port.operational_vls);
  fields.number(43, 4, 1, port.inbound_enforcement);
  fields.number(43, 5, 1, port.outbound_enforcement);
  fields.number(43, 6, 1, port.filter_raw_inbound);
  fields.number(43, 7, 1, port.filter_raw_outbound);
  fields.number(44, 0, 16, port.mkey_violations);
  fields.number(46, 0, 16, port.pkey_violations);
  fields.number(48, 0, 16, port.qkey_violations);
  fields.number(50, 0, 8, port.guid_capacity);
  fields.number(51, 0, 1, port.client_reregister);
  fields.number(51, 3, 5, port.subnet_timeout);
  fields.number(52, 3, 5, port.response_time);
  fields.number(53, 0, 4, port.local_physical_errors);
  fields.number(53, 4, 4, port.overrun_errors);
  fields.number(54, 0, 16, port.max_credit_hint);
  fields.number(57, 0, 24, port.link_round_trip_latency);
  fields.number(60, 0, 16, port.capabilities2);
  fields.number(62, 0, 4, port.extended_speed_active);
  fields.number(62, 4, 4, port.extended_speed_supported);
  fields.number(63, 3, 5, port.extended_speed_enabled);
}

template <class Info, class Visit>
Data encode_with(const Info& info, Visit visit) {
  Data data{};
  FieldWriter writer(data);
  visit(writer, info);
  return data;
}

template <class Info, class Visit>
Info decode_with(std::span<const std::byte> bytes, Visit visit) {
  Info info;
  FieldReader reader(bytes);
  visit(reader, info);
  return info;
}

}  // namespace

Data data_of(const ib::Mad& mad) {
  Data data;
  std::memcpy(data.data(), &mad[kDataOffset], data.size());
  return data;
}

void put_data(ib::Mad& mad, const Data& data) { std::memcpy(&mad[kDataOffset], data.data(), data.size()); }

std::uint64_t mkey_of(const ib::Mad& mad) {
  std::uint64_t key;
  FieldReader(mad).number(kHeaderBytes, 0, 64, key);
  return key;
}

DirectedRoute DirectedRoute::of(const ib::Mad& mad) {
  DirectedRoute route;
  FieldReader reader(mad);
  visit_route(reader, route);
  return route;
}

void DirectedRoute::put(ib::Mad& mad) const {
  FieldWriter writer(mad);
  visit_route(writer, *this);
}

Data NodeInfo::encode() const {
  return encode_with(*this, [](auto& fields, auto& info) { visit_node(fields, info); });
}
NodeInfo NodeInfo::decode(std::span<const std::byte> bytes) {
  return decode_with<NodeInfo>(bytes, [](auto& fields, auto& info) { visit_node(fields, info); });
}
Data SwitchInfo::encode() const {
  return encode_with(*this, [](auto& fields, auto& info) { visit_switch(fields, info); });
}
SwitchInfo SwitchInfo::decode(std::span<const std::byte> bytes) {
  return decode_with<SwitchInfo>(bytes, [](auto& fields, auto& info) { visit_switch(fields, info); });
}
Data PortInfo::encode() const {
  return encode_with(*this, [](auto& fields, auto& info) { visit_port(fields, info); });
}
PortInfo PortInfo::decode(std::span<const std::byte> bytes) {
  return decode_with<PortInfo>(bytes, [](auto& fields, auto& info) { visit_port(fields, info); });
}

Data SmInfo::encode() const {
  Data data{};
  FieldWriter writer(data);
  writer.number(0, 0, 64, guid);
  writer.number(8, 0, 64, sm_key);
  writer.number(16, 0, 32, act_count);
  writer.number(20, 0, 4, priority);
  writer.number(20, 4, 4, state);
  return data;
}

}  // namespace verbatim::mad::smp
