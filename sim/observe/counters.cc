#include "sim/observe/counters.h"

#include <algorithm>

#include "sim/ib/drop_reason.h"

namespace verbatim::observe {

void Counters::on_record(const TraceRecord& record, std::span<const std::byte>) {
  ++records_;
  CHECK(static_cast<std::size_t>(record.event) < kTraceEventCount);
  ++per_event_[static_cast<std::size_t>(record.event)];
  Component& component = per_component_.at(record.component);
  // A program that waits arms completion queues by doorbells; a posted request is fetched.
  const bool is_progress = record.event != TraceEvent::kSystemCall && record.event != TraceEvent::kProgramWarning &&
                           record.event != TraceEvent::kDoorbell;
  if (is_progress) last_progress_ps_ = std::max(last_progress_ps_, record.time_ps);
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
