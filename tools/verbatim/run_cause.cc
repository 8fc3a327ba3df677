#include "tools/verbatim/run_cause.h"

#include <algorithm>

#include "sim/core/time_text.h"
#include "sim/observe/remedies.h"

namespace verbatim::cli {

namespace {

RunCause of_failure(const observe::Failure& failure) {
  const observe::FailureCause& first = failure.causes.front();
  return {join("at ", time_text(failure.time_ps), ", ", failure.what, ": ", first.evidence), first.remedy, failure.subject, !failure.is_finding};
}

bool has_hung(supervisor::Outcome outcome) {
  using enum supervisor::Outcome;
  return outcome == kDeadlock || outcome == kTimeLimit;
}

}  // namespace

RunCause cause_of(const supervisor::RunResult& result, std::span<const observe::Failure> failures) {
  if (has_hung(result.outcome)) {
    const auto loop = std::ranges::find(failures, "credit-loop", &observe::Failure::subject);
    if (loop != failures.end()) return of_failure(*loop);
    if (!result.hang_cause.empty()) return {result.hang_cause, std::string(observe::remedy_for(result.hang_cause)), "", true};
  }
  for (const bool is_finding : {false, true}) {
    const auto first = std::ranges::find(failures, is_finding, &observe::Failure::is_finding);
    if (first != failures.end()) return of_failure(*first);
  }
  return {};
}

nlohmann::ordered_json to_json(const RunCause& cause) {
  if (cause.text.empty()) return nullptr;
  return {{"text", cause.text}, {"what_to_do", cause.what_to_do}, {"subject", cause.subject}, {"certain", cause.is_certain}};
}

std::vector<std::string> lines_of(const RunCause& cause) {
  if (cause.text.empty()) return {};
  std::vector<std::string> lines{(cause.is_certain ? "cause: " : "possible cause: ") + cause.text};
  const std::string more = cause.subject.empty() ? "" : " (`verbatim explain " + cause.subject + "`)";
  if (!cause.what_to_do.empty()) lines.push_back("what to do: " + cause.what_to_do + more);
  return lines;
}

}  // namespace verbatim::cli
