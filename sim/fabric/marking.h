// Marking of packets by congestion of an output queue (RFC 3168 in IP): random early detection on the bytes
// that wait in the queue at this instant. Below `least` no packet is marked, above `most` every one, between
// them with a probability that rises to `probability_ppm`. A packet whose sender does not announce that its
// transport understands marks (ECT) is left as it is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "sim/core/check.h"
#include "sim/core/rng.h"
#include "sim/fabric/priority_flow_control.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

struct MarkingCurve {
  std::uint64_t least_bytes = 0, most_bytes = 0;  // least <= most
  std::uint32_t probability_ppm = 0;              // at `most`, in millionths; 0: this queue marks nothing
  friend bool operator==(const MarkingCurve&, const MarkingCurve&) = default;
};

struct MarkingParams {
  // When a packet joins its queue, by what waits there with it, or when it starts, by what it leaves behind.
  enum class Where : std::uint8_t { kEnqueue, kDequeue };

  Where where = Where::kDequeue;
  std::array<MarkingCurve, kPriorities> curves;  // by lane
  friend bool operator==(const MarkingParams&, const MarkingParams&) = default;
};

class Marking {
 public:
  Marking(std::shared_ptr<const MarkingParams> params, const Rng& random)
      : params_(std::move(params)), random_(random) {}

  MarkingParams::Where where() const { return params_->where; }
  // Whether a packet of a lane is to be marked that finds so many bytes.
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
};

}  // namespace verbatim::fabric
