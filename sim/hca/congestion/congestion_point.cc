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
  return on_full_buffer(now, packet, queue_pair);
}

bool CongestionPoint::on_full_buffer(Instant now, const ib::Packet& packet, std::uint32_t queue_pair) {
  if (!notification_point_.on_marked(now, packet.grh->source, queue_pair)) return false;
  ++counters_.np_cnp_sent;
  return true;
}

void CongestionPoint::on_notification(Instant now, Pacer* pacer) {
  const bool is_handled = pacer != nullptr && pacer->on_notification(now);
  ++(is_handled ? counters_.rp_cnp_handled : counters_.rp_cnp_ignored);
}

// Drivers of hfi1 log each BECN from the threshold on.
void CongestionPoint::on_backward_mark(const ib::InjectionEvent& flow, Pacer* pacer) {
  if (injection_ == nullptr || pacer == nullptr || !pacer->on_notification(flow.when)) {
    ++counters_.becn_ignored;
    return;
  }
  ++counters_.becn_handled;
  const std::size_t level = flow.service_level.value % ib::kServiceLevels;
  const std::uint8_t threshold = injection_->setting.levels[level].trigger_threshold;
  if (threshold == 0 || pacer->table_index(flow.when) < threshold) return;
  injection_->log.events.add(flow);
  injection_->log.levels |= static_cast<std::uint16_t>(1u << level);
}

void CongestionPoint::set_injection(const ib::InjectionSetting& setting) {
  if (injection_ == nullptr) injection_ = std::make_unique<InjectionState>();
  injection_->setting = setting;
}

std::unique_ptr<Pacer> CongestionPoint::make_pacer(ByteTime line, std::uint8_t static_rate, std::uint8_t level,
                                                   bool is_ethernet) const {
  const Rate rate = Rate::of_line(line);
  level %= ib::kServiceLevels;
  std::optional<Rate> limit = rate_of_static(static_rate);
  if (limit && *limit >= rate) limit.reset();
  std::unique_ptr<RateController> controller;
  std::uint8_t signals = 0;
  if (is_ethernet) {
    controller = make_controller(profile_, rate);
    signals = find_controller(profile_.controller)->signals;
  } else if (injection_ != nullptr && injection_->setting.can_delay(level)) {
    controller = std::make_unique<InjectionControl>(*injection_, level, line);
  }
  if (!limit && controller == nullptr) return nullptr;
  return std::make_unique<Pacer>(rate, limit, std::move(controller), signals);
}

}  // namespace verbatim::hca
