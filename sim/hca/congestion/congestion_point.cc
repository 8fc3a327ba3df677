#include "sim/hca/congestion/congestion_point.h"

#include <algorithm>

#include "sim/core/check.h"
#include "sim/hca/congestion/controllers.h"

namespace verbatim::hca {

namespace {

CnpScope scope_named(const std::string& name) {
  const auto found = std::ranges::find(kCnpScopeNames, name);
  CHECK(found != std::end(kCnpScopeNames));
  return static_cast<CnpScope>(found - kCnpScopeNames);
}

}  // namespace

CongestionPoint::CongestionPoint(const CongestionControl& profile)
    : profile_(profile), notification_point_(scope_named(profile.cnp_scope), profile.min_time_between_cnps) {}

bool CongestionPoint::on_marked(Instant now, const ib::Packet& packet, std::uint32_t queue_pair) {
  ++counters_.np_ecn_marked_roce_packets;
  if (!notification_point_.on_marked(now, packet.grh->source, queue_pair)) return false;
  ++counters_.np_cnp_sent;
  return true;
}

void CongestionPoint::on_notification(Instant now, Pacer* pacer) {
  const bool is_handled = pacer != nullptr && pacer->on_notification(now);
  ++(is_handled ? counters_.rp_cnp_handled : counters_.rp_cnp_ignored);
}

std::unique_ptr<Pacer> CongestionPoint::make_pacer(Rate line, std::uint8_t static_rate, bool is_ethernet) const {
  std::optional<Rate> limit = rate_of_static(static_rate);
  if (limit && *limit >= line) limit.reset();
  std::unique_ptr<RateController> controller = is_ethernet ? make_controller(profile_, line) : nullptr;
  if (!limit && controller == nullptr) return nullptr;
  return std::make_unique<Pacer>(line, limit, std::move(controller));
}

}  // namespace verbatim::hca
