// Congestion control of one adapter, whole or light: its notification point, what it counts, and the pacers of its queue pairs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/core/time.h"
#include "sim/hca/congestion/notification_point.h"
#include "sim/hca/congestion/pacer.h"
#include "sim/hca/congestion/parameters.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

// By the names of files under hw_counters of mlx5.
struct CongestionCounters {
  std::uint64_t np_ecn_marked_roce_packets = 0;  // packets with CE that a connection has taken
  std::uint64_t np_cnp_sent = 0;
  std::uint64_t rp_cnp_handled = 0;  // notifications that a controller has been given
  std::uint64_t rp_cnp_ignored = 0;  // and those for queue pairs without one

  friend bool operator==(const CongestionCounters&, const CongestionCounters&) = default;
};

class CongestionPoint {
 public:
  // The profile outlives it.
  explicit CongestionPoint(const CongestionControl& profile);

  // A packet with CE has been received by a connection: whether a notification is sent for it now.
  bool on_marked(Instant now, const ib::Packet& packet, std::uint32_t queue_pair);
  // A notification has been received; `pacer` is the queue pair's, which may have none.
  void on_notification(Instant now, Pacer* pacer);

  // The pacer of a connection on a line of this rate, with an ibv_rate; null: its packets are not paced. Only connections on
  // Ethernet have a controller.
  std::unique_ptr<Pacer> make_pacer(Rate line, std::uint8_t static_rate, bool is_ethernet) const;

  const CongestionCounters& counters() const { return counters_; }

 private:
  const CongestionControl& profile_;
  NotificationPoint notification_point_;
  CongestionCounters counters_;
};

}  // namespace verbatim::hca
