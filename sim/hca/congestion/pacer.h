// Spaces the packets of one queue pair with a rate: its static rate (`static_rate` of the address vector),
// the rate of a controller, or the lower of both.
//
// The distance between the starts of two packets is the time of the first one's frame at the current rate.
// The frame extends from the destination address to the frame check sequence, on InfiniBand from the LRH to
// the VCRC. Under injection rate control the distance is the frame's time on the line plus the delay of the
// table (`injection_control.h`). If the rate changes in between, the whole distance is that of the new rate,
// unless the controller's due() differs. A packet starts when the adapter takes it from its queue pair,
// before its payload is gathered. Retransmissions, responses, and acknowledgements queued behind responses
// are paced too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/core/time.h"
#include "sim/core/trace.h"
#include "sim/hca/congestion/in_flight.h"
#include "sim/hca/congestion/rate.h"
#include "sim/hca/congestion/rate_controller.h"
#include "sim/hca/congestion/round_trips.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class Pacer {
 public:
  // `line`: rate of the port, in `rate` records of an unlimited queue pair. `static_rate` or `controller` is
  // set. `signals`: Signal bits that the controller uses.
  Pacer(Rate line, std::optional<Rate> static_rate, std::unique_ptr<RateController> controller, std::uint8_t signals = 0);

  // Time at which the next packet may start: at most `now` if at once, kNever while the window is full.
  Instant due(Instant now);
  // Time at which a waiting owner must call due() again: the due time or, if earlier, the next increase of
  // the rate, which makes the packet due earlier.
  Instant next_check(Instant now) { return next_check(now, due(now)); }
  // The same, given the result of due(now).
  Instant next_check(Instant now, Instant due);
  // A packet of `bytes` starts.
  void on_sent(Instant now, std::uint32_t bytes);
  // For a controller that uses round trips: a request packet has been handed to the port; an answer to
  // requests has arrived.
  bool wants_round_trips() const { return round_trips_ != nullptr; }
  void on_handed_over(const ib::Bth& bth, Instant when) { round_trips_->on_handed_over(bth.psn, bth.ack_request, when); }
  void on_answer(const ib::Packet& packet, Instant now);
  // For a controller that uses acknowledgements: sets AckReq in a request packet that is taken from the queue
  // pair, and adds room for the controller's telemetry.
  bool wants_acknowledgements() const { return in_flight_ != nullptr; }
  ib::PacketPtr prepare(ib::PacketPtr packet);
  // Checks whether the window permits the request packet `next`; all PSNs before `unacknowledged` are
  // acknowledged. `packet_bytes`: payload of a full packet. The queue pair calls this before due(), and after
  // acknowledgements.
  void judge_window(ib::Psn unacknowledged, ib::Psn next, std::uint32_t packet_bytes);
  // Called instead for a response or a repeated packet, which the window does not limit.
  void pass_window() { is_window_full_ = false; }
  // Passes a congestion notification to the controller. False: there is none.
  bool on_notification(Instant now);
  // RateController::table_index(); 0 without a controller.
  std::uint16_t table_index(Instant now) { return controller_ == nullptr ? std::uint16_t{0} : controller_->table_index(now); }

  // Emits a `rate` record if the rate in Mb/s has changed since the last call.
  void record_rate(Tracer& tracer, ComponentId adapter, std::uint32_t queue_pair, Instant now);

 private:
  std::optional<Rate> rate(Instant now);

  const Rate line_;
  const std::optional<Rate> static_rate_;
  const std::unique_ptr<RateController> controller_;
  const std::unique_ptr<RoundTrips> round_trips_;  // null: the controller does not use round trips
  const std::unique_ptr<InFlight> in_flight_;      // null: it does not use acknowledgements
  const ib::TelemetryKind telemetry_;
  bool is_window_full_ = false;
  Rate recorded_;  // at the last call of record_rate()
  std::uint64_t recorded_mbps_;
  SentPacket newest_;
};

// The rate of an ibv_rate value; nullopt for 0 (no limit) and for unknown values.
std::optional<Rate> rate_of_static(std::uint8_t static_rate);

}  // namespace verbatim::hca
