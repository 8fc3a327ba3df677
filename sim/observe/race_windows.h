// How often a run passed through situations in which well-known races can occur. A search that never did has
// not tested for them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "sim/core/trace.h"

namespace verbatim::observe {

enum class RaceWindow : std::uint8_t {
  kCompletionBeforeArm,   // a completion is written at most 2 us before its CQ is armed
  kReceiveMissing,        // a message arrives before a receive for it is posted
  kRetransmission,        // a request is retransmitted, so its buffer is read again
  kLateGather,            // a buffer is read 1 us or more after the doorbell
  kQueuePairGone,         // a packet arrives for a queue pair that does not exist or cannot receive
};
inline constexpr std::size_t kRaceWindowCount = 5;
std::string_view text_of(RaceWindow window);

class RaceWindows final : public TraceSink {
 public:
  TraceEvents events() const override {
    return bits_of(TraceEvent::kCompletion, TraceEvent::kDoorbell, TraceEvent::kPayloadGathered,
                   TraceEvent::kAckSent, TraceEvent::kRetransmission, TraceEvent::kPacketDropped);
  }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  const std::array<std::uint64_t, kRaceWindowCount>& hits() const { return hits_; }

 private:
  void hit(RaceWindow window) { ++hits_[static_cast<std::size_t>(window)]; }

  using Object = std::pair<std::uint32_t, std::uint64_t>;  // adapter and queue number
  // Time of the last completion of a CQ, until the CQ is armed.
  std::map<Object, std::int64_t> completed_ps_;
  // Time of a queue pair's doorbell, until a buffer is read.
  std::map<Object, std::int64_t> rung_ps_;
  std::array<std::uint64_t, kRaceWindowCount> hits_{};
};

}  // namespace verbatim::observe
