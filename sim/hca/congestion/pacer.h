// "The queue pair's next packet not before t": the distance between the packets of one queue pair that has a rate, by its static
// rate (`static_rate` of the address vector), by a controller, or by both, of which the lower counts.
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
  // `line`: of the port, shown as the rate of a queue pair that is not limited. One of the others is there.
  Pacer(Rate line, std::optional<Rate> static_rate, std::unique_ptr<RateController> controller, std::uint8_t signals = 0);

  // When the next packet may start; not after `now`: at once.
  Instant due(Instant now);
  // When due() should be asked again by an owner that waits: it may be earlier then than it is now.
  Instant look_again(Instant now);
  void on_sent(Instant now, std::uint32_t bytes);
  // The controller wants round trips: a request packet is handed to the port; a packet comes that answers requests.
  bool wants_round_trips() const { return round_trips_ != nullptr; }
  void on_handed_over(const ib::Bth& bth, Instant when) { round_trips_->on_handed_over(bth.psn, bth.ack_request, when); }
  void on_answer(const ib::Packet& packet, Instant now);
  // The controller asks for acknowledgements of every packet. A request packet is taken from the queue pair: it asks for its
  // acknowledgement, and has room for the telemetry that the controller wants.
  bool wants_acknowledgements() const { return in_flight_ != nullptr; }
  ib::PacketPtr prepare(ib::PacketPtr packet);
  // Nothing before `unacknowledged` is outstanding, and the next packet is `next`; `packet_bytes` are the payload of a full one.
  // While the window is full, due() is kNever. The queue pair asks again when something has been acknowledged.
  void judge_window(ib::Psn unacknowledged, ib::Psn next, std::uint32_t packet_bytes);
  // The next packet needs no window.
  void pass_window() { is_window_full_ = false; }
  // False: there is no controller.
  bool on_notification(Instant now);
  // As RateController has it; 0 without one.
  std::uint16_t table_index(Instant now) { return controller_ == nullptr ? std::uint16_t{0} : controller_->table_index(now); }

  // Emits a `rate` record if the rate, in Mb/s, is another than at the last call.
  void record_rate(Tracer& tracer, ComponentId adapter, std::uint32_t queue_pair, Instant now);

 private:
  std::optional<Rate> rate(Instant now);

  const Rate line_;
  const std::optional<Rate> static_rate_;
  const std::unique_ptr<RateController> controller_;
  const std::unique_ptr<RoundTrips> round_trips_;  // null: the controller wants none
  const std::unique_ptr<InFlight> in_flight_;      // null: it wants no acknowledgements
  const ib::TelemetryKind telemetry_;
  bool is_window_full_ = false;
  std::uint64_t recorded_mbps_;
  SentPacket newest_;
};

// The rate of an ibv_rate; nothing for 0, which is no limit, and for numbers that are no rate.
std::optional<Rate> rate_of_static(std::uint8_t static_rate);

}  // namespace verbatim::hca
