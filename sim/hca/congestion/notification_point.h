// The notification point of an adapter decides which marked packets are answered by a congestion notification
// (CNP): one whose scope has had no notification for `min_time_between_cnps`. Other marks are lost.
//
// Scopes of devices, found by Lumina (SIGCOMM 2023, second-hand): ConnectX-5 and ConnectX-6 Dx by port, ConnectX-4 Lx by
// destination IP of the notification, E810 by queue pair.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "sim/core/time.h"
#include "sim/hca/congestion/parameters.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class NotificationPoint {
 public:
  NotificationPoint(CnpScope scope, Duration min_time) : scope_(scope), min_time_(min_time) {}

  // A marked packet of `sender` for queue pair `queue_pair` has been received. Returns whether a notification
  // is sent.
  bool on_marked(Instant now, const ib::Gid& sender, std::uint32_t queue_pair);

 private:
  using Key = std::array<std::uint32_t, 4>;

  const CnpScope scope_;
  const Duration min_time_;
  std::map<Key, Instant> last_;  // time of the last notification
  Instant of_port_ = kNever;  // the same for the scope of the port; kNever: none yet
};

}  // namespace verbatim::hca
