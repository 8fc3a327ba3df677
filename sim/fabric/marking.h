// ECN marking of packets (RFC 3168) at a congested output queue: random early detection on the bytes queued
// at present. Below `least` no packet is marked, above `most` every one, between them with a probability
// that rises to `probability_ppm`. A packet without ECT is not marked.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/rng.h"
#include "sim/fabric/priority_flow_control.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

struct MarkingCurve {
  std::uint64_t least_bytes = 0, most_bytes = 0;  // least <= most
  std::uint32_t probability_ppm = 0;              // at `most`, in millionths; 0: no marking
  friend bool operator==(const MarkingCurve&, const MarkingCurve&) = default;
};

struct MarkingParams {
  // Compared when a packet joins its queue, with the bytes queued before it, or when it starts, with the
  // bytes left behind.
  enum class Where : std::uint8_t { kEnqueue, kDequeue };

  Where where = Where::kDequeue;
  std::array<MarkingCurve, kPriorities> curves;  // by lane
  friend bool operator==(const MarkingParams&, const MarkingParams&) = default;
};

// Marking curve of a profile, for queues of some priorities.
struct MarkedQueues {
  std::string priorities = "0-7";  // as written: "3", "3,4" or "0-7"; with fewer lanes than eight, lanes
  std::int64_t least_bytes = 0, most_bytes = 0;
  std::uint32_t probability_percent = 100;
  // Rate of the port that the thresholds are given for; they scale with the rate of other ports. 0: any
  // rate.
  ByteTime at_rate{0, 1};
  std::string pointer;

  std::uint8_t lanes = 0;  // resolved: bit n for priority n
};
struct MarkingProfile {
  std::string where = "dequeue";  // or enqueue
  std::vector<MarkedQueues> queues;
};
// A threshold given for ports of byte time `from`, scaled to a port of byte time `to`: twice the rate,
// twice the threshold.
inline std::uint64_t scaled_threshold(std::int64_t bytes, ByteTime from, ByteTime to) {
  if (from.ps_numerator == 0) return static_cast<std::uint64_t>(bytes);
  const auto numerator = static_cast<unsigned __int128>(bytes) * from.ps_numerator * to.denominator;
  return static_cast<std::uint64_t>(numerator / from.denominator / to.ps_numerator);
}

// Parameters of a port of a given rate; null: it does not mark.
inline std::shared_ptr<const MarkingParams> marking_of(const MarkingProfile& profile, ByteTime rate) {
  if (profile.queues.empty()) return nullptr;
  auto params = std::make_shared<MarkingParams>();
  params->where =
      profile.where == "enqueue" ? MarkingParams::Where::kEnqueue : MarkingParams::Where::kDequeue;
  constexpr std::uint32_t kMillionthsPerPercent = 10'000;
  for (const MarkedQueues& queues : profile.queues) {
    for (std::uint32_t lane = 0; lane < kPriorities; ++lane) {
      if ((queues.lanes >> lane & 1) == 0) continue;
      params->curves[lane] = {scaled_threshold(queues.least_bytes, queues.at_rate, rate),
                              scaled_threshold(queues.most_bytes, queues.at_rate, rate),
                              queues.probability_percent * kMillionthsPerPercent};
    }
  }
  return params;
}

class Marking {
 public:
  Marking(std::shared_ptr<const MarkingParams> params, const Rng& random)
      : params_(std::move(params)), random_(random), where_(params_->where) {}

  MarkingParams::Where where() const { return where_; }
  // Whether a packet of a lane is marked if `bytes` are queued.
  bool marks(std::size_t lane, std::uint64_t bytes) {
    if (lane >= kPriorities) return false;
    const MarkingCurve& curve = params_->curves[lane];
    if (curve.probability_ppm == 0 || bytes <= curve.least_bytes) return false;
    if (bytes > curve.most_bytes) return true;
    constexpr std::uint64_t kMillion = 1'000'000;
    const std::uint64_t span = curve.most_bytes - curve.least_bytes;
    return random_.below(span * kMillion) < (bytes - curve.least_bytes) * curve.probability_ppm;
  }

 private:
  std::shared_ptr<const MarkingParams> params_;
  Rng random_;
  MarkingParams::Where where_;
};

}  // namespace verbatim::fabric
