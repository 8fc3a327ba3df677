// What of a trace tells why something failed: states of queue pairs, drops, retransmissions, NAKs, errors, ends of programs.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "sim/core/trace.h"
#include "sim/observe/check_log.h"
#include "sim/observe/diagnosis_log.h"
#include "sim/observe/trace_line.h"

namespace verbatim::observe {

// Whether the line is one of those that failures are explained by.
bool tells_of_failure(const TraceLine& line);

// Keeps them while a run goes on, so that its failure can be explained without a trace.
class FailureFacts final : public TraceSink {
 public:
  // Outlives the facts.
  explicit FailureFacts(const ComponentTable& components) : components_(components) {}

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;

  // What has been kept, in the order of time, with what the logs hold, as the text trace has it.
  std::vector<TraceLine> lines(std::span<const DiagnosisLog::Entry> diagnoses, std::span<const CheckLog::Entry> checks) const;

 private:
  // The first ones: the cause lies before what follows from it.
  static constexpr std::size_t kMost = 50'000;
  // Of programs that end as they should, the last ones: a shell has thousands, and whoever lost its peer lost it lately.
  static constexpr std::size_t kMostGoodEnds = 2'000;

  const ComponentTable& components_;
  std::vector<TraceRecord> records_;
  std::deque<TraceRecord> good_ends_;
};

}  // namespace verbatim::observe
