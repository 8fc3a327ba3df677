// The rate of one queue pair under congestion control: it decreases when the peer reports congestion, and
// increases with time and with bytes sent.
//
// A controller has no timers. Its state depends only on the times of notifications and of sent packets. Each
// call first accounts for all timer periods that have ended since the previous call. An idle queue pair
// therefore costs nothing, and no event keeps a run alive. All arithmetic is in integers.
//
// Calls of one controller are in the order of their times.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/time.h"
#include "sim/hca/congestion/rate.h"
#include "sim/ib/psn.h"
#include "sim/ib/telemetry.h"

namespace verbatim::hca {

// Signals that a controller uses; the adapter produces no others.
enum Signal : std::uint8_t {
  kNotifications = 1 << 0,  // notifications of the peer
  kSentBytes = 1 << 1,      // bytes of every packet
  kRoundTrips = 1 << 2,     // round trips of packets that ask for an acknowledgement
  kAcknowledgements = 1 << 3,  // an acknowledgement for every request packet
  kHops = 1 << 4,           // in acknowledgements: number of switches on the packet's path
  kTelemetry = 1 << 5,      // in acknowledgements: a record of each switch; takes ib::kTelemetryBytes in each packet
};

// The newest sent packet; `bytes` 0: there is none.
struct SentPacket {
  Instant start{};
  std::uint32_t bytes = 0;  // on InfiniBand from the LRH to the VCRC
};

// An acknowledgement of request packets.
struct Acknowledged {
  Instant now{};
  ib::Psn psn;       // PSN of the newest of them
  ib::Psn next_psn;  // one past the newest sent packet
  std::uint32_t packets = 0;           // newly acknowledged packets
  std::optional<Duration> round_trip;  // of the packet `psn`; nullopt: it was retransmitted
  const ib::Telemetry* telemetry = nullptr;  // in the acknowledgement; null: none
};

class RateController {
 public:
  virtual ~RateController() = default;

  // A notification for this queue pair has been received: a CNP, or BECN on InfiniBand.
  virtual void on_notification(Instant now) = 0;
  // The queue pair sends a packet. `bytes`: its frame from the destination address to the frame check
  // sequence, on InfiniBand from the LRH to the VCRC.
  virtual void on_sent(Instant now, std::uint32_t bytes) = 0;
  // Whether on_round_trip() or Acknowledged::round_trip is used. `time`: from the hand-over of a request
  // packet to the port until its acknowledgement arrived.
  virtual bool wants_round_trips() const { return false; }
  virtual void on_round_trip(Instant /*now*/, Duration /*time*/) {}
  // Called instead of on_round_trip() for a controller with kAcknowledgements.
  virtual void on_acknowledged(const Acknowledged&) {}
  // Window in bytes of payload: a request packet may start while fewer bytes are sent and not acknowledged.
  // `packet_bytes`: payload of a full packet. nullopt: no limit.
  virtual std::optional<std::uint64_t> window(std::uint32_t /*packet_bytes*/) { return std::nullopt; }
  // nullopt: no limit.
  virtual std::optional<Rate> rate(Instant now) = 0;
  // Time of the next increase of the rate if no packet is sent before; kNever: time alone does not increase
  // it.
  virtual Instant next_increase(Instant now) = 0;
  // Time at which a packet may start after the packet `newest`; at most `now`: at once.
  virtual Instant due(Instant now, const SentPacket& newest) {
    const std::optional<Rate> current = newest.bytes == 0 ? std::nullopt : rate(now);
    return current ? newest.start + current->time_for(newest.bytes) : now;
  }
  // Current index into the congestion control table (`injection_control.h`); 0 for other controllers.
  virtual std::uint16_t table_index(Instant) { return 0; }
};

}  // namespace verbatim::hca
