// A failure for the tests of advice: records, facts and calls in text form.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tools/verbatim/advice/advice.h"

namespace verbatim::cli {

inline Trace lines_of(const std::string& text) {
  Trace trace;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (auto parsed = observe::parse_trace_line(line)) trace.push_back(std::move(*parsed));
  }
  return trace;
}

// A failure: records of the failing run and, with a decision, of the run without it.
struct Case {
  std::string trace, facts, without, without_facts, calls;
  std::string site, actor = "hca/client";
  std::int64_t decided_ps = 0;
  std::string failed = "server";  // the program that failed; empty: the run hangs
  std::int64_t ended_ps = 0;
  std::vector<RunReport::Finding> findings;
  std::vector<std::string> sentences;
  std::vector<RunReport::Place> places;
  bool fails_alike = false;  // the run without the decision
  bool is_minimal = true;
  std::string last_words, sanitizer_report;
  std::string how = "exit code 1";

  std::vector<Advice> advice() const {
    RunReport report;
    report.code = 1;
    report.outcome = failed.empty() ? "deadlock" : "finished";
    report.findings = findings;
    report.sentences = sentences;
    if (!failed.empty())
      report.programs.push_back({failed, false, how, last_words, ended_ps, sanitizer_report});
    std::vector<explore::Decision> decisions;
    std::vector<Evidence::Run> runs;
    if (!site.empty()) {
      decisions.push_back({site, actor, 0, 1, 10, decided_ps});
      runs.push_back({lines_of(without), lines_of(without_facts), fails_alike});
    }
    const Places all(places);
    return advice_of(Evidence({lines_of(trace), lines_of(facts)}, std::move(runs), decisions,
                              thread_calls_of(calls), all, report, is_minimal));
  }
  std::string text() const {
    const std::vector<Advice> all = advice();
    return all.empty() ? ""
                       : (all.front().is_proven ? "" : "possible: ") + all.front().cause + " -> " +
                             all.front().remedy;
  }
};

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace verbatim::cli
