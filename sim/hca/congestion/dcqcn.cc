#include "sim/hca/congestion/dcqcn.h"

#include <algorithm>

namespace verbatim::hca {

Dcqcn::Dcqcn(const ReactionPoint& parameters, Rate line, Rate unit)
    : parameters_(parameters),
      unit_(unit),
      line_(line.kbps / unit.kbps),
      rate_(line_),
      target_(line_),
      released_at_(parameters.rpg_max_rate > 0 ? std::min(in_units(parameters.rpg_max_rate), line_) : line_) {
  CHECK(line_ > 0 && parameters.rpg_time_reset > Duration::zero() && parameters.dce_tcp_rtt > Duration::zero() &&
        parameters.rate_reduce_monitor_period > Duration::zero() && parameters.rpg_ai_rate > 0);
}

void Dcqcn::on_notification(Instant now) {
  if (!has_begun_) {
    has_begun_ = true;
    return on_first(now);
  }
  advance(now);
  advance_alpha(now);
  on_next(now);
}

void Dcqcn::on_sent(Instant now, std::uint32_t bytes) {
  if (!has_begun_) return;
  advance(now);
  const std::uint64_t reset = static_cast<std::uint64_t>(parameters_.rpg_byte_reset) * 64;
  if (reset == 0) return;
  for (sent_ += bytes; sent_ >= reset; sent_ -= reset) increase(byte_stage_);
}

std::optional<Rate> Dcqcn::rate(Instant now) {
  advance(now);
  if (!is_limited()) return std::nullopt;
  return Rate{rate_ * unit_.kbps};
}

Instant Dcqcn::due(Instant now, const SentPacket& newest) {
  advance(now);
  if (newest.bytes == 0 || !is_limited()) return now;
  return newest.start + Rate{rate_ * unit_.kbps}.time_for(newest.bytes);
}

Instant Dcqcn::next_increase(Instant now) {
  advance(now);
  return is_recovered() ? kNever : increase_due_;
}

void Dcqcn::process_periods(Instant now) {
  while (std::min(cut_due_, increase_due_) <= now) {
    if (cut_due_ > increase_due_) {
      increase_by_timer(std::min(now, cut_due_ - Duration(1)));
      continue;
    }
    const Instant when = cut_due_;
    cut_due_ = kNever;
    advance_alpha(when);
    cut();
    begin_increases(when);
  }
}

void Dcqcn::advance_alpha(Instant now) {
  const std::int64_t updates = (now - alpha_from_) / parameters_.dce_tcp_rtt;
  if (updates == alpha_updates_) return;
  alpha_ = next_alpha(has_new_alpha_notification_);
  has_new_alpha_notification_ = false;
  for (std::int64_t left = updates - alpha_updates_ - 1; left > 0; --left) {
    const std::uint64_t next = next_alpha(false);
    if (next == alpha_) break;
    alpha_ = next;
  }
  alpha_updates_ = updates;
}

void Dcqcn::request_cut(Instant now) {
  if (cut_due_ != kNever) return;
  const std::int64_t periods = (now - cuts_from_) / parameters_.rate_reduce_monitor_period;
  cut_due_ = cuts_from_ + (periods + 1) * parameters_.rate_reduce_monitor_period;
}

void Dcqcn::increase_by_timer(Instant until) {
  const std::int64_t periods = (until - increase_due_) / parameters_.rpg_time_reset + 1;
  for (std::int64_t left = periods; left > 0; --left) {
    if (is_recovered()) {
      time_stage_ += static_cast<std::uint64_t>(left);
      break;
    }
    increase(time_stage_);
  }
  increase_due_ += periods * parameters_.rpg_time_reset;
}

void Dcqcn::raise(std::uint64_t step) {
  target_ = std::min(target_ + step, line_);
  rate_ = (rate_ + target_) / 2;
}

}  // namespace verbatim::hca
