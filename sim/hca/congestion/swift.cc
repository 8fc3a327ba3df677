#include "sim/hca/congestion/swift.h"

#include <algorithm>

namespace verbatim::hca {

namespace {

using Wide = unsigned __int128;

// The largest whole number whose square is not above.
std::uint64_t whole_root(std::uint64_t square) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    const std::uint64_t next = root | bit;
    if (next * next <= square) root = next;
  }
  return root;
}

// sqrt(packets) in 2^-20.
std::uint64_t root_of(std::uint64_t packets) { return whole_root(packets << Swift::kFractionBits); }

}  // namespace

ReactionPoint Swift::defaults(Rate) {
  ReactionPoint point;
  point.rpg_max_rate = 0;
  point.rpg_min_rate = 0;
  point.rate_to_set_on_first_cnp = 0;
  point.base_round_trip = std::chrono::microseconds(20);
  return point;
}

void Swift::begin() {
  const Wide bits = static_cast<Wide>(line_.kbps) * static_cast<std::uint64_t>(to_ps(parameters_.base_round_trip));
  constexpr std::uint64_t kPsKbpsPerByte = 8'000'000'000;
  window_ = std::clamp(static_cast<std::uint64_t>(bits * kPacket / kPsKbpsPerByte / packet_bytes_), kPacket, kMost);
}

std::optional<std::uint64_t> Swift::window(std::uint32_t packet_bytes) {
  packet_bytes_ = packet_bytes;
  if (window_ == 0) begin();
  return std::max(window_, kPacket) * packet_bytes >> kFractionBits;
}

Duration Swift::target(std::uint32_t hops) const {
  const std::int64_t base = to_ps(parameters_.base_round_trip);
  std::int64_t target = base + base * kHopPerMille / 1'000 * static_cast<std::int64_t>(hops);
  // kRange x base x (1 / sqrt(window) - 1 / sqrt(large)) / (1 / sqrt(small) - 1 / sqrt(large)).
  const std::uint64_t window = std::clamp(window_, kSmall, kLarge);
  const auto inverse = [](std::uint64_t packets) {
    return static_cast<std::int64_t>((std::uint64_t{1} << 2 * kFractionBits) / root_of(packets));
  };
  const std::int64_t part = inverse(window) - inverse(kLarge), whole = inverse(kSmall) - inverse(kLarge);
  target += static_cast<std::int64_t>(static_cast<__int128>(kRange * base) * part / whole);
  return Duration(target);
}

void Swift::on_acknowledged(const Acknowledged& acknowledged) {
  if (!acknowledged.round_trip) return;
  if (window_ == 0) begin();
  const Duration delay = round_trip_ = *acknowledged.round_trip;
  const Duration limit = target(acknowledged.telemetry == nullptr ? 0 : acknowledged.telemetry->hops);
  if (delay < limit) {
    const std::uint64_t step = window_ >= kPacket ? (kPacket << kFractionBits) / window_ : kPacket;
    window_ = std::min(window_ + step * acknowledged.packets, kMost);
    return;
  }
  if (has_shrunk_ && acknowledged.now - shrunk_at_ < delay) return;
  const auto over = static_cast<std::uint64_t>(to_ps(delay - limit));
  const auto cut =
      static_cast<std::uint64_t>(static_cast<Wide>(window_) * kBetaPercent * over / (static_cast<Wide>(to_ps(delay)) * 100));
  window_ = std::max(window_ - std::min(cut, window_ * kMostCutPercent / 100), kLeast);
  has_shrunk_ = true;
  shrunk_at_ = acknowledged.now;
}

std::optional<Rate> Swift::rate(Instant) {
  if (round_trip_ <= Duration(0)) return std::nullopt;
  constexpr std::uint64_t kPsKbpsPerByte = 8'000'000'000;
  const Wide bytes = static_cast<Wide>(window_) * packet_bytes_ * kPsKbpsPerByte >> kFractionBits;
  const Rate rate{
      std::max<std::uint64_t>(static_cast<std::uint64_t>(bytes / static_cast<std::uint64_t>(to_ps(round_trip_))), 1)};
  return rate < line_ ? std::optional(rate) : std::nullopt;
}

Instant Swift::due(Instant now, const SentPacket& newest) {
  if (newest.bytes == 0 || window_ == 0 || window_ >= kPacket) return now;
  return newest.start + Duration(static_cast<std::int64_t>(static_cast<Wide>(to_ps(round_trip_)) * kPacket / window_));
}

}  // namespace verbatim::hca
