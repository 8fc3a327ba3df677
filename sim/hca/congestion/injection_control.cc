#include "sim/hca/congestion/injection_control.h"

#include <algorithm>

namespace verbatim::hca {

std::uint16_t InjectionIndex::at(Instant now, const Setting& setting, std::size_t level) {
  const std::uint16_t least = setting.least_of(level);
  value_ = std::clamp(value_, least, setting.limit);
  if (value_ == least) return value_;
  const Duration period = setting.levels[level].timer * ib::kCongestionTick;
  if (period == Duration::zero()) return value_ = least;
  const std::int64_t falls = std::min<std::int64_t>((now - timer_began_) / period, value_ - least);
  value_ = static_cast<std::uint16_t>(value_ - falls);
  timer_began_ += falls * period;
  return value_;
}

void InjectionIndex::on_becn(Instant now, const Setting& setting, std::size_t level) {
  const std::uint16_t before = at(now, setting, level);
  if (before == setting.least_of(level)) timer_began_ = now;
  const std::uint32_t raised = std::uint32_t{before} + setting.levels[level].increase;
  value_ = static_cast<std::uint16_t>(std::min<std::uint32_t>(raised, setting.limit));
}

Instant InjectionIndex::next_fall(Instant now, const Setting& setting, std::size_t level) {
  if (at(now, setting, level) == setting.least_of(level)) return kNever;
  return timer_began_ + setting.levels[level].timer * ib::kCongestionTick;
}

std::optional<Rate> InjectionControl::rate(Instant now) {
  const ib::InjectionDelay entry = delay(now);
  if (entry.multiplier == 0) return std::nullopt;
  const std::uint64_t whole = std::uint64_t{1} << entry.shift;
  return Rate{std::max<std::uint64_t>(Rate::of_line(line_).kbps * whole / (whole + entry.multiplier), 1)};
}

Instant InjectionControl::due(Instant now, const SentPacket& newest) {
  const SentPacket& before = state_.setting.is_by_level ? state_.levels[level_].newest : newest;
  const ib::InjectionDelay entry = delay(now);
  if (before.bytes == 0 || entry.multiplier == 0) return now;
  const Duration packet = line_.time_for(before.bytes);
  return before.start + packet + entry.behind(packet);
}

}  // namespace verbatim::hca
