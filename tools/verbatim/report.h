// The result of a run: verdict and run.json.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
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
  bool reached_wall_limit = false;  // RunPlan::wall_limit interrupted the run
  std::uint64_t peak_memory_kib = 0;  // resident, of the simulator itself
  std::uint64_t events = 0;
  std::uint64_t packets = 0;      // sent to the fabric by adapters
  std::uint64_t packet_hops = 0;  // sum of the links that they crossed
  struct Fault {
    std::uint64_t seen = 0;   // packets that it could have hit
    std::uint64_t fired = 0;  // number of times that it fired
  };
  std::vector<Fault> faults;  // in the order of the scenario
  std::uint64_t drawn_faults = 0;  // packets hit within the budget of freedom spec
  std::uint64_t failing_calls = 0;  // calls failed within the budget of freedom spec
  std::vector<observe::DiagnosisLog::Entry> diagnoses;
  std::vector<observe::CheckLog::Entry> checks;
  CheckLevels check_levels;
  std::vector<observe::Failure> failures;
  RunCause cause;                            // of an unexpected result
  const observe::Losses* losses = nullptr;   // outlives the figures
  const observe::Congestion* congestion = nullptr;  // outlives the figures
  std::vector<FlowFigures> flows;            // in the order of the scenario
  std::vector<FlowFacts::Facts> flow_facts;  // of the scenario's flows, in order; empty: not requested
  std::vector<GraphFigures> graphs;          // by name
  nlohmann::ordered_json ports, congestion_counters;  // see run_congestion.h; may be empty
};

struct Verdict {
  ExitCode code = kAsExpected;
  std::vector<std::string> sentences;  // unexpected results, with their places
  std::map<std::size_t, std::vector<std::string>> of_programs;  // sentences about one program, by its index
};

// A sentence for each link that a fault of the scenario or of --fault has taken down.
std::vector<std::string> failed_links_of(const RunPlan& plan, const RunFigures& figures);
// A sentence for each failure drawn by freedom spec.
std::vector<std::string> drawn_failures_of(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures);

// A sentence for each fault, and each kill, that never happened, and for a library that used TCP only.
std::vector<std::string> warnings_of(const RunPlan& plan, const supervisor::RunResult& result,
                                     const RunFigures& figures);

// A sentence for each thread that spent much of the run's real time in an unproven poll loop, or in
// computation.
std::vector<std::string> slow_waits(const supervisor::RunResult& result, double wall_seconds);

// Logs why verbs were refused and messages failed: the first few of each process. Programs that probe
// features expect "not supported", which is logged at level "info" only.
void log_diagnoses(const std::vector<observe::DiagnosisLog::Entry>& diagnoses);

// Prints findings of checks, one a line; the first few of each process.
void log_checks(const std::vector<observe::CheckLog::Entry>& findings, const CheckLevels& levels);

Verdict judge(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
              const ProgramOutput& output);

// Time of the first end of a program that the scenario does not expect.
std::optional<std::int64_t> first_unexpected_end(const RunPlan& plan, const supervisor::RunResult& result);

// Fills in the verdict, the ends of the programs and the digest; the caller adds decisions and questions.
void fill(RunReport& report, const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
          const ProgramOutput& output, const Verdict& verdict);

// The content of run.json.
std::string run_json_of(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
                        const ProgramOutput& output);

// Adds the entries "run" (run.json without values that differ from run to run) and "wrong" (sentences) to the
// answer.
void add_run_to_answer(Answer& answer, const std::string& run_json, const Verdict& verdict,
                       const std::vector<std::string>& failures);

}  // namespace verbatim::cli
