// How a run went, as those want to know it who make many: explore, shrink and replay. It comes from a process of its own.
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
  std::string outcome;                  // as run.json has it; empty: the run did not come to an end of its own
  std::string digest;
  std::int64_t virtual_end_ps = 0;
  std::vector<std::string> sentences;   // what was not as expected, then the findings
  std::vector<std::string> cause;       // the lines that name it and what to do, as a run ends with them
  struct Program {
    std::string label;                  // "server", "server.2"
    bool as_expected = true;
    std::string how;                    // "exit code 1", "signal 6 (SIGABRT)", "still there"
    std::string last_words;
    std::int64_t ended_ps = std::numeric_limits<std::int64_t>::max();  // that: it has not
  };
  std::vector<Program> programs;        // in the order of the scenario's
  std::vector<explore::Decision> decisions;  // of a run that has failed, and of others where `wants_decisions` is
  bool wants_decisions = false;         // set by who asks
  bool wants_first_cause = false;       // set by who asks: what came first is said at the end, as for people who run a program
  explore::Questions questions;         // its points only where `wants_points` is
  bool wants_points = false;            // set by who asks
  struct Place {
    std::string component;  // its name; of a thread as decisions name it
    supervisor::CallPlace call;
  };
  static constexpr std::size_t kMostPlaces = 200'000;  // the first ones
  std::vector<Place> places;            // in the order in which they were told, where `wants_places` is
  bool wants_places = false;            // set by who asks
  std::vector<explore::Decision> unused;  // given decisions whose question never came
  std::vector<std::uint64_t> windows;   // hits, by observe::RaceWindow
  supervisor::FolderSnapshot working_files;  // of a run that works in a copy
  std::vector<std::string> code_files;  // what programs ran: paths, sorted

  bool has_failed() const { return code != kAsExpected; }
  // The program that was the first not to end as it should; nullptr: all did.
  const Program* first_failed() const;
  // What makes two failures the same: how the run and its first failing program ended, and what was said last, with numbers
  // and addresses left out. Empty for a run that has not failed.
  std::string signature() const;
  // One line for people.
  std::string summary() const;
};

std::string to_bytes(const RunReport& report);
// nullopt: these are not the bytes of a report.
std::optional<RunReport> report_of(const std::string& bytes);

}  // namespace verbatim::cli
