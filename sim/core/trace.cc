#include "sim/core/trace.h"

#include <algorithm>

#include "sim/core/check.h"

namespace verbatim {

namespace {
constexpr TraceEventNames kNames[] = {
#define VERBATIM_TRACE_NAME(id, name, a, b, c, d) {name, {a, b, c, d}},
    VERBATIM_TRACE_EVENTS(VERBATIM_TRACE_NAME)
#undef VERBATIM_TRACE_NAME
};
}  // namespace

const TraceEventNames& names_of(TraceEvent event) {
  const auto index = static_cast<std::size_t>(event);
  CHECK(index < std::size(kNames));
  return kNames[index];
}

namespace {
bool comes_after(const TraceRecord& a, const TraceRecord& b) { return comes_before(b, a); }
}  // namespace

void Tracer::add(TraceSink& sink) {
  has_sinks_ = true;
  for (std::size_t event = 0; event < kTraceEventCount; ++event) {
    if ((sink.events() >> event & 1) == 0) continue;
    (sink.takes_any_order() ? takers_[event].any_order : takers_[event].in_order).push_back(&sink);
  }
}

void Tracer::add(TracedPacketObserver& observer) {
  has_packet_observers_ = true;
  for (std::size_t event = 0; event < kTraceEventCount; ++event) {
    if ((observer.packet_events() >> event & 1) != 0) takers_[event].packets.push_back(&observer);
  }
}

// Out of line to keep give_number() small.
void Tracer::add_numbers(std::size_t size) { next_numbers_.resize(size); }

void Tracer::emit_early(TraceRecord record) {
  give_number(record);
  const Takers& takers = takers_of(record.event);
  for (TraceSink* sink : takers.any_order) sink->on_record(record, {});
  if (takers.in_order.empty()) return;
  early_.push_back(record);
  std::ranges::push_heap(early_, comes_after);
  next_early_ps_ = early_.front().time_ps;
}

void Tracer::release_up_to(std::int64_t time_ps) {
  while (!early_.empty() && early_.front().time_ps <= time_ps) {
    std::ranges::pop_heap(early_, comes_after);
    const TraceRecord record = early_.back();
    early_.pop_back();
    for (TraceSink* sink : takers_of(record.event).in_order) sink->on_record(record, {});
  }
  next_early_ps_ = early_.empty() ? kNoTime : early_.front().time_ps;
}

void Tracer::emit(TraceRecord record, std::span<const std::byte> bytes) {
  if (held_ != nullptr) {
    held_->push_back({record, {bytes.begin(), bytes.end()}});
    return;
  }
  give_number(record);
  give_to_sinks(record, bytes);
}

}  // namespace verbatim
