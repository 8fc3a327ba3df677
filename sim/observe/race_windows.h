// How often a run came through the moments in which well-known races show. A search that never did has not tested for them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "sim/core/trace.h"

namespace verbatim::observe {

enum class RaceWindow : std::uint8_t {
  kCompletionBeforeArm,   // a completion is written at most 2 us before its queue is asked for an event
  kReceiveMissing,        // a message comes before a receive for it is posted
  kRetransmission,        // a request is sent again, so that its buffer is read again
  kLateGather,            // a buffer is read 1 us or more after its doorbell
  kQueuePairGone,         // a packet comes for a queue pair that is not there (any more), or does not receive
};
inline constexpr std::size_t kRaceWindowCount = 5;
std::string_view text_of(RaceWindow window);

class RaceWindows final : public TraceSink {
 public:
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  const std::array<std::uint64_t, kRaceWindowCount>& hits() const { return hits_; }

 private:
  void hit(RaceWindow window) { ++hits_[static_cast<std::size_t>(window)]; }

  using Object = std::pair<std::uint32_t, std::uint64_t>;  // adapter and number of the queue
  // When the last completion of a queue was written, until it is asked for an event.
  std::map<Object, std::int64_t> completed_ps_;
  // When the doorbell of a queue pair was rung, until a buffer is read.
  std::map<Object, std::int64_t> rung_ps_;
  std::array<std::uint64_t, kRaceWindowCount> hits_{};
};

}  // namespace verbatim::observe
