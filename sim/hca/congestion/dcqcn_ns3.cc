#include "sim/hca/congestion/dcqcn_ns3.h"

#include <algorithm>

#include "sim/hca/congestion/fixed_alpha.h"

namespace verbatim::hca {

// HPCC's run.py, `dcqcn`: increases in proportion to the line, 5 and 50 Mb/s at 25 Gb/s.
ReactionPoint DcqcnNs3::defaults(Rate line) {
  constexpr std::int64_t kMbps = 1'000'000;
  const auto in_25_gbps = [line](std::int64_t mbps) {
    return std::max<std::int64_t>(mbps * static_cast<std::int64_t>(line.mbps()) / 25'000, 1) * kMbps;
  };
  return {.rpg_time_reset = std::chrono::microseconds(300),
          .rpg_byte_reset = 0,
          .rpg_threshold = 1,
          .rpg_ai_rate = in_25_gbps(5),
          .rpg_hai_rate = in_25_gbps(50),
          .rpg_max_rate = 0,
          .rpg_min_rate = 100 * kMbps,
          .rpg_gd = 11,
          .rpg_min_dec_fac = 0,
          .dce_tcp_g = 1020,
          .dce_tcp_rtt = std::chrono::microseconds(1),
          .initial_alpha_value = 1023,
          .rate_to_set_on_first_cnp = 0,
          .rate_reduce_monitor_period = std::chrono::microseconds(4)};
}

void DcqcnNs3::on_sent(Instant now, std::uint32_t bytes) {
  Dcqcn::on_sent(now, bytes);
  const std::optional<Rate> current = rate(now);
  due_ = current ? now + current->time_for(bytes) : now;
}

void DcqcnNs3::on_first(Instant now) {
  alpha_ = kFixedOne;
  if (parameters_.rate_to_set_on_first_cnp > 0) {
    rate_ = target_ = std::min(in_units(parameters_.rate_to_set_on_first_cnp), line_);
  }
  cuts_from_ = now + std::chrono::nanoseconds(1);
  begin_alpha(now);
  request_cut(now + std::chrono::nanoseconds(1));
}

void DcqcnNs3::on_next(Instant now) {
  has_new_alpha_notification_ = true;
  request_cut(now);
}

std::uint64_t DcqcnNs3::next_alpha(bool has_notification) const {
  return next_fixed_alpha(alpha_, parameters_.dce_tcp_g, has_notification);
}

void DcqcnNs3::cut() {
  if (parameters_.clamp_tgt_rate || time_stage_ > 0) target_ = rate_;
  rate_ = std::max(rate_ - rate_ * alpha_ / kFixedOne / 2, std::min(in_units(parameters_.rpg_min_rate), rate_));
}

void DcqcnNs3::increase(std::uint64_t& stage) {
  const auto threshold = static_cast<std::uint64_t>(parameters_.rpg_threshold);
  raise(stage < threshold    ? 0
        : stage == threshold ? in_units(parameters_.rpg_ai_rate)
                             : in_units(parameters_.rpg_hai_rate));
  ++stage;
}

}  // namespace verbatim::hca
