#include "sim/hca/congestion/notification_point.h"

namespace verbatim::hca {

bool NotificationPoint::on_marked(Instant now, const ib::Gid& sender, std::uint32_t queue_pair) {
  if (scope_ == CnpScope::kPort) {
    if (of_port_ != kNever && now - of_port_ < min_time_) return false;
    of_port_ = now;
    return true;
  }
  Key key{};
  if (scope_ == CnpScope::kDestinationIp) key = sender.words();
  if (scope_ == CnpScope::kQueuePair) key = {queue_pair};
  const auto [last, is_first] = last_.try_emplace(key, now);
  if (!is_first && now - last->second < min_time_) return false;
  last->second = now;
  return true;
}

}  // namespace verbatim::hca
