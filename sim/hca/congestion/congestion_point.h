// Congestion control of one adapter, whole or light: its notification point, its counters, the InfiniBand
// settings of its port, and the pacers of its queue pairs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/core/time.h"
#include "sim/hca/congestion/injection_control.h"
#include "sim/hca/congestion/notification_point.h"
#include "sim/hca/congestion/pacer.h"
#include "sim/hca/congestion/parameters.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

// Counters, named as the files under hw_counters of mlx5.
struct CongestionCounters {
  std::uint64_t np_ecn_marked_roce_packets = 0;  // packets with CE that a connection has taken
  std::uint64_t np_cnp_sent = 0;
  std::uint64_t rp_cnp_handled = 0;  // notifications for queue pairs with a controller
  std::uint64_t rp_cnp_ignored = 0;  // notifications for other queue pairs
  // Counters of InfiniBand, without files.
  std::uint64_t fecn_received = 0;  // packets with FECN that a queue pair has taken
  std::uint64_t cn_sent = 0;        // notifications in packets of their own; the others are in acknowledgements
  std::uint64_t becn_handled = 0;   // packets with BECN for queue pairs with injection rate control
  std::uint64_t becn_ignored = 0;   // packets with BECN for other queue pairs

  friend bool operator==(const CongestionCounters&, const CongestionCounters&) = default;
};

class CongestionPoint {
 public:
  // The profile outlives the object.
  explicit CongestionPoint(const CongestionControl& profile);

  // A connection has received a packet with CE. Returns whether a notification is sent for it.
  bool on_marked(Instant now, const ib::Packet& packet, std::uint32_t queue_pair);
  // The same for a packet without CE that found the adapter's receive buffer full. It is not counted as
  // marked.
  bool on_full_buffer(Instant now, const ib::Packet& packet, std::uint32_t queue_pair);
  // A notification has been received; `pacer`: that of the queue pair, or null.
  void on_notification(Instant now, Pacer* pacer);

  // InfiniBand: a packet with FECN has been received; whether a notification packet is sent for it.
  void on_forward_mark(bool is_notified) {
    ++counters_.fecn_received;
    counters_.cn_sent += is_notified ? 1 : 0;
  }
  // InfiniBand: a packet with BECN has been received for a flow; `pacer`: that of the queue pair, or null.
  void on_backward_mark(const ib::InjectionEvent& flow, Pacer* pacer);
  // Sets the port's settings; the caller then renews the pacers of all queue pairs.
  void set_injection(const ib::InjectionSetting& setting);
  // Null: no setting was ever made.
  InjectionState* injection() { return injection_.get(); }

  // The pacer of a connection whose path has an ibv_rate and a service level; null: its packets are not paced.
  std::unique_ptr<Pacer> make_pacer(ByteTime line, std::uint8_t static_rate, std::uint8_t level, bool is_ethernet) const;

  const CongestionCounters& counters() const { return counters_; }

 private:
  const CongestionControl& profile_;
  NotificationPoint notification_point_;
  CongestionCounters counters_;
  std::unique_ptr<InjectionState> injection_;
};

}  // namespace verbatim::hca
