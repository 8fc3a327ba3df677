#include "sim/hca/congestion/timely.h"

#include <algorithm>

namespace verbatim::hca {

ReactionPoint Timely::defaults(Rate line) {
  constexpr std::int64_t kMbps = 1'000'000;
  // 10 Mb/s at 10 Gb/s, and in proportion.
  const std::int64_t step = std::max<std::int64_t>(static_cast<std::int64_t>(line.mbps()) / 1'000, 1) * kMbps;
  ReactionPoint point;
  point.rpg_threshold = 5;
  point.rpg_ai_rate = step;
  point.rpg_hai_rate = 5 * step;
  point.rpg_max_rate = 0;
  point.rpg_min_rate = 100 * kMbps;
  point.rate_to_set_on_first_cnp = 0;
  return point;
}

Timely::Timely(const ReactionPoint& parameters, Rate line)
    : parameters_(parameters),
      line_(line.kbps),
      released_at_(parameters.rpg_max_rate > 0 ? std::min(static_cast<std::uint64_t>(parameters.rpg_max_rate) / 1'000, line_)
                                               : line_),
      rate_(line_) {}

void Timely::on_round_trip(Instant now, Duration time) {
  if (has_newest_ && now - time < changed_at_) return;
  changed_at_ = now;
  const Duration difference = time - newest_;
  newest_ = time;
  if (!has_newest_) {
    has_newest_ = true;
    return;
  }
  mean_ = ((8 - kNewestEighths) * mean_ + kNewestEighths * difference) / 8;
  if (time < kLow) return raise();
  if (time > kHigh) return lower(static_cast<std::uint64_t>(to_ps(time - kHigh)), static_cast<std::uint64_t>(to_ps(time)));
  if (mean_ <= Duration(0)) return raise();
  lower(static_cast<std::uint64_t>(to_ps(mean_)), static_cast<std::uint64_t>(to_ps(kLeast)));
}

void Timely::raise() {
  const std::int64_t step = rises_ < parameters_.rpg_threshold ? parameters_.rpg_ai_rate : parameters_.rpg_hai_rate;
  ++rises_;
  rate_ = std::min(rate_ + static_cast<std::uint64_t>(step) / 1'000, line_);
}

// By kBeta times a fraction.
void Timely::lower(std::uint64_t numerator, std::uint64_t denominator) {
  rises_ = 0;
  const auto cut = static_cast<unsigned __int128>(rate_) * kBetaPercent * numerator / (std::uint64_t{100} * denominator);
  const std::uint64_t least = std::min(static_cast<std::uint64_t>(parameters_.rpg_min_rate) / 1'000, rate_);
  rate_ = cut >= rate_ ? least : std::max(rate_ - static_cast<std::uint64_t>(cut), least);
}

}  // namespace verbatim::hca
