#include "sim/fabric/arrivals.h"

#include <algorithm>
#include <utility>

#include "sim/ib/packet_trace.h"
#include "sim/ib/wire.h"

namespace verbatim::fabric {

Arrivals::Arrivals(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, PacketSink& sink,
                   ib::PortCounters& counters, LossListener& losses)
    : timer_(Timer::with_prefetch<&Arrivals::on_arrival, &Arrivals::prefetch>(engine, id, EventClass::kArrival, this)),
      tracer_(tracer),
      id_(id),
      number_(number),
      sink_(sink),
      delivery_(sink.delivery()),
      counters_(counters),
      losses_(losses) {}

void Arrivals::expect(ib::PacketPtr&& coming) {
  on_line_.enter(coming->sent_bytes);
  const Instant when = delivery_of(*coming);
  if (expected_.insert(std::move(coming), [this](const ib::Packet& packet) { return delivery_of(packet); }))
    timer_.reschedule_at(when);
}

ib::PacketPtr Arrivals::take_first() {
  ib::PacketPtr packet = expected_.pop_front();
  on_line_.leave(packet->sent_bytes);
  if (expected_.empty()) {
    on_line_.expect(0);
  } else {
    timer_.schedule_at(delivery_of(expected_.front()));
  }
  return packet;
}

void Arrivals::on_arrival() {
  if (expected_.front().forwarding.failures != failures_) [[unlikely]]
    return lose_next();
  ib::PacketPtr packet = take_first();
  const std::uint32_t wire_bytes = packet->sent_bytes;
  ++counters_.rcv_packets;
  counters_.rcv_bytes += wire_bytes - ib::kVcrcBytes;
  if (counters_.priorities != nullptr) [[unlikely]] {
    ib::PriorityCounts& counted = counters_.priorities->at(packet->lrh.lane.value);
    ++counted.rcv_packets;
    counted.rcv_bytes += wire_bytes;
  }
  if (packet->is_to_group) [[unlikely]] ++counters_.multicast_rcv_packets;
  ib::record(tracer_, id_, TraceEvent::kPacketReceived, *packet, wire_bytes);
  const ArrivalTimes times{packet->forwarding.begin, packet->forwarding.end};
  sink_.receive(number_, std::move(packet), times);
}

void Arrivals::prefetch(int step) {
  if (expected_.empty()) return;
  if (step == 0) {
    prefetch_lines(this, 1, 2);
    return prefetch_lines(&expected_.front(), 0, 2);
  }
  if (step == 1) {
    if (expected_.front().next != nullptr) prefetch_lines(expected_.front().next, 0, 1);
    prefetch_lines(&losses_, 0, 1);  // in the port
    prefetch_lines(&counters_, 0, 1);
    return prefetch_lines(&sink_, 0, 7);
  }
  const ib::Packet& first = expected_.front();
  if (step == 2 && counters_.priorities != nullptr)
    prefetch_lines(&counters_.priorities->at(first.lrh.lane.value % counters_.priorities->size()), 0, 1);
  sink_.prefetch(number_, expected_.front(), step - 2);
}

void Arrivals::lose_next() {
  const ib::PacketPtr lost = take_first();
  if (lost->forwarding.failures == kFaultyPacket) {
    ++counters_.rcv_errors;
  } else {
    ib::record_drop(tracer_, id_, *lost, DropReason::kLostOnLink, id_);
  }
  losses_.on_loss(lost->lrh.lane, lost->sent_bytes, std::max(lost->forwarding.end, delivery_of(*lost)));
}

}  // namespace verbatim::fabric
