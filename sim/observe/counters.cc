#include "sim/observe/counters.h"

#include "sim/ib/drop_reason.h"

namespace verbatim::observe {

void Counters::on_record(const TraceRecord& record, std::span<const std::byte>) {
  ++records_;
  CHECK(static_cast<std::size_t>(record.event) < kTraceEventCount);
  ++per_event_[static_cast<std::size_t>(record.event)];
  Component& component = per_component_.at(record.component);
  switch (record.event) {
    case TraceEvent::kPacketTransmitted:
      ++component.packets_transmitted;
      component.bytes_transmitted += record.values[3];
      break;
    case TraceEvent::kPacketReceived:
      ++component.packets_received;
      component.bytes_received += record.values[3];
      break;
    case TraceEvent::kPacketDropped:
      if (record.values[3] == static_cast<std::uint64_t>(ib::DropReason::kManagementBuffer)) {
        ++component.vl15_dropped;
      } else {
        ++component.packets_dropped;
      }
      break;
    default:
      break;
  }
}

}  // namespace verbatim::observe
