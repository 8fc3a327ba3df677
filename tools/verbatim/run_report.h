// The result of a run for explore, shrink and replay. The run is made in another process.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/explore/decision.h"
#include "sim/supervisor/spec/call_place.h"
#include "sim/supervisor/spec/folder_snapshot.h"
#include "tools/verbatim/cli.h"

namespace verbatim::cli {

struct RunReport {
  int code = kInternalError;
  std::string outcome;                  // as in run.json; empty: the run did not end by itself
  std::string digest;
  std::int64_t virtual_end_ps = 0;
  std::vector<std::string> sentences;   // unexpected results, then findings
  std::vector<std::string> cause;       // lines with the cause and remedy, as at the end of a run
  struct Program {
    std::string label;                  // "server", "server.2"
    bool as_expected = true;
    std::string how;                    // "exit code 1", "signal 6 (SIGABRT)", "still there"
    std::string last_words;
    std::int64_t ended_ps = std::numeric_limits<std::int64_t>::max();  // max(): has not ended
    std::string sanitizer_report{};  // of a sanitizer that is built into the program; empty: none
  };
  std::vector<Program> programs;        // in the order of the scenario
  struct Finding {                      // of a check
    std::string check, component, text, place;  // component: "host/server"; place: source location, "" if unknown
    std::int64_t time_ps = 0;
  };
  static constexpr std::size_t kMostFindings = 20;  // the first ones are kept
  std::vector<Finding> findings;        // in the order of time
  std::vector<explore::Decision> decisions;  // of a failed run; of others if `wants_decisions`
  bool wants_decisions = false;         // set by the caller
  bool wants_first_cause = false;       // set by the caller: the first cause is reported at the end, as for people
  explore::Questions questions;         // with points only if `wants_points`
  bool wants_points = false;            // set by the caller
  struct Place {
    std::string component;  // name; for a thread as in decisions
    supervisor::CallPlace call;
  };
  static constexpr std::size_t kMostPlaces = 200'000;  // the first ones are kept
  std::vector<Place> places;            // in the order of reporting, if `wants_places`
  bool wants_places = false;            // set by the caller
  std::vector<explore::Decision> unused;  // given decisions whose question was never asked
  std::vector<std::uint64_t> windows;   // hits, by observe::RaceWindow
  supervisor::FolderSnapshot working_files;  // of a run that works in a copy
  std::vector<std::string> code_files;  // that programs executed: paths, sorted

  bool has_failed() const { return code != kAsExpected; }
  // The first program that did not end as expected; nullptr if there is none.
  const Program* first_failed() const;
  // Identifies the kind of failure: how the run and its first failing program ended, and the last message,
  // without numbers and addresses. Empty if the run did not fail.
  std::string signature() const;
  // One line for people.
  std::string summary() const;
};

std::string to_bytes(const RunReport& report);
// nullopt if the bytes are not a report.
std::optional<RunReport> report_of(const std::string& bytes);

}  // namespace verbatim::cli
