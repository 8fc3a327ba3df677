// Clock readings relative to the first reading in the same turn. The difference has narrow bounds even if the
// readings have wide ones.
#include <algorithm>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {
namespace {

constexpr __int128 kWidePsPerSecond = 1'000'000'000'000;
constexpr unsigned kWhole = 8;  // bytes

Range around(const Range& a, const Range& b) { return {a.least + b.least, a.most + b.most}; }

constexpr __int128 kSignOf64 = static_cast<__int128>(1) << 63;
// True if the number is the same signed and unsigned, in every turn.
bool is_plain(const Range& range) { return range.least >= 0 && range.most < kSignOf64; }
// True if the difference is small enough to be compared without overflow.
bool is_near(const Range& ahead) { return ahead.least > -kSignOf64 / 2 && ahead.most < kSignOf64 / 2; }

}  // namespace

// Both readings are rounded down; their difference may be larger by one.
Range Growth::ahead_of_first(const Reading& reading) {
  auto& first = first_ps_[static_cast<unsigned>(reading.clock)];
  if (!first) first = reading.ps;
  const __int128 between = static_cast<__int128>(reading.ps - *first) * static_cast<__int128>(reading.units_per_second);
  const __int128 least = floor_divide(between, kWidePsPerSecond);
  return {least, least + (between % kWidePsPerSecond != 0 ? 1 : 0)};
}

bool Growth::set_counter(unsigned low, unsigned high, const Reading& reading) {
  constexpr Range kAll{0, 0xffff'ffff};
  const auto number = static_cast<unsigned>(readings_.size());
  const Range& whole = reading.whole;
  readings_.push_back({.range = whole, .size = kWhole, .clock = reading.clock, .ahead = ahead_of_first(reading)});
  const Range upper{whole.least >> 32, whole.most >> 32};
  const Range lower = upper.is_single() ? Range{whole.least & kAll.most, whole.most & kAll.most} : kAll;
  return write_register_bounds(low, 4, {.range = lower, .size = 4, .part = Part::kLow, .reading = number}) &&
         write_register_bounds(high, 4, {.range = upper, .size = 4, .part = Part::kHigh, .reading = number});
}

bool Growth::set_time(std::uint64_t address, const Reading& reading) {
  return store_bounds(address, kWhole,
                      {.range = reading.whole, .size = kWhole, .clock = reading.clock, .ahead = ahead_of_first(reading)});
}

// Joins the halves of one counter reading. The high half must be shifted into its place, or be the same in
// all turns.
std::optional<Growth::Bounds> Growth::put_together(const Bounds& a, const Bounds& b) const {
  const Bounds &low = a.part == Part::kLow ? a : b, &high = a.part == Part::kLow ? b : a;
  if (low.part != Part::kLow || low.size != kWhole || high.size != kWhole) return std::nullopt;
  const Bounds& whole = readings_[low.reading];
  const __int128 first = (whole.range.least >> 32) << 32, last = (whole.range.most >> 32) << 32;
  const bool is_same = high.part == Part::kHighInPlace && high.reading == low.reading;
  const bool is_fixed = high.part == Part::kNone && high.range.is_single() && first == last && high.range.least == first;
  return is_same || is_fixed ? std::optional(whole) : std::nullopt;
}

Growth::Bounds Growth::sum_of(const Bounds& a, const Bounds& b, const Range& result) {
  Bounds sum{.range = result, .size = a.size};
  const bool first = a.clock != Clock::kNone;
  if (a.size != kWhole || b.size != kWhole || first == (b.clock != Clock::kNone)) return sum;
  sum.clock = first ? a.clock : b.clock;
  // The addend is a small number, signed or unsigned.
  const Range step = narrowest(first ? b.range : a.range, kWhole);
  sum.ahead = around(first ? a.ahead : b.ahead, step);
  return sum;
}

Growth::Bounds Growth::difference_of(const Bounds& a, const Bounds& b, const Range& result) {
  Bounds rest{.range = result, .size = a.size};
  if (a.size != kWhole || b.size != kWhole || a.clock == Clock::kNone) return rest;
  if (b.clock == Clock::kNone) {
    const Range step = narrowest(b.range, kWhole);
    rest.clock = a.clock;
    rest.ahead = {a.ahead.least - step.most, a.ahead.most - step.least};
  } else if (a.clock == b.clock) {
    const Range between{a.ahead.least - b.ahead.most, a.ahead.most - b.ahead.least};
    if (between.most - between.least < result.most - result.least) rest.range = narrowest(between, kWhole);
  }
  return rest;
}

void Growth::compare_bounds(const Bounds& a, const Bounds& b, unsigned size, std::uint32_t affected) {
  const bool is_relative =
      size == kWhole && a.clock != Clock::kNone && a.clock == b.clock && is_plain(a.range) && is_plain(b.range) &&
      is_near(a.ahead) && is_near(b.ahead);
  if (!is_relative) return set_bounded_flags(FlagsOf::kDifference, a.range, b.range, size, affected, affected);
  const __int128 least = std::min(a.ahead.least, b.ahead.least);
  const Range from{-least, -least};
  set_bounded_flags(FlagsOf::kDifference, around(a.ahead, from), around(b.ahead, from), size, affected, affected);
}

}  // namespace verbatim::spin
