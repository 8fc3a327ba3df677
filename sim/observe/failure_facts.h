// Selects the trace records that can explain failures: states of queue pairs, drops, retransmissions, NAKs,
// errors, ends of programs.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "sim/core/trace.h"
#include "sim/observe/check_log.h"
#include "sim/observe/diagnosis_log.h"
#include "sim/observe/trace_line.h"

namespace verbatim::observe {

// Whether failures_of() uses the line.
bool is_failure_fact(const TraceLine& line);

// Keeps these records during a run, so that a failure can be explained without a trace.
class FailureFacts final : public TraceSink {
 public:
  // `components` must outlive this object.
  explicit FailureFacts(const ComponentTable& components) : components_(components) {}

  TraceEvents events() const override {
    return bits_of(TraceEvent::kQpState, TraceEvent::kPacketDropped, TraceEvent::kRetransmission,
                   TraceEvent::kDuplicate, TraceEvent::kAsyncEvent, TraceEvent::kProgramExited,
                   TraceEvent::kLinkState, TraceEvent::kAckSent, TraceEvent::kCompletion);
  }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;

  // The kept records and the entries of the logs as lines of the text trace, in the order of time.
  std::vector<TraceLine> lines(std::span<const DiagnosisLog::Entry> diagnoses, std::span<const CheckLog::Entry> checks) const;

 private:
  // The first records are kept, because causes precede their consequences.
  static constexpr std::size_t kMost = 50'000;
  // Regular ends of programs: the last ones are kept, because a shell starts thousands and only recent ones
  // explain a lost peer.
  static constexpr std::size_t kMostGoodEnds = 2'000;

  const ComponentTable& components_;
  std::vector<TraceRecord> records_;
  std::deque<TraceRecord> good_ends_;
};

}  // namespace verbatim::observe
