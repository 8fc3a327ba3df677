// Counts trace records by event, and packets by component.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/trace.h"

namespace verbatim::observe {

class Counters final : public TraceSink {
 public:
  explicit Counters(std::size_t components) : per_component_(components) {}

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  bool takes_any_order() const override { return true; }

  std::uint64_t records() const { return records_; }
  std::uint64_t count(TraceEvent event) const { return per_event_[static_cast<std::size_t>(event)]; }

  // Time of the last record that is no system call, doorbell or warning of a program.
  std::int64_t last_progress_ps() const { return last_progress_ps_; }

  struct Component {
    std::uint64_t packets_transmitted = 0;
    std::uint64_t bytes_transmitted = 0;  // wire bytes
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_dropped = 0;
    std::uint64_t vl15_dropped = 0;  // no buffer; not included in packets_dropped
  };
  const Component& of(ComponentId id) const { return per_component_.at(id.value); }

 private:
  std::uint64_t records_ = 0;
  std::array<std::uint64_t, kTraceEventCount> per_event_{};
  std::int64_t last_progress_ps_ = 0;
  std::vector<Component> per_component_;
};

}  // namespace verbatim::observe
