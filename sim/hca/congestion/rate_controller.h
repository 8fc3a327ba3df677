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
#include "sim/ib/psn.h"
#include "sim/ib/telemetry.h"

namespace verbatim::hca {

// Signals that a controller is to be given; a signal that no controller asks for costs nothing.
enum Signal : std::uint8_t {
  kNotifications = 1 << 0,  // notifications of the peer
  kSentBytes = 1 << 1,      // bytes of every packet
  kRoundTrips = 1 << 2,     // round trips of packets that ask for an acknowledgement
  kAcknowledgements = 1 << 3,  // an acknowledgement for every request packet
  kHops = 1 << 4,           // in acknowledgements: how many switches the packet has passed
  kTelemetry = 1 << 5,      // in acknowledgements: a record of each of them; takes ib::kTelemetryBytes in each packet
};

// The newest packet that has been sent; no bytes: there is none.
struct SentPacket {
  Instant start{};
  std::uint32_t bytes = 0;  // on InfiniBand from the LRH to the VCRC
};

// Request packets have been acknowledged.
struct Acknowledged {
  Instant now{};
  ib::Psn psn;       // PSN of the newest of them
  ib::Psn next_psn;  // behind the newest that has been sent
  std::uint32_t packets = 0;
  std::optional<Duration> round_trip;  // round trip of the newest; none: it was sent again
  const ib::Telemetry* telemetry = nullptr;  // that it brings; null: none
};

class RateController {
 public:
  virtual ~RateController() = default;

  // A notification for this queue pair has been received: a CNP, or BECN on InfiniBand.
  virtual void on_notification(Instant now) = 0;
  // The queue pair sends a packet. `bytes` are those of the frame from the destination address to the frame check sequence, on
  // InfiniBand from the LRH to the VCRC.
  virtual void on_sent(Instant now, std::uint32_t bytes) = 0;
  // A packet has been acknowledged so long after it was handed to the port.
  virtual bool wants_round_trips() const { return false; }
  virtual void on_round_trip(Instant /*now*/, Duration /*time*/) {}
  // The same with all that a window needs, for a controller of kAcknowledgements.
  virtual void on_acknowledged(const Acknowledged&) {}
  // Bytes of payload of request packets that may be sent and not acknowledged: one more packet starts while there are fewer.
  // `packet_bytes`: payload of a full packet. Nothing: there is no limit.
  virtual std::optional<std::uint64_t> window(std::uint32_t /*packet_bytes*/) { return std::nullopt; }
  // Nothing: the queue pair is not limited.
  virtual std::optional<Rate> rate(Instant now) = 0;
  // The rate does not rise before this time, unless a packet is sent; kNever: it does not rise by itself.
  virtual Instant next_increase(Instant now) = 0;
  // When the next packet may start behind the newest one of the queue pair; not after `now`: at once.
  virtual Instant due(Instant now, const SentPacket& newest) {
    const std::optional<Rate> current = newest.bytes == 0 ? std::nullopt : rate(now);
    return current ? newest.start + current->time_for(newest.bytes) : now;
  }
  // Index of a controller with a congestion control table (`injection_control.h`).
  virtual std::uint16_t table_index(Instant) { return 0; }
};

}  // namespace verbatim::hca
