#include "sim/observe/failure_facts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/ib/aeth.h"
#include "sim/observe/text_trace_sink.h"

namespace verbatim::observe {

namespace {

// For a record of FailureFacts::events().
bool is_kept_fact(const TraceRecord& record) {
  switch (record.event) {
    case TraceEvent::kAckSent:
      return ib::ack_kind(static_cast<std::uint8_t>(record.values[2])) != ib::AckKind::kAck;
    case TraceEvent::kCompletion:
      return record.values[3] != 0;
    default:
      return true;
  }
}

}  // namespace

bool is_failure_fact(const TraceLine& line) {
  static constexpr std::string_view kEvents[] = {"qp-state",    "packet-dropped", "retransmission", "duplicate-request",
                                                 "async-event", "program-exited", "link-state",     "diagnosis",
                                                 "check",
                                                  "post-send",   "post-receive"};
  if (line.event == "completion") return line.value("status") != "0";
  if (line.event == "ack-sent") return !line.value("syndrome").starts_with("0x0") && !line.value("syndrome").starts_with("0x1");
  return std::ranges::find(kEvents, line.event) != std::end(kEvents);
}

void FailureFacts::on_record(const TraceRecord& record, std::span<const std::byte>) {
  const bool is_good_end = record.event == TraceEvent::kProgramExited && record.values[1] == 0 && record.values[2] == 0;
  if (is_good_end) {
    if (good_ends_.size() == kMostGoodEnds) good_ends_.pop_front();
    good_ends_.push_back(record);
  } else if (is_kept_fact(record) && records_.size() < kMost) {
    records_.push_back(record);
  }
}

std::vector<TraceLine> FailureFacts::lines(std::span<const DiagnosisLog::Entry> diagnoses,
                                           std::span<const CheckLog::Entry> checks) const {
  std::vector<TraceLine> lines;
  const auto add = [&](const TraceRecord& record) {
    if (auto line = parse_trace_line(to_text(record, {}, components_))) lines.push_back(std::move(*line));
  };
  std::ranges::for_each(records_, add);
  std::ranges::for_each(good_ends_, add);
  for (const DiagnosisLog::Entry& entry : diagnoses) lines.push_back({entry.time_ps, entry.component, "diagnosis", entry.text, ""});
  for (const CheckLog::Entry& entry : checks) {
    const std::string place = entry.place.empty() ? "" : " at " + entry.place;
    lines.push_back({entry.time_ps, entry.component, "check", entry.check + ": " + entry.text + place, ""});
  }
  std::ranges::stable_sort(lines, {}, &TraceLine::time_ps);
  return lines;
}

}  // namespace verbatim::observe
