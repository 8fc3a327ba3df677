#include "sim/hca/congestion/pacer.h"

#include <algorithm>
#include <utility>

#include "sim/ib/aeth.h"

namespace verbatim::hca {

namespace {

constexpr ib::TelemetryKind telemetry_by(std::uint8_t signals) {
  if ((signals & kTelemetry) != 0) return ib::TelemetryKind::kRecords;
  return (signals & kHops) != 0 ? ib::TelemetryKind::kHops : ib::TelemetryKind::kNone;
}

}  // namespace

Pacer::Pacer(Rate line, std::optional<Rate> static_rate, std::unique_ptr<RateController> controller, std::uint8_t signals)
    : line_(line),
      static_rate_(static_rate),
      controller_(std::move(controller)),
      round_trips_(controller_ != nullptr && controller_->wants_round_trips() ? std::make_unique<RoundTrips>() : nullptr),
      in_flight_((signals & kAcknowledgements) != 0 ? std::make_unique<InFlight>() : nullptr),
      telemetry_(telemetry_by(signals)),
      recorded_(static_rate ? std::min(*static_rate, line) : line),
      recorded_mbps_(recorded_.mbps()) {}

std::optional<Rate> Pacer::rate(Instant now) {
  if (controller_ == nullptr) return static_rate_;
  const std::optional<Rate> controlled = controller_->rate(now);
  if (!controlled || !static_rate_) return controlled ? controlled : static_rate_;
  return std::min(*controlled, *static_rate_);
}

Instant Pacer::due(Instant now) {
  if (is_window_full_) return kNever;
  const Instant controlled = controller_ == nullptr ? now : controller_->due(now, newest_);
  if (!static_rate_ || newest_.bytes == 0) return controlled;
  const Instant by_static_rate = newest_.start + static_rate_->time_for(newest_.bytes);
  return controller_ == nullptr ? by_static_rate : std::max(by_static_rate, controlled);
}

Instant Pacer::next_check(Instant now, Instant due) {
  return controller_ == nullptr ? due : std::min(due, std::max(controller_->next_increase(now), now));
}

void Pacer::on_sent(Instant now, std::uint32_t bytes) {
  newest_ = {now, bytes};
  if (controller_ != nullptr) controller_->on_sent(now, bytes);
}

ib::PacketPtr Pacer::prepare(ib::PacketPtr packet) {
  packet->bth.ack_request = true;
  in_flight_->on_sent(packet->bth.psn, packet->payload.length);
  if (telemetry_ == ib::TelemetryKind::kNone || !ib::info(packet->bth.opcode).has_payload) return packet;
  return ib::with_telemetry(std::move(packet), {.kind = telemetry_});
}

void Pacer::judge_window(ib::Psn unacknowledged, ib::Psn next, std::uint32_t packet_bytes) {
  in_flight_->on_acknowledged(unacknowledged - 1);
  in_flight_->go_back(next);
  const std::optional<std::uint64_t> window = controller_->window(packet_bytes);
  is_window_full_ = window && in_flight_->bytes() >= *window;
}

void Pacer::on_answer(const ib::Packet& packet, Instant now) {
  const bool is_ack = ib::ack_kind(packet.aeth.syndrome) == ib::AckKind::kAck;
  if (ib::operation_of(packet.bth.opcode) != ib::Operation::kAcknowledge || !is_ack) return;
  const auto time = round_trips_->on_acknowledged(packet.bth.psn, now);
  if (in_flight_ != nullptr) {
    const std::uint32_t packets = in_flight_->on_acknowledged(packet.bth.psn);
    controller_->on_acknowledged({now, packet.bth.psn, in_flight_->next(), packets, time, ib::telemetry_of(packet)});
  } else if (time) {
    controller_->on_round_trip(now, *time);
  }
}

bool Pacer::on_notification(Instant now) {
  if (controller_ == nullptr) return false;
  controller_->on_notification(now);
  return true;
}

void Pacer::record_rate(Tracer& tracer, ComponentId adapter, std::uint32_t queue_pair, Instant now) {
  const Rate current = rate(now).value_or(line_);
  if (current == recorded_) return;
  recorded_ = current;
  const std::uint64_t mbps = current.mbps();
  if (mbps == recorded_mbps_) return;
  recorded_mbps_ = mbps;
  tracer.record(adapter, TraceEvent::kRate, queue_pair, mbps);
}

std::optional<Rate> rate_of_static(std::uint8_t static_rate) {
  // Mb/s of the signal, as ibv_rate_to_mbps() has them, by the values of ibv_rate.
  constexpr std::uint32_t kMbps[] = {0,      0,      2'500,   10'000,  30'000, 5'000,  20'000,  40'000,  60'000,
                                     80'000, 120'000, 14'062, 56'250,  112'500, 168'750, 25'781, 103'125, 206'250,
                                     309'375, 28'125, 53'125, 425'000, 637'500, 850'000, 1'275'000};
  if (static_rate >= std::size(kMbps) || kMbps[static_rate] == 0) return std::nullopt;
  return Rate::of_mbps(kMbps[static_rate]);
}

}  // namespace verbatim::hca
