#include "sim/fabric/channel.h"

#include <utility>

#include "sim/core/check.h"
#include "sim/ib/group_address.h"
#include "sim/ib/packet_trace.h"
#include "sim/ib/wire.h"

namespace verbatim::fabric {

Channel::Channel(Engine& engine, Tracer& tracer, ComponentId arrival_source, const LinkParams& params,
                 PortNumber far_port, PacketSink& far_end, ib::PortCounters& received)
    : engine_(engine),
      tracer_(tracer),
      arrival_source_(arrival_source),
      params_(params),
      far_port_(far_port),
      far_end_(far_end),
      received_(received),
      line_(params.byte_time),
      arrival_(Timer::of<&Channel::on_arrival>(engine, arrival_source, EventClass::kArrival, this)) {
  CHECK(params.propagation >= Duration(0) && params.credit_update_interval >= Duration(0));
}

DepartureTimes Channel::start(std::uint32_t wire_bytes, Instant* head) {
  line_.begin(engine_.now());
  *head = line_.after(params_.bytes_before + params_.header_bytes);
  const Instant tail = line_.after(params_.bytes_before + wire_bytes);
  line_.pass(params_.bytes_before + wire_bytes + params_.bytes_after);
  return {tail, line_.busy_until()};
}

DepartureTimes Channel::transmit(ib::PacketPtr&& packet, std::uint32_t wire_bytes, Duration delay) {
  Instant head;
  const DepartureTimes departure = start(wire_bytes, &head);
  if (packet->trail) [[unlikely]]
    add_to(packet->trail, head, delay);
  const Duration way = params_.propagation + delay;
  const ArrivalTimes times{head + way, departure.tail + way};
  std::size_t place = in_flight_.size();
  const auto comes_last = [&times](const InFlight& before) { return before.times.head <= times.head; };
  if (InFlight* const last = in_flight_.extend_if(comes_last); last != nullptr) [[likely]] {
    last->packet = std::move(packet);
    last->times = times;
    last->wire_bytes = wire_bytes;
  } else {
    place = in_flight_.insert_sorted({std::move(packet), times, wire_bytes},
                                     [](const InFlight& a, const InFlight& b) { return a.times.head < b.times.head; });
  }
  if (place == 0) arrival_.reschedule_at(times.head);
  return departure;
}

void Channel::add_to(Trail& trail, Instant head, Duration delay) const {
  const Instant from_cable = head + params_.propagation - params_.transceivers - params_.fec;
  trail.add(head, {arrival_source_, "link: header", TrailKind::kBytes,
                   params_.bytes_before + params_.header_bytes});
  trail.add(from_cable, {arrival_source_, "link: cable", TrailKind::kDelay});
  trail.add(from_cable + params_.transceivers, {arrival_source_, "link: transceivers", TrailKind::kDelay});
  trail.add(head + params_.propagation, {arrival_source_, "link: error correction block", TrailKind::kDelay});
  trail.add(head + params_.propagation + delay, {arrival_source_, "link: scripted delay", TrailKind::kDelay});
}

DepartureTimes Channel::occupy(std::uint32_t wire_bytes) {
  Instant head;
  return start(wire_bytes, &head);
}

ib::PacketPtr Channel::take_in_flight() {
  arrival_.cancel();
  return in_flight_.empty() ? nullptr : in_flight_.pop_front().packet;
}

void Channel::on_arrival() {
  InFlight& slot = in_flight_.front();
  ib::PacketPtr packet = std::move(slot.packet);
  const ArrivalTimes times = slot.times;
  const std::uint32_t wire_bytes = slot.wire_bytes;
  in_flight_.drop_front();
  if (!in_flight_.empty()) arrival_.schedule_at(in_flight_.front().times.head);
  ++received_.rcv_packets;
  received_.rcv_bytes += wire_bytes - ib::kVcrcBytes;
  if (ib::is_to_group(*packet)) [[unlikely]] ++received_.multicast_rcv_packets;
  ib::record(tracer_, arrival_source_, TraceEvent::kPacketReceived, *packet, wire_bytes);
  far_end_.receive(far_port_, std::move(packet), times);
}

}  // namespace verbatim::fabric
