#include "sim/hca/congestion/dcqcn_nv.h"

#include <algorithm>

namespace verbatim::hca {

namespace {
constexpr std::uint64_t kOne = 1024;  // alpha is a fraction of this, and stays below it
}

// Documentation of MLNX_OFED and dumps of adapters.
ReactionPoint DcqcnNv::defaults(Rate) {
  constexpr std::int64_t kMbps = 1'000'000;
  return {.rpg_time_reset = std::chrono::microseconds(300),
          .rpg_byte_reset = 32767,
          .rpg_threshold = 1,
          .rpg_ai_rate = 5 * kMbps,
          .rpg_hai_rate = 50 * kMbps,
          .rpg_max_rate = 0,
          .rpg_min_rate = 1 * kMbps,
          .rpg_gd = 11,
          .rpg_min_dec_fac = 50,
          .dce_tcp_g = 1019,
          .dce_tcp_rtt = std::chrono::microseconds(1),
          .initial_alpha_value = 1023,
          .rate_to_set_on_first_cnp = 0,
          .rate_reduce_monitor_period = std::chrono::microseconds(4)};
}

void DcqcnNv::on_first(Instant now) {
  alpha_ = static_cast<std::uint64_t>(parameters_.initial_alpha_value);
  if (parameters_.rate_to_set_on_first_cnp > 0) {
    rate_ = target_ = std::min(in_units(parameters_.rate_to_set_on_first_cnp), line_);
  }
  cuts_from_ = now;
  begin_alpha(now);
  begin_increases(now);
}

void DcqcnNv::on_next(Instant now) {
  has_new_alpha_notification_ = true;
  request_cut(now);
}

std::uint64_t DcqcnNv::next_alpha(bool has_notification) const {
  const auto kept = static_cast<std::uint64_t>(parameters_.dce_tcp_g);
  const std::uint64_t decayed = kept * alpha_ / kOne;
  return has_notification ? std::min(decayed + kOne - kept, kOne - 1) : decayed;
}

void DcqcnNv::cut() {
  const bool clamps = parameters_.clamp_tgt_rate || byte_stage_ > 0 ||
                      (parameters_.clamp_tgt_rate_after_time_inc && time_stage_ > 0);
  if (clamps) target_ = rate_;
  const std::uint64_t most = rate_ * static_cast<std::uint64_t>(100 - parameters_.rpg_min_dec_fac) / 100;
  const std::uint64_t less = std::min(rate_ * alpha_ >> parameters_.rpg_gd, most);
  rate_ = std::max(rate_ - less, std::min(in_units(parameters_.rpg_min_rate), rate_));
}

void DcqcnNv::increase(std::uint64_t& stage) {
  const auto threshold = static_cast<std::uint64_t>(parameters_.rpg_threshold);
  std::uint64_t step = 0;
  if (std::min(time_stage_, byte_stage_) > threshold) {
    step = in_units(parameters_.rpg_hai_rate);
  } else if (std::max(time_stage_, byte_stage_) >= threshold) {
    step = in_units(parameters_.rpg_ai_rate);
  }
  raise(step);
  ++stage;
}

}  // namespace verbatim::hca
