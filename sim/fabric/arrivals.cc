#include "sim/fabric/arrivals.h"

#include <utility>

#include "sim/ib/group_address.h"
#include "sim/ib/packet_trace.h"
#include "sim/ib/wire.h"

namespace verbatim::fabric {

Arrivals::Arrivals(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, PacketSink& sink,
                   ib::PortCounters& counters)
    : tracer_(tracer),
      id_(id),
      number_(number),
      sink_(sink),
      counters_(counters),
      timer_(Timer::of<&Arrivals::on_arrival, &Arrivals::prefetch_arrival>(engine, id, EventClass::kArrival, this)) {}

void Arrivals::prefetch_arrival(int step) const {
  if (step == 0) return prefetch(this, sizeof *this);
  const Expected* const first = expected_.front_slot();
  if (step == 1) {
    prefetch(first, sizeof(Expected));
    prefetch(&counters_, sizeof counters_.rcv_bytes);
    return prefetch(&sink_);
  }
  if (expected_.empty()) return;
  if (step == 2) return prefetch(first->packet.get(), ib::kPacketHotBytes);
  sink_.prefetch_receive(number_, *first->packet, step - 3);
}

void Arrivals::expect(ib::PacketPtr&& packet, std::uint32_t wire_bytes, const ArrivalTimes& times) {
  std::size_t place = expected_.size();
  const auto comes_last = [&times](const Expected& before) { return before.times.head <= times.head; };
  if (Expected* const last = expected_.extend_if(comes_last); last != nullptr) [[likely]] {
    last->packet = std::move(packet);
    last->times = times;
    last->wire_bytes = wire_bytes;
  } else {
    place = expected_.insert_sorted({std::move(packet), times, wire_bytes},
                                    [](const Expected& a, const Expected& b) { return a.times.head < b.times.head; });
  }
  if (place == 0) timer_.reschedule_at(times.head);
}

ib::PacketPtr Arrivals::take_expected() {
  timer_.cancel();
  return expected_.empty() ? nullptr : expected_.pop_front().packet;
}

void Arrivals::on_arrival() {
  Expected& slot = expected_.front();
  ib::PacketPtr packet = std::move(slot.packet);
  const ArrivalTimes times = slot.times;
  const std::uint32_t wire_bytes = slot.wire_bytes;
  expected_.drop_front();
  if (!expected_.empty()) timer_.schedule_at(expected_.front().times.head);
  ++counters_.rcv_packets;
  counters_.rcv_bytes += wire_bytes - ib::kVcrcBytes;
  if (ib::is_to_group(*packet)) [[unlikely]] ++counters_.multicast_rcv_packets;
  ib::record(tracer_, id_, TraceEvent::kPacketReceived, *packet, wire_bytes);
  sink_.receive(number_, std::move(packet), times);
}

}  // namespace verbatim::fabric
