#include "sim/hca/congestion/hpcc.h"

#include <algorithm>

namespace verbatim::hca {

namespace {

using Wide = unsigned __int128;
constexpr std::uint64_t kPsKbpsPerByte = 8'000'000'000;  // a byte in one ps is so many kb/s

}  // namespace

// HPCC's run.py, `hp`: 10 Mb/s at 25 Gb/s, and in proportion; MI_THRESH 0. The round trip is that of its fat tree of 320
// hosts (the paper, 5.1: 13 us); the simulator computes it from the topology.
ReactionPoint Hpcc::defaults(Rate line) {
  constexpr std::int64_t kMbps = 1'000'000;
  ReactionPoint point;
  point.rpg_threshold = 0;
  point.rpg_ai_rate = std::max<std::int64_t>(10 * static_cast<std::int64_t>(line.mbps()) / 25'000, 1) * kMbps;
  point.rpg_max_rate = 0;
  point.rpg_min_rate = 100 * kMbps;
  point.rate_to_set_on_first_cnp = 0;
  point.base_round_trip = std::chrono::microseconds(13);
  return point;
}

Hpcc::Hpcc(const ReactionPoint& parameters, Rate line)
    : parameters_(parameters),
      line_(line.kbps),
      released_at_(parameters.rpg_max_rate > 0 ? std::min(static_cast<std::uint64_t>(parameters.rpg_max_rate) / 1'000, line_)
                                               : line_),
      whole_window_(static_cast<std::uint64_t>(
          static_cast<Wide>(line_) * static_cast<std::uint64_t>(to_ps(parameters.base_round_trip)) / kPsKbpsPerByte)),
      rate_(line_),
      last_rate_(line_) {}

std::optional<std::uint64_t> Hpcc::window(std::uint32_t) {
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(static_cast<Wide>(whole_window_) * rate_ / line_), 1);
}

void Hpcc::on_acknowledged(const Acknowledged& acknowledged) {
  const ib::Telemetry* const telemetry = acknowledged.telemetry;
  if (telemetry == nullptr || telemetry->hops == 0 || telemetry->hops > ib::kTelemetryHops) return;
  if (!has_records_) {
    has_records_ = true;
    newest_ = *telemetry;
    round_trip_end_ = acknowledged.next_psn;
    return;
  }
  if (!measure(*telemetry)) return;
  const bool ends_round_trip = !ib::is_before(acknowledged.psn, round_trip_end_);
  const bool is_busy = busy_ * 100 >= kTargetPercent << kFractionBits;
  std::uint64_t rate = last_rate_;
  std::int64_t steps = steps_ + 1;
  if (is_busy || steps_ >= parameters_.rpg_threshold) {
    steps = 0;
    if (busy_ == 0) {
      rate = line_;
    } else {
      const Wide target = static_cast<Wide>(last_rate_) * (kTargetPercent << kFractionBits) / (std::uint64_t{100} * busy_);
      rate = static_cast<std::uint64_t>(std::min<Wide>(target, line_));
    }
  }
  rate += static_cast<std::uint64_t>(parameters_.rpg_ai_rate) / 1'000;
  rate_ = std::clamp(rate, std::min(static_cast<std::uint64_t>(parameters_.rpg_min_rate) / 1'000, line_), line_);
  if (!ends_round_trip) return;
  last_rate_ = rate_;
  steps_ = steps;
  round_trip_end_ = acknowledged.next_psn;
}

bool Hpcc::measure(const ib::Telemetry& telemetry) {
  const ib::Telemetry before = newest_;
  newest_ = telemetry;
  if (telemetry.hops != before.hops) return false;  // another way
  std::uint64_t busiest = 0;
  Duration elapsed{0};
  for (std::size_t i = 0; i < telemetry.hops; ++i) {
    const ib::TelemetryHop &now = telemetry.records[i], &then = before.records[i];
    const Duration between = now.time - then.time;
    if (between <= Duration(0) || now.sent < then.sent || now.rate_kbps != then.rate_kbps) continue;
    const auto ps = static_cast<std::uint64_t>(to_ps(between));
    const Wide sent = (static_cast<Wide>(now.sent - then.sent) * kPsKbpsPerByte << kFractionBits) /
                      (static_cast<Wide>(ps) * now.rate_kbps);
    const Wide queued = (static_cast<Wide>(std::min(now.queued, then.queued)) * line_ << kFractionBits) /
                        (static_cast<Wide>(now.rate_kbps) * whole_window_);
    const auto busy = static_cast<std::uint64_t>(sent + queued);
    if (busy <= busiest) continue;
    busiest = busy;
    elapsed = between;
  }
  const auto base = static_cast<std::uint64_t>(to_ps(parameters_.base_round_trip));
  const std::uint64_t part = std::min(static_cast<std::uint64_t>(to_ps(elapsed)), base);
  busy_ = static_cast<std::uint64_t>((static_cast<Wide>(busy_) * (base - part) + static_cast<Wide>(busiest) * part) / base);
  return true;
}

}  // namespace verbatim::hca
