#include "sim/config/node_management.h"

#include <algorithm>
#include <utility>

#include "sim/ib/lid_ranges.h"

namespace verbatim::config {

namespace {

using mad::smp::PhysicalState;
using mad::smp::PortState;

constexpr std::uint8_t kAdapterPort = 1;

void set_link_state(management::NodePort& port, bool up, bool is_managed) {
  port.info.physical_state = up ? PhysicalState::kLinkUp : port.info.down_default_state;
  port.info.state = !up ? PortState::kDown : is_managed ? PortState::kActive : PortState::kInit;
}

std::vector<fabric::LevelMapping> lanes_of(const std::array<std::uint8_t, 16>& sl_to_vl) {
  std::vector<fabric::LevelMapping> mappings;
  for (std::uint32_t level = 0; level < sl_to_vl.size(); ++level) mappings.push_back({level, sl_to_vl[level]});
  return mappings;
}

// IBA 14.2.5.9: blocks of 32 entries, a lane and a weight each; the first two blocks are the low priority
// table.
fabric::ArbitrationTables arbitration_of(const management::NodePort& port) {
  constexpr std::size_t kBytesPerEntry = 2;
  fabric::ArbitrationTables tables;
  tables.high_limit = port.info.vl_high_limit;
  for (std::size_t block = 0; block < port.vl_arbitration.size(); ++block) {
    const mad::smp::Data& data = port.vl_arbitration[block];
    for (std::size_t at = 0; at < data.size(); at += kBytesPerEntry) {
      const auto lane = std::to_integer<std::uint32_t>(data[at] & std::byte{0x0f});
      const auto weight = std::to_integer<std::uint32_t>(data[at + 1]);
      if (weight > 0 && lane < fabric::kManagementLane.value) (block < 2 ? tables.low : tables.high).push_back({lane, weight});
    }
  }
  // Tables without weight serve no lane, whereas empty ones would mean the defaults.
  if (tables.high.empty() && tables.low.empty()) tables.low.push_back({0, 0});
  return tables;
}

// A port with one data lane has no tables.
void set_arbitration(fabric::Port& hardware, const management::NodePort& port) {
  if (port.info.vl_arbitration_low_capacity > 0) hardware.set_arbitration(arbitration_of(port));
}

// The port's counters in the form of a performance agent.
management::PortCounts counts_of(const ib::PortCounters& counted) {
  management::PortCounts counts;
  counts.words_transmitted = counted.xmit_bytes / 4;
  counts.words_received = counted.rcv_bytes / 4;
  counts.packets_transmitted = counted.xmit_packets;
  counts.packets_received = counted.rcv_packets;
  counts.multicast_transmitted = counted.multicast_xmit_packets;
  counts.multicast_received = counted.multicast_rcv_packets;
  counts.symbol_errors = counted.symbol_errors;
  counts.link_error_recoveries = counted.link_error_recoveries;
  counts.links_downed = counted.link_downed;
  counts.receive_errors = counted.rcv_errors;
  counts.remote_physical_errors = counted.rcv_remote_physical_errors;
  counts.switch_relay_errors = counted.rcv_switch_relay_errors;
  counts.transmit_discards = counted.xmit_discards;
  counts.transmit_constraint_errors = counted.xmit_constraint_errors;
  counts.receive_constraint_errors = counted.rcv_constraint_errors;
  counts.local_integrity_errors = counted.local_link_integrity_errors;
  counts.buffer_overruns = counted.excessive_buffer_overruns;
  counts.vl15_dropped = counted.vl15_dropped;
  counts.transmit_wait = static_cast<std::uint64_t>(counted.xmit_wait / ib::kWaitTick);
  return counts;
}

void set_link_of(fabric::Port& port, bool up) {
  if (port.connected()) port.set_enabled(up);
}

}  // namespace

AdapterManagement::AdapterManagement(const NodeSurroundings& in, hca::Hca& hca, fabric::Port& port, cm::PortFacts& facts,
                                     std::function<void(ib::Lid)> on_manager)
    : in_(in),
      hca_(hca),
      port_(port),
      facts_(facts),
      on_manager_(std::move(on_manager)),
      agents_(in.engine, in.source, in.node, *this, *this, *this, *this),
      programs_(in.engine, in.source, *this) {
  port_.set_active(in.node.ports[kAdapterPort].is_active() || !has_subnet_management());
  if (has_subnet_management()) hca.attach(static_cast<ib::KeyViolationListener&>(*this));
}

std::uint16_t AdapterManagement::lid() const { return in_.node.ports[kAdapterPort].info.lid; }

void AdapterManagement::on_bad_pkey(const ib::KeyViolation& violation) {
  agents_.trap(mad::bad_pkey_notice(lid(), violation));
}

void AdapterManagement::on_bad_qkey(const ib::KeyViolation& violation) {
  agents_.trap(mad::bad_qkey_notice(lid(), violation));
}

// Firmware answers its own management classes; the processor gets all other datagrams at once.
void AdapterManagement::receive(const ib::ManagementDatagram& datagram) {
  const mad::Header header = mad::header_of(datagram.mad);
  const bool is_firmwares = datagram.is_subnet_management() || header.management_class == mad::kPerformanceManagement ||
                            header.management_class == mad::kCongestionControl;
  if (is_firmwares) return agents_.receive(datagram, kAdapterPort, in_.engine.now());
  agents_.serve(datagram, kAdapterPort);
}

void AdapterManagement::send(const ib::ManagementDatagram& datagram) { agents_.send(datagram); }

// IBA 14.2.5.13: if the simulation's subnet manager runs here, it answers before that of a program. It
// answers a trap with TrapRepress (IBA 13.4.9); its sweep after a failed cable sends no datagrams
// (reroutes.h).
bool AdapterManagement::deliver(const ib::ManagementDatagram& datagram) {
  const mad::Header header = mad::header_of(datagram.mad);
  const management::NodePort& port = in_.node.ports[kAdapterPort];
  const bool is_manager = in_.is_managed && port.info.lid == port.info.master_sm_lid;
  const bool asks_for_manager = header.method == mad::kGet && header.attribute_id == mad::smp::kSmInfo;
  const bool is_trap = header.method == mad::kTrap && header.attribute_id == mad::smp::kNotice;
  if (!is_manager || !datagram.is_subnet_management() || !(asks_for_manager || is_trap)) return programs_.deliver(datagram);
  ib::ManagementDatagram answer = datagram;
  if (is_trap) {
    mad::Header head = header;
    head.method = mad::kTrapRepress;
    mad::put_header(answer.mad, head);
    send(answer);
    return true;
  }
  mad::Header head = header;
  head.method = mad::kGetResponse;
  if (header.management_class == mad::kSubnetManagementDirected) head.status |= 0x8000;
  mad::put_header(answer.mad, head);
  mad::smp::SmInfo info;
  info.guid = in_.node.info.port_guid;
  info.act_count = static_cast<std::uint32_t>(to_ps(in_.engine.now()) / 1'000'000'000'000);
  mad::smp::put_data(answer.mad, info.encode());
  send(answer);
  return true;
}

void AdapterManagement::on_port_set(std::uint8_t number) {
  const management::NodePort& port = in_.node.ports[number];
  const mad::smp::PortInfo& info = port.info;
  hca::PortConfiguration to;
  to.state = static_cast<hca::PortState>(info.state);
  to.lid = ib::Lid{info.lid};
  to.sm_lid = ib::Lid{info.master_sm_lid};
  to.lmc = info.lmc;
  to.sm_service_level = info.master_sm_sl;
  to.subnet_timeout = info.subnet_timeout;
  to.subnet_prefix = info.gid_prefix;
  to.guids = port.guids;
  to.pkeys = port.pkeys;
  while (to.pkeys.size() > 1 && to.pkeys.back() == 0) to.pkeys.pop_back();
  to.asks_for_registration = info.client_reregister;
  hca_.configure(to);
  facts_.lid = to.lid;
  facts_.pkeys = to.pkeys;
  facts_.gids = hca_.address().gids;
  on_manager_(to.sm_lid);
  port_.set_active(port.is_active());
  port_.set_lane_table(lanes_of(port.sl_to_vl));
  on_arbitration_set(number);
}

void AdapterManagement::on_arbitration_set(std::uint8_t number) { set_arbitration(port_, in_.node.ports[number]); }

void AdapterManagement::on_link(bool up) {
  if (!has_subnet_management()) return;
  set_link_state(in_.node.ports[kAdapterPort], up, in_.is_managed);
  if (!in_.is_managed) on_port_set(kAdapterPort);
}

void AdapterManagement::set_link(std::uint8_t, bool up) { set_link_of(port_, up); }

void AdapterManagement::set_subnet_manager(bool is_one) {
  std::uint32_t& capabilities = in_.node.ports[kAdapterPort].info.capabilities;
  const std::uint32_t before = capabilities;
  capabilities = is_one ? capabilities | mad::smp::kIsSubnetManager : capabilities & ~mad::smp::kIsSubnetManager;
  hca_.set_subnet_manager(is_one);
  if (capabilities == before) return;
  mad::CapabilityDetails details;
  details.lid = lid();
  details.capability_mask = capabilities;
  agents_.trap(mad::capability_notice(details));
}

management::PortCounts AdapterManagement::counts(std::uint8_t) const {
  return counts_of(port_.counters());
}

SwitchManagement::SwitchManagement(const NodeSurroundings& in, fabric::Switch& device, std::uint64_t seed, std::string name)
    : in_(in),
      switch_(device),
      seed_(seed),
      name_(std::move(name)),
      violations_(in.node.ports.size()),
      agents_(in.engine, in.source, in.node, *this, *this, *this, *this) {
  for (std::uint32_t i = 1; i <= switch_.port_count(); ++i) {
    const fabric::PortNumber number{static_cast<std::uint8_t>(i)};
    const management::NodePort& port = in_.node.ports[i];
    switch_.port(number).set_active(in.is_managed || port.is_active());
  }
  device.attach(*this);
}

void SwitchManagement::catch_up() {
  const fabric::RouteTable* const routes = switch_.changing_routes();
  if (routes == nullptr) return;
  for (std::size_t lid = 0; lid < in_.node.forwarding.size(); ++lid)
    in_.node.forwarding[lid] = static_cast<std::uint8_t>(routes->entry(lid));
}

void SwitchManagement::on_packet(fabric::PortNumber in, ib::PacketPtr packet, Instant tail) {
  constexpr ib::Opcode kSendOnly = ib::make_opcode(ib::Transport::kUd, ib::Operation::kSendOnly);
  if (packet->corrupted || packet->bth.opcode != kSendOnly || packet->payload.length != ib::kMadBytes) return;
  const bool of_subnet = packet->lrh.lane == fabric::kManagementLane;
  const ib::Qpn expected = of_subnet ? ib::kSubnetManagementQp : ib::kGeneralServicesQp;
  if (packet->bth.destination != expected) return;
  if (!of_subnet && packet->deth.qkey != ib::kGeneralServicesQkey) return;
  catch_up();
  ib::ManagementDatagram datagram;
  datagram.lid = packet->lrh.source;
  datagram.service_level = packet->lrh.service_level;
  datagram.pkey = packet->bth.pkey;
  datagram.grh = packet->grh;
  datagram.queue = packet->bth.destination;
  datagram.remote_queue = packet->deth.source;
  std::ranges::copy(packet->payload.bytes(), datagram.mad.begin());
  agents_.receive(datagram, in.value, tail);
}

ib::PacketPtr SwitchManagement::make_packet(const ib::ManagementDatagram& datagram) {
  constexpr std::uint32_t kPsnLimit = 1u << 24;
  auto packet = std::make_unique<ib::Packet>();
  const bool of_subnet = datagram.is_subnet_management();
  const bool is_directed = datagram.lid == ib::kPermissiveLid;
  packet->lrh.source = is_directed ? ib::kPermissiveLid : ib::Lid{in_.node.ports[0].info.lid};
  packet->lrh.destination = datagram.lid;
  packet->lrh.service_level = datagram.service_level;
  if (of_subnet) packet->lrh.lane = fabric::kManagementLane;
  packet->bth.opcode = ib::make_opcode(ib::Transport::kUd, ib::Operation::kSendOnly);
  packet->bth.pkey = datagram.pkey;
  packet->bth.destination = datagram.remote_queue;
  packet->bth.psn = ib::Psn{next_psn_};
  next_psn_ = (next_psn_ + 1) % kPsnLimit;
  packet->deth = {of_subnet ? 0 : datagram.qkey, datagram.queue};
  packet->grh = datagram.grh;
  packet->payload.buffer = ib::PayloadBuffer::copy_of(datagram.mad);
  packet->payload.length = ib::kMadBytes;
  return packet;
}

void SwitchManagement::send_by(std::uint8_t port, const ib::ManagementDatagram& datagram) {
  switch_.send(fabric::PortNumber{port}, make_packet(datagram));
}

void SwitchManagement::send_to_lid(const ib::ManagementDatagram& datagram) { switch_.send(make_packet(datagram)); }

void SwitchManagement::on_port_set(std::uint8_t number) {
  if (number == 0) return;
  fabric::Port& port = switch_.port(fabric::PortNumber{number});
  port.set_active(in_.node.ports[number].is_active());
  port.set_lane_table(lanes_of(in_.node.ports[number].sl_to_vl));
  on_arbitration_set(number);
}

void SwitchManagement::on_turn_lanes_set(std::uint8_t in, std::uint8_t out) {
  switch_.set_lane_table(fabric::PortNumber{in}, fabric::PortNumber{out}, lanes_of(in_.node.turn_lanes.at({in, out})));
}

void SwitchManagement::on_arbitration_set(std::uint8_t number) {
  if (number != 0) set_arbitration(switch_.port(fabric::PortNumber{number}), in_.node.ports[number]);
}

void SwitchManagement::on_link(fabric::PortNumber number, bool up) {
  management::NodePort& port = in_.node.ports[number.value];
  set_link_state(port, up, in_.is_managed);
  in_.node.switch_info.port_state_change = true;
  agents_.trap(mad::link_state_notice(in_.node.ports[0].info.lid));
  if (!in_.is_managed) switch_.port(number).set_active(port.is_active());
}

void SwitchManagement::set_link(std::uint8_t port, bool up) { set_link_of(switch_.port(fabric::PortNumber{port}), up); }

void SwitchManagement::on_forwarding_set() {
  std::vector<fabric::PortNumber> table;
  table.reserve(in_.node.forwarding.size());
  for (const std::uint8_t port : in_.node.forwarding) table.push_back(fabric::PortNumber{port});
  switch_.set_forwarding_table(std::move(table));
}

void SwitchManagement::on_multicast_set() {
  std::vector<std::vector<fabric::PortNumber>> table;
  for (const management::Node::PortSet& ports : in_.node.multicast) {
    std::vector<fabric::PortNumber>& group = table.emplace_back();
    for (std::size_t port = 1; port < in_.node.ports.size(); ++port) {
      if (ports[port]) group.push_back(fabric::PortNumber{static_cast<std::uint8_t>(port)});
    }
  }
  switch_.set_multicast_table(std::move(table));
}

// A port that was never set has no marking.
void SwitchManagement::set_marking(std::uint8_t number, const ib::MarkingSetting& setting) {
  if (setting.threshold == 0 && !marking_ports_[number]) return;
  marking_ports_.set(number);
  const Rng random(seed_, "fecn/" + name_ + ":" + std::to_string(number));
  switch_.port(fabric::PortNumber{number}).forward_marking(random, marks_).set(setting);
}

management::PortCounts SwitchManagement::counts(std::uint8_t port) const {
  if (port == 0) return {};
  return counts_of(switch_.port(fabric::PortNumber{port}).counters());
}

}  // namespace verbatim::config
