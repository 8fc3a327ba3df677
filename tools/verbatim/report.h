// What a run amounts to: the verdict and run.json.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/observe/check_log.h"
#include "sim/observe/diagnosis_log.h"
#include "sim/observe/congestion.h"
#include "sim/observe/losses.h"
#include "sim/supervisor/supervisor.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/check_levels.h"
#include "tools/verbatim/output.h"
#include "tools/verbatim/run_cause.h"
#include "tools/verbatim/run_flows.h"
#include "tools/verbatim/run_graphs.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_report.h"

namespace verbatim::cli {

struct RunFigures {
  std::string digest;
  Instant virtual_end{};
  double wall_seconds = 0;
  std::uint64_t peak_memory_kib = 0;  // resident, of the simulator itself
  std::uint64_t events = 0;
  std::uint64_t packets = 0;      // handed to the fabric by adapters
  std::uint64_t packet_hops = 0;  // and over how many links
  struct Fault {
    std::uint64_t seen = 0;   // packets it could have hit
    std::uint64_t fired = 0;  // times it happened
  };
  std::vector<Fault> faults;  // in the order of the scenario's
  std::uint64_t drawn_faults = 0;  // packets hit of the budget of freedom spec
  std::uint64_t failing_calls = 0;  // calls that have failed of its other budget
  std::vector<observe::DiagnosisLog::Entry> diagnoses;
  std::vector<observe::CheckLog::Entry> checks;
  CheckLevels check_levels;
  std::vector<observe::Failure> failures;
  RunCause cause;                            // of a run that was not as expected
  const observe::Losses* losses = nullptr;   // outlives the figures
  const observe::Congestion* congestion = nullptr;  // likewise
  std::vector<FlowFigures> flows;            // in the order of the scenario's
  std::vector<FlowFacts::Facts> flow_facts;  // likewise, of the flows that the scenario lists; empty: nobody has asked for them
  std::vector<GraphFigures> graphs;          // by name
  nlohmann::ordered_json ports, congestion_counters;  // see run_congestion.h; empty: there are none
};

struct Verdict {
  ExitCode code = kAsExpected;
  std::vector<std::string> sentences;  // each says what was not as expected, and where
  std::map<std::size_t, std::vector<std::string>> of_programs;  // those of one program, by its place in the scenario
};

// What failed because freedom spec drew it: a sentence each.
std::vector<std::string> drawn_failures_of(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures);

// One sentence for each fault, and each kill, that never happened.
std::vector<std::string> warnings_of(const RunPlan& plan, const supervisor::RunResult& result,
                                     const RunFigures& figures);

// A sentence for each thread that spent a good part of the run's real time in a poll loop that was not proven to wait, or in
// computation.
std::vector<std::string> slow_waits(const supervisor::RunResult& result, double wall_seconds);

// Why verbs were refused and messages failed: the first few of each process. That something is not supported is no news to a
// program that asks; level "info" tells that, too.
void log_diagnoses(const std::vector<observe::DiagnosisLog::Entry>& diagnoses);

// What the checks have found, a line each; the first few of each process.
void tell_checks(const std::vector<observe::CheckLog::Entry>& findings, const CheckLevels& levels);

Verdict judge(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
              const ProgramOutput& output);

// The verdict, the ends of the programs and the digest; decisions and questions are the caller's.
void fill(RunReport& report, const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
          const ProgramOutput& output, const Verdict& verdict);

// What stands in run.json.
std::string run_json_of(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
                        const ProgramOutput& output);

// The entries "run" (run.json without what differs from run to run) and "wrong" (sentences) of the answer.
void tell_run(Answer& answer, const std::string& run_json, const Verdict& verdict, const std::vector<std::string>& failures);

}  // namespace verbatim::cli
