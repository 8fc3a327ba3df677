// Exploration of failures and results that other processes have found.
#include <algorithm>

#include "tools/verbatim/campaign/failures.h"
#include "tools/verbatim/campaign/schedule_totals.h"
#include "tools/verbatim/exploration.h"
#include "tools/verbatim/output.h"

namespace verbatim::cli {

std::optional<Exploration::Json> Exploration::explain(const FailureKind& failure) {
  const auto report = runs_.run(schedule_of(failure.schedule), {});
  if (!report) {
    complain(runs_.is_interrupted() ? "interrupted" : runs_.machine_fault());
    return std::nullopt;
  }
  if (report->signature() != failure.signature) {
    answer_.print_failure(
        "  it did not occur again: the run was weak (it depends on this machine), or this is a bug of verbatim\n");
    return Json{{"signature", failure.signature}, {"summary", failure.summary}};
  }
  kinds_.push_back(
      {failure.signature, failure.first_run, failure.failures, failure.strategy, *report, failure.summary});
  // After an interruption the failure is not minimal, so it is left to the next process.
  if (!report_failure(kinds_.back(), 1) || runs_.is_interrupted()) return std::nullopt;
  return entries_.back();
}

int Exploration::report(const ScheduleTotals& totals, const FailureWork& explained, std::size_t missing) {
  units_missing_ = missing;
  counted_ = totals.runs();
  failed_ = totals.failed();
  unit_digest_ = totals.digest();
  unit_outcomes_ = totals.outcomes();
  windows_ = totals.windows();
  for (const auto& [site, counts] : totals.sites()) {
    asked_[site] = counts.first;
    if (counts.second != 0) decided_[site] = counts.second;
  }
  for (const FailureKind& kind : totals.kinds())
    kinds_.push_back({kind.signature, kind.first_run, kind.failures, kind.strategy, {}, kind.summary});
  summarise();
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const Kind& kind = kinds_[i];
    const ExplainedFailure* const one = explained.find(kind.signature);
    print_heading(kind, i + 1);
    answer_.print_failure("%s", one != nullptr
                                    ? one->text.c_str()
                                    : ("  " + kind.summary + "\n  it is not made small yet\n").c_str());
    entries_.push_back(one != nullptr && one->entry.contains("signature")
                           ? one->entry
                           : Json{{"signature", kind.signature}, {"summary", kind.summary}});
    entries_.back()["runs"] = kind.failures;
    entries_.back()["first_run"] = kind.first_run;
    entries_.back()["strategy"] = kind.strategy;
  }
  report_untried();
  if (!write_results()) return kProgramFailed;
  return kinds_.empty() ? kAsExpected : kProgramFailed;
}

}  // namespace verbatim::cli
