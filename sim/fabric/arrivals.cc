#include "sim/fabric/arrivals.h"

#include <algorithm>
#include <utility>

#include "sim/ib/group_address.h"
#include "sim/ib/packet_trace.h"
#include "sim/ib/wire.h"

namespace verbatim::fabric {

Arrivals::Arrivals(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, PacketSink& sink,
                   ib::PortCounters& counters, LossListener& losses)
    : tracer_(tracer),
      id_(id),
      number_(number),
      sink_(sink),
      delivery_(sink.delivery()),
      counters_(counters),
      losses_(losses),
      timer_(Timer::of<&Arrivals::on_arrival>(engine, id, EventClass::kArrival, this)) {}

void Arrivals::expect(PacketOnLine&& coming) {
  on_line_.enter(coming.wire_bytes);
  std::size_t place = expected_.size();
  const Instant when = delivery_.of(coming.times);
  const auto comes_last = [&](const PacketOnLine& before) { return delivery_.of(before.times) <= when; };
  if (PacketOnLine* const last = expected_.extend_if(comes_last); last != nullptr) [[likely]] {
    *last = std::move(coming);
  } else {
    place = expected_.insert_sorted(std::move(coming), [this](const PacketOnLine& a, const PacketOnLine& b) {
      return delivery_.of(a.times) < delivery_.of(b.times);
    });
  }
  if (place == 0) timer_.reschedule_at(when);
}

void Arrivals::on_arrival() {
  PacketOnLine& slot = expected_.front();
  if (slot.failures != failures_) [[unlikely]]
    return lose_next();
  ib::PacketPtr packet = std::move(slot.packet);
  const ArrivalTimes times = slot.times;
  const std::uint32_t wire_bytes = slot.wire_bytes;
  expected_.drop_front();
  leave_line(wire_bytes);
  if (!expected_.empty()) timer_.schedule_at(delivery_.of(expected_.front().times));
  ++counters_.rcv_packets;
  counters_.rcv_bytes += wire_bytes - ib::kVcrcBytes;
  if (counters_.priorities != nullptr) [[unlikely]] {
    ib::PriorityCounts& counted = counters_.priorities->at(packet->lrh.lane.value);
    ++counted.rcv_packets;
    counted.rcv_bytes += wire_bytes;
  }
  if (ib::is_to_group(*packet)) [[unlikely]] ++counters_.multicast_rcv_packets;
  ib::record(tracer_, id_, TraceEvent::kPacketReceived, *packet, wire_bytes);
  sink_.receive(number_, std::move(packet), times);
}

void Arrivals::lose_next() {
  const PacketOnLine lost = expected_.pop_front();
  leave_line(lost.wire_bytes);
  if (!expected_.empty()) timer_.schedule_at(delivery_.of(expected_.front().times));
  if (lost.failures == PacketOnLine::kFaulty) {
    ++counters_.rcv_errors;
  } else {
    ib::record_drop(tracer_, id_, *lost.packet, DropReason::kLostOnLink, id_);
  }
  losses_.on_loss(lost.packet->lrh.lane, lost.wire_bytes, std::max(lost.times.tail, delivery_.of(lost.times)));
}

}  // namespace verbatim::fabric
