// State of a queue pair, and data of its adapter, that requester and responder read and the queue pair
// changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "sim/core/ids.h"
#include "sim/hca/hca.h"
#include "sim/ib/congestion.h"
#include "sim/ib/opcode.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"
#include "sim/ib/telemetry.h"
#include "sim/ib/types.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::hca {

// Trail name of a wait for the pacer (`sim/hca/congestion/pacer.h`).
inline constexpr char kRateLimit[] = "queue pair: rate limit";

// Values of ibv_mig_state.
enum class MigrationState : std::uint32_t { kMigrated = 0, kRearm = 1, kArmed = 2 };

class Connection {
 public:
  // `profile` and `address` are the adapter's, whose component is `component`.
  Connection(ComponentId component, const HcaProfile& profile, const PortAddress& address, std::uint32_t number,
             ib::QpType type, bool signal_all);

  const ComponentId component;
  const HcaProfile& profile;
  const PortAddress& address;
  const std::uint32_t number;
  const ib::QpType type;
  const bool signal_all;  // every request is signaled
  protocol::QpAttributes attributes{};

  ib::QpState state() const { return state_; }
  std::uint32_t path_mtu() const { return path_mtu_; }
  std::uint16_t pkey() const { return pkey_; }
  // The service level of every packet of a connection.
  ib::ServiceLevel service_level() const { return service_level_of(attributes.path); }
  // The service level of packets of a path; on Ethernet their priority.
  ib::ServiceLevel service_level_of(const protocol::AddressVector& path) const {
    return address.priorities.of_path(path.service_level, path.traffic_class);
  }
  bool is_reliable() const { return type != ib::QpType::kUc && !is_datagram() && !is_raw(); }
  bool is_raw() const { return type == ib::QpType::kRawPacket; }  // it sends and receives Ethernet frames
  bool is_xrc_receiver() const { return type == ib::QpType::kXrcReceive; }
  bool is_datagram() const { return type == ib::QpType::kUd; }
  ib::Transport transport() const { return transport_; }
  bool can_receive() const {
    return state_ == ib::QpState::kRtr || state_ == ib::QpState::kRts || state_ == ib::QpState::kSqd ||
           state_ == ib::QpState::kSqe;
  }

  // A packet with the headers of this connection.
  ib::PacketPtr make_packet(ib::Opcode opcode, ib::Psn psn) const {
    return make_packet(opcode, psn, attributes.path, ib::Qpn{attributes.dest_qp_num});
  }
  ib::PacketPtr make_packet(ib::Opcode opcode, ib::Psn psn, const protocol::AddressVector& path,
                            ib::Qpn to) const;
  // A congestion notification to the peer (IBA A17.9.3), with the profile's DSCP and priority.
  ib::PacketPtr make_notification() const;
  // On InfiniBand, to the sender of a packet (IBA A10.3.2): with BECN, on the packet's service level.
  ib::PacketPtr make_notification_for(const ib::Packet& marked) const;
  // The flow of a packet with BECN, as far as its headers identify it, for the log.
  ib::InjectionEvent flow_of(const ib::Packet& packet, Instant now) const;
  // InfiniBand: a packet with FECN has arrived that will be acknowledged; the next answer has BECN.
  void owe_backward_mark() { owes_backward_mark_ = true; }
  void forget_backward_mark() { owes_backward_mark_ = false; }
  // Sets BECN in an answer if it is owed. Called when an answer is made, and again when it leaves.
  void put_backward_mark(ib::Packet& answer) const {
    if (!owes_backward_mark_) [[likely]] return;
    owes_backward_mark_ = false;
    answer.bth.becn = true;
  }
  // A request with telemetry has arrived; the next acknowledgement returns the telemetry.
  void keep_telemetry(const ib::Packet& packet);
  ib::PacketPtr put_telemetry(ib::PacketPtr answer) const {
    if (telemetry_ == nullptr) [[likely]] return answer;
    return ib::with_telemetry(std::move(answer), *telemetry_);
  }
  bool is_from_peer(const ib::Packet& packet) const { return is_from(packet, attributes.path); }
  // Whether the packet is from the other end of a path.
  bool is_from(const ib::Packet& packet, const protocol::AddressVector& path) const;

  // Adds a wait for `turn` to the trail of a packet that is made now.
  void add_wait(Trail& trail, Instant now, const TrailPart& turn) const {
    if (trail) [[unlikely]] add_wait_of(trail, now, turn);
  }
  // Time since which only the pacer delays the next packet; kNever: it does not.
  Instant limited_since = kNever;

  // IBA 17.2.8, migration state: Migrated, the connection uses its only path; Armed, it may change its path.
  bool has_migrated() const {
    return attributes.path_mig_state == static_cast<std::uint32_t>(MigrationState::kMigrated);
  }
  bool is_armed() const { return attributes.path_mig_state == static_cast<std::uint32_t>(MigrationState::kArmed); }

 private:
  // Headers that all packets of a path to one queue pair have in common on Ethernet, where a port keeps its address.
  struct EthernetHeaders {
    bool is_known = false;
    protocol::AddressVector path{};
    ib::Qpn to;
    ib::Grh grh;
    ib::Ethernet ethernet;

    bool are_of(const protocol::AddressVector& other, ib::Qpn destination) const {
      constexpr std::size_t kBytes = offsetof(protocol::AddressVector, port) + sizeof path.port;
      return is_known && to == destination && std::memcmp(&path, &other, kBytes) == 0;
    }
  };
  void add_global_headers(ib::Packet& packet, const protocol::AddressVector& path) const;
  void add_wait_of(Trail& trail, Instant now, const TrailPart& turn) const;
  // Sets ECT(0) in requests and READ responses of connections, and in no other packets.
  void set_ecn(ib::Packet& packet) const;

  mutable EthernetHeaders newest_;  // cache of the last headers
  mutable bool owes_backward_mark_ = false;
  std::unique_ptr<ib::Telemetry> telemetry_;  // telemetry of the newest request; null: no request had any

 protected:
  const ib::Transport transport_;
  ib::QpState state_ = ib::QpState::kReset;
  std::uint32_t path_mtu_ = 0;  // bytes
  std::uint16_t pkey_ = 0;      // P_Key of its partition
};

}  // namespace verbatim::hca
