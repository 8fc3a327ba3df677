#include "sim/core/trace.h"

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

void Tracer::emit(TraceRecord record, std::span<const std::byte> bytes) {
  if (held_ != nullptr) {
    held_->push_back({record, {bytes.begin(), bytes.end()}});
    return;
  }
  if (record.component >= next_numbers_.size()) next_numbers_.resize(record.component + std::size_t{1});
  record.number = next_numbers_[record.component]++;
  for (TraceSink* sink : sinks_) sink->on_record(record, bytes);
}

}  // namespace verbatim
