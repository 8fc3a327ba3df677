#include "sim/hca/transport/connection.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "sim/hca/transport/roce_path.h"
#include "sim/ib/ecn.h"
#include "sim/ib/frame.h"
#include "sim/ib/group_address.h"

namespace verbatim::hca {

namespace {

ib::Transport transport_of_type(ib::QpType type) {
  switch (type) {
    case ib::QpType::kUc:
      return ib::Transport::kUc;
    case ib::QpType::kUd:
    case ib::QpType::kRawPacket:  // frames are sent as datagrams are
      return ib::Transport::kUd;
    case ib::QpType::kXrcSend:
    case ib::QpType::kXrcReceive:
      return ib::Transport::kXrc;
    default:
      return ib::Transport::kRc;
  }
}

constexpr bool is_write(ib::Opcode opcode) {
  const ib::Operation operation = ib::operation_of(opcode);
  return operation >= ib::Operation::kWriteFirst && operation <= ib::Operation::kWriteOnlyImm;
}

}  // namespace

Connection::Connection(ComponentId component, const HcaProfile& profile, const PortAddress& address, std::uint32_t number,
                       ib::QpType type, bool signal_all)
    : component(component),
      profile(profile),
      address(address),
      number(number),
      type(type),
      signal_all(signal_all),
      transport_(transport_of_type(type)) {
  // A datagram is as long as the port allows (IBA 9.8.3.1).
  if (is_datagram()) path_mtu_ = ib::mtu_bytes(address.active_mtu(profile.max_mtu));
  if (is_raw()) path_mtu_ = ib::mtu_bytes(profile.max_mtu) + ib::kFrameHeaderBytes;
}

// IBA 9.6.1.2: a connection whose path has a GRH takes packets with that of the same two addresses only, another one
// takes none with a GRH; then the LID, where there are LIDs.
bool Connection::is_from(const ib::Packet& packet, const protocol::AddressVector& path) const {
  if (packet.grh.has_value() != (path.is_global != 0)) return false;
  if (packet.grh) {
    const auto& gids = address.gids;
    if (std::memcmp(packet.grh->source.raw, path.dgid, sizeof(path.dgid)) != 0) return false;
    if (packet.grh->destination != gids[path.sgid_index]) return false;
  }
  return address.roce || packet.lrh.source.value == path.dlid;
}

ib::PacketPtr Connection::make_packet(ib::Opcode opcode, ib::Psn psn, const protocol::AddressVector& path,
                                     ib::Qpn to) const {
  if (is_raw()) {  // the program's own, which will be gathered
    ib::PacketPtr frame = ib::make_frame();
    frame->bth.psn = psn;
    return frame;
  }
  auto packet = std::make_unique_for_overwrite<ib::Packet>();  // its members have values of their own
  packet->lrh.source = address.lid;
  packet->lrh.destination = ib::Lid{path.dlid};
  packet->lrh.service_level = service_level_of(path);
  packet->bth.opcode = opcode;
  packet->bth.mig_request = has_migrated();
  packet->bth.pkey = pkey();
  packet->bth.destination = to;
  packet->bth.psn = psn;
  if (address.accepts_any_path) packet->may_take_any_path = is_reliable() && is_write(opcode);
  if (!address.roce) {
    if (path.is_global != 0) add_global_headers(*packet, path);
    return packet;
  }
  if (!newest_.are_of(path, to)) {
    if (path.is_global != 0) add_global_headers(*packet, path);
    set_ethernet(*packet, address, number);
    newest_ = {true, path, to, *packet->grh, *packet->ethernet};
  } else {
    packet->lrh.source = packet->lrh.destination = {};
    packet->grh = newest_.grh;
    packet->ethernet = newest_.ethernet;
  }
  if (profile.congestion_control.ecn_capable) set_ecn(*packet);
  return packet;
}

void Connection::set_ecn(ib::Packet& packet) const {
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  const bool is_capable = !is_datagram() && (operation.is_request || operation.has_payload);
  std::uint8_t& traffic_class = packet.grh->traffic_class;
  traffic_class = ib::with_ecn(traffic_class, is_capable ? ib::Ecn::kCapable0 : ib::Ecn::kNotCapable);
}

void Connection::keep_telemetry(const ib::Packet& packet) {
  if (telemetry_ == nullptr) telemetry_ = std::make_unique<ib::Telemetry>();
  *telemetry_ = *ib::telemetry_of(packet);
  telemetry_->is_echo = true;
}

ib::PacketPtr Connection::make_notification() const {
  const CongestionControl& control = profile.congestion_control;
  protocol::AddressVector path = attributes.path;
  path.service_level = static_cast<std::uint8_t>(control.cnp_802p_prio);
  path.traffic_class = static_cast<std::uint8_t>(control.cnp_dscp << ib::kDscpShift);
  ib::PacketPtr packet = make_packet(ib::Opcode::kCongestionNotification, {}, path, ib::Qpn{attributes.dest_qp_num});
  packet->bth.becn = true;
  return packet;
}

ib::PacketPtr Connection::make_notification_for(const ib::Packet& marked) const {
  protocol::AddressVector path = attributes.path;
  std::uint32_t to = attributes.dest_qp_num;
  if (is_datagram()) {
    path = {};
    path.dlid = marked.lrh.source.value;
    to = marked.deth.source.value;
  }
  path.service_level = marked.lrh.service_level.value;
  ib::PacketPtr packet = make_packet(ib::Opcode::kCongestionPacket, {}, path, ib::Qpn{to});
  packet->bth.becn = true;
  return packet;
}

ib::InjectionEvent Connection::flow_of(const ib::Packet& packet, Instant now) const {
  constexpr std::uint8_t kUnreliable = 1, kDatagram = 3;  // service types (IBA A10.4.3.5.2); 0: reliable connection
  ib::InjectionEvent flow;
  flow.local = ib::Qpn{number};
  flow.remote = ib::Qpn{attributes.dest_qp_num};
  flow.remote_lid = packet.lrh.source;
  flow.service_level = packet.lrh.service_level;
  flow.service_type = is_datagram() ? kDatagram : is_reliable() ? std::uint8_t{0} : kUnreliable;
  flow.when = now;
  return flow;
}

void Connection::add_wait_of(Trail& trail, Instant now, const TrailPart& turn) const {
  if (limited_since != kNever) {
    trail.add(std::max(limited_since, trail.end()), turn);
    return trail.add(now, {component, kRateLimit});
  }
  trail.add(now, turn);
}

void Connection::add_global_headers(ib::Packet& packet, const protocol::AddressVector& path) const {
  ib::Grh& grh = packet.grh.emplace();
  const auto& gids = address.gids;
  grh.source = gids[path.sgid_index < gids.size() ? path.sgid_index : 0];
  std::memcpy(grh.destination.raw, path.dgid, sizeof(grh.destination.raw));
  grh.flow_label = path.flow_label;
  grh.traffic_class = path.traffic_class;
  grh.hop_limit = path.hop_limit;
}

}  // namespace verbatim::hca
