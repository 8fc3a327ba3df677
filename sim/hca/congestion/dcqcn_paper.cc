#include "sim/hca/congestion/dcqcn_paper.h"

#include <algorithm>

#include "sim/hca/congestion/fixed_alpha.h"

namespace verbatim::hca {

// The paper's figures; it gives no step of the hyper increase and no floor: those of the adapters.
ReactionPoint DcqcnPaper::defaults(Rate) {
  constexpr std::int64_t kMbps = 1'000'000;
  return {.rpg_time_reset = std::chrono::microseconds(55),
          .rpg_byte_reset = 10'000'000 / 64,
          .rpg_threshold = 5,
          .rpg_ai_rate = 40 * kMbps,
          .rpg_hai_rate = 50 * kMbps,
          .rpg_max_rate = 0,
          .rpg_min_rate = 1 * kMbps,
          .rpg_gd = 11,
          .rpg_min_dec_fac = 0,
          .dce_tcp_g = 1020,
          .dce_tcp_rtt = std::chrono::microseconds(55),
          .initial_alpha_value = 1023,
          .rate_to_set_on_first_cnp = 0,
          .rate_reduce_monitor_period = std::chrono::microseconds(50)};
}

void DcqcnPaper::on_first(Instant now) {
  alpha_ = kFixedOne;
  on_next(now);
}

void DcqcnPaper::on_next(Instant now) {
  cut();
  alpha_ = next_alpha(true);
  begin_alpha(now);
  begin_increases(now);
}

std::uint64_t DcqcnPaper::next_alpha(bool has_notification) const {
  return next_fixed_alpha(alpha_, parameters_.dce_tcp_g, has_notification);
}

void DcqcnPaper::cut() {
  target_ = rate_;
  rate_ = std::max(rate_ - rate_ * alpha_ / kFixedOne / 2, std::min(in_units(parameters_.rpg_min_rate), rate_));
}

void DcqcnPaper::increase(std::uint64_t& stage) {
  ++stage;
  const auto threshold = static_cast<std::uint64_t>(parameters_.rpg_threshold);
  const std::uint64_t least = std::min(time_stage_, byte_stage_);
  std::uint64_t step = 0;
  if (least > threshold) {
    step = (least - threshold) * in_units(parameters_.rpg_hai_rate);
  } else if (std::max(time_stage_, byte_stage_) >= threshold) {
    step = in_units(parameters_.rpg_ai_rate);
  }
  raise(step);
}

}  // namespace verbatim::hca
