#include "sim/observe/congestion.h"

#include <algorithm>

#include "sim/ib/packet.h"
#include "sim/observe/drop_names.h"

namespace verbatim::observe {

void Congestion::on_record(const TraceRecord& record, std::span<const std::byte>) {
  switch (record.event) {
    case TraceEvent::kPauseFrame: {
      Port& port = ports_[record.component];
      const auto asked = static_cast<std::uint8_t>(record.values[1]);
      for (std::size_t priority = 0; priority < kPriorities; ++priority) {
        const bool is = (asked >> priority & 1) != 0, was = (port.paused >> priority & 1) != 0;
        if (was && !is) end_pause(record.component, port, priority, record.time_ps);
        if (!is || was) continue;
        ++pauses_;
        ++lanes_[{record.component, static_cast<std::uint32_t>(priority)}].pauses;
        port.paused_since[priority] = record.time_ps;
      }
      port.paused = asked;
      break;
    }
    case TraceEvent::kPacketMarked:
      ++packets_marked_;
      ++ports_[record.component].marked;
      break;
    case TraceEvent::kRate:
      if (rate_changes_++ != 0 && record.values[1] >= lowest_.mbps) break;
      lowest_of_ = record.component;
      lowest_ = {"", record.values[0], record.values[1], record.time_ps};
      break;
    case TraceEvent::kPauseWatchdog:
      storms_ += record.values[1];
      break;
    case TraceEvent::kRoutesChanged:
      ++route_changes_;
      break;
    default:
      break;
  }
}

void Congestion::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId) {
  if (record.event == TraceEvent::kPacketMarked) ++lanes_[{record.component, packet.lrh.lane.value}].marked;
}

void Congestion::on_drop(const ib::Packet& packet, std::uint64_t reason, ComponentId component, Instant) {
  if (is_loss(reason)) ++lanes_[{component.value, packet.lrh.lane.value}].dropped[reason];
}

void Congestion::finish(std::int64_t end_ps) {
  for (auto& [component, port] : ports_) {
    for (std::size_t priority = 0; priority < kPriorities; ++priority) {
      if ((port.paused >> priority & 1) != 0) end_pause(component, port, priority, end_ps);
    }
    port.paused = 0;
  }
}

void Congestion::end_pause(std::uint32_t component, Port& port, std::size_t priority, std::int64_t now) {
  const std::int64_t lasted = now - port.paused_since[priority];
  port.paused_ps += lasted;
  paused_ps_ += lasted;
  Lane& lane = lanes_[{component, static_cast<std::uint32_t>(priority)}];
  lane.paused_ps += lasted;
  lane.longest_pause_ps = std::max(lane.longest_pause_ps, lasted);
}

template <class Value>
Congestion::Most Congestion::most(Value value) const {
  Most found;
  for (const auto& [component, port] : ports_) {
    if (const std::uint64_t its = value(port); its > found.value) found = {components_.name(ComponentId{component}), its};
  }
  return found;
}

Congestion::Most Congestion::longest_pausing() const {
  return most([](const Port& port) { return static_cast<std::uint64_t>(port.paused_ps); });
}

Congestion::Most Congestion::most_marking() const {
  return most([](const Port& port) { return port.marked; });
}

Congestion::Rate Congestion::lowest_rate() const {
  Rate rate = lowest_;
  if (rate_changes_ != 0) rate.adapter = components_.name(ComponentId{lowest_of_});
  return rate;
}

}  // namespace verbatim::observe
