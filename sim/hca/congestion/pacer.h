// Distance between the packets of one queue pair that has a rate: its static rate (`static_rate` of the
// address vector), the rate of a controller, or the lower of both.
//
// A packet may start when the frame of the packet before, from the destination address to the frame check sequence (on
// InfiniBand from the LRH to the VCRC), would have passed at the current rate, counted from that packet's start; under
// injection rate control, after the time of that packet on the line and the delay of the table (`injection_control.h`). When
// the rate changes meanwhile, the whole distance is that of the new rate, unless the controller says otherwise. A packet
// starts when the adapter takes it from its queue pair, which is before its payload is gathered. Retransmissions, responses
// and acknowledgements that queue behind responses are packets of the queue pair like any other.
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
  // `line`: rate of the port, which is recorded for a queue pair without a limit. At least one of the other
  // arguments is set.
  Pacer(Rate line, std::optional<Rate> static_rate, std::unique_ptr<RateController> controller, std::uint8_t signals = 0);

  // Time at which the next packet may start; not after `now`: at once.
  Instant due(Instant now);
  // Time at which an owner that waits calls due() again, which may return an earlier time then.
  Instant look_again(Instant now);
  void on_sent(Instant now, std::uint32_t bytes);
  // For a controller of round trips: a request packet has been handed to the port; an answer to requests has
  // arrived.
  bool wants_round_trips() const { return round_trips_ != nullptr; }
  void on_handed_over(const ib::Bth& bth, Instant when) { round_trips_->on_handed_over(bth.psn, bth.ack_request, when); }
  void on_answer(const ib::Packet& packet, Instant now);
  // For a controller of acknowledgements: sets AckReq in a request packet that is taken from the queue pair,
  // and adds room for the controller's telemetry.
  bool wants_acknowledgements() const { return in_flight_ != nullptr; }
  ib::PacketPtr prepare(ib::PacketPtr packet);
  // All PSNs before `unacknowledged` are acknowledged, and the next packet is `next`; `packet_bytes`: payload
  // of a full packet. While the window is full, due() is kNever. The queue pair calls again after an
  // acknowledgement.
  void judge_window(ib::Psn unacknowledged, ib::Psn next, std::uint32_t packet_bytes);
  // The window does not limit the next packet.
  void pass_window() { is_window_full_ = false; }
  // False: there is no controller.
  bool on_notification(Instant now);
  // As in RateController; 0 without a controller.
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
  std::uint64_t recorded_mbps_;
  SentPacket newest_;
};

// The rate of an ibv_rate; none for 0 (no limit), and for numbers that are no rate.
std::optional<Rate> rate_of_static(std::uint8_t static_rate);

}  // namespace verbatim::hca
