// The rate of one queue pair under congestion control: it falls when the peer reports congestion, and rises again with time
// and with bytes sent.
//
// A controller has no timers. Its state depends on the times of notifications and of sent packets alone, so it is brought up to
// date when somebody calls: every timer period that has elapsed since the last call is accounted for, as if an event had come
// at its end. An idle queue pair costs nothing, and no event keeps a run alive. All arithmetic is in integers.
//
// Calls of one controller come in the order of their times.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/time.h"
#include "sim/hca/congestion/rate.h"

namespace verbatim::hca {

// Signals that a controller is to be given; a signal that no controller asks for costs nothing.
enum Signal : std::uint8_t {
  kNotifications = 1 << 0,  // CNPs of the peer
  kSentBytes = 1 << 1,      // of every packet
};

class RateController {
 public:
  virtual ~RateController() = default;

  // A CNP for this queue pair has been received.
  virtual void on_notification(Instant now) = 0;
  // The queue pair sends a packet. `bytes` are those of the frame from the destination address to the frame check sequence.
  virtual void on_sent(Instant now, std::uint32_t bytes) = 0;
  // Nothing: the queue pair is not limited.
  virtual std::optional<Rate> rate(Instant now) = 0;
  // The rate does not rise before this time, unless a packet is sent; kNever: it does not rise by itself.
  virtual Instant next_increase(Instant now) = 0;
};

}  // namespace verbatim::hca
