// What the verbs of the command line share: their options as values, and their entry points, one file each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "tools/verbatim/exit_codes.h"

namespace verbatim::supervisor {
struct ProgramCall;
}

namespace verbatim::cli {

// For whom a verb answers (answer.h); not both.
struct AnswerStyle {
  bool quiet = false;  // for nobody who reads: what went wrong, and the exit code
  bool json = false;   // for a program
  bool is_for_people() const { return !quiet && !json; }
};

struct RunOptions {
  std::vector<std::string> arguments;  // SCENARIO.json, or HOST=COMMAND …
  std::string topology;
  std::string stagger = "100 ms";
  std::vector<std::string> ranges;     // for the form HOST=COMMAND, each NAME=LEAST..MOST
  std::vector<std::string> sets;       // each NAME=NUMBER: arguments that have a range
  std::optional<std::int64_t> seed;
  std::string seeds;    // "A..B"
  int jobs = 0;         // of --seeds: runs at a time; 0: one for each allowed processor
  std::string freedom;  // friendly or spec; empty: the scenario's
  std::optional<std::int64_t> spec_faults;  // the scenario's, too
  std::optional<std::int64_t> spec_failing_calls;
  std::optional<std::int64_t> spec_failures;
  bool spec_accesses = false;  // the scenario's, too
  std::string out;
  std::string time_limit;
  std::string stuck_after;
  std::string trace;
  std::vector<std::string> faults;  // each one fault of a scenario, as JSON
  std::vector<std::string> checks;  // each NAME=off|warn|error
  std::string record;  // a file for a recording
  std::int64_t record_most = -1;  // records in it; negative: all, and without programs RunRecording::usual_limits()
  std::string pcap;
  std::string pcap_per = "port";  // each packet at every "port" that it passes, or once on every "link"
  std::string calls;  // a file for the programs' calls
  std::string flows;  // a file for the table of flows
  std::string series, series_step;  // a file for time series, and a time or "change"; empty: 10 us
  std::vector<std::string> watch;  // hosts and switches that trace, capture and recording show; empty: all
  std::string watch_time;          // "FROM..TO" that they show; empty: always
  std::string junit;  // a file for the result as JUnit XML
  std::function<void(const supervisor::ProgramCall&)> on_call;  // of a grader: every call of the programs, call by call
  std::uint32_t snap_length = 0;  // bytes of a packet in the capture, 0: all
  std::string
      explain_latency;  // a file; "-": latency.txt and latency.json in --out, else standard error; empty: no
  std::string log = "warn";
  int core = -1;
  std::string second_core;  // empty: as `core` has it
  bool call_by_call = false;
  std::string strict = "refuse";  // what is not simulated: "refuse", or "warn" and let it through
  bool confine = false;           // programs change files in their working folders and --out alone
  std::vector<std::string> assume_missing;  // facilities of the machine that are not to be used
  int poke_period_us = 0;  // of tests: wall time, without influence on results; 0: the supervisor's choice
  std::string gdb, gdb_at;  // "HOST" or "HOST:N": a program that gdb gets, and a virtual time
  std::string gdb_commands;  // a file
  bool afresh = false;      // of many runs: each in a process that has run none before
  bool keep_files = false;  // of the hosts' own folders, in --out
  bool keep_trace = false;  // with calls, in --out
  AnswerStyle style;
  bool verify = false;
  int record_fd = -1;     // of `run --verify`: where the run's trace goes
  bool plants_address = false;  // of tests: writes an address into the trace, a fault that `run --verify` must find
  std::uint64_t pad = 0;  // of `run --verify`: bytes allocated first, to move everything else
};

// The working folder in which the process was started.
const std::string& first_folder();

// main(), with every exit code it can have.
int start(int argc, char** argv);

struct CheckOptions {
  std::vector<std::string> files;
  bool host = false;
  bool lists_facilities = false;  // names for --assume-missing, and nothing else
  std::vector<std::string> assume_missing;
  AnswerStyle style;
};
struct ExploreOptions {
  RunOptions run;                      // what is run, and how many at a time
  std::string strategy = "portfolio";
  std::string time = "60 s";           // wall time
  std::int64_t runs = 0;               // at most; 0: as many as there is time for
  std::string shrink_time = "30 s";    // wall time for each kind of failure
  std::string fail_on;                 // regular expression
  std::string out = "verbatim-explore";
  std::string focus;                   // a replay file
  bool records = false;                // each kind of failure, once it is small
  bool keeps_going = false;            // beyond the first failure
  bool until_failure = false;          // however long that takes
};
int explore(const ExploreOptions& options);

struct ReplayOptions {
  std::string file;
  std::string terminal;  // of a session: "2", "all"; empty: what its person saw
  RunOptions show;  // trace, pcap, out, style, log and the like
  bool relaxed = false;
};
int replay(ReplayOptions options);
// Makes the decisions of a replay file fewer, and tells what is left.
struct ShrinkOptions {
  std::string file, out;
  std::string time = "30 s";
  int jobs = 0;
  AnswerStyle style;
};
int shrink(const ShrinkOptions& options);
int bisect(const std::string& good, const std::string& bad, AnswerStyle style);

struct LadderVerbOptions {
  std::string file;     // a trace, or the folder of a run that has one
  std::string out;      // an SVG file instead of text
  std::string between;  // "100.5ms..100.6ms"
  std::vector<std::uint64_t> queue_pairs;
  std::size_t width = 0;  // characters; 0: the terminal's
  bool ascii = false, system_calls = false, last_failure = false;
  AnswerStyle style;
};
int ladder(const LadderVerbOptions& options);

struct LabOptions {
  enum class Verb { kList, kStart, kRun, kCheck } verb = Verb::kList;
  std::string number;        // of `start`: "1", "01", the lab's name, or its folder
  std::string folder = ".";  // of `start`: the new folder; of `run`: what is run; of `check`: the lab
  std::string lab;           // of `run`: the lab of the folder; empty: as the folder says
  RunOptions run;
};
int lab(const LabOptions& options);

struct GradeOptions {
  std::string folder, lab;  // lab: a number, a name or a folder; empty: as the folder says
  std::string seeds_file;   // instead of the seeds of the lab
  std::string junit, gradescope;  // files; empty: none
  bool call_by_call = false;
  AnswerStyle style;
};
int grade(const GradeOptions& options);

struct ExplainOptions {
  std::vector<std::string> words;  // a name, an error and a verb, or a run
  bool list = false;               // every name that there is a text for
  AnswerStyle style;
};
int explain(const ExplainOptions& options);

struct ReportOptions {
  std::string run;                  // a folder of run --out --keep-trace, or a trace
  std::string out;       // empty: report.html, or nothing where another file is asked for
  std::string perfetto;  // a trace for Perfetto; empty: none
  AnswerStyle style;
};
int write_report(const ReportOptions& options);

struct CompareOptions {
  std::vector<std::string> runs;  // folders of run --out, or recordings
  std::string html;               // a page with plots; empty: none
  AnswerStyle style;
};
int compare(const CompareOptions& options);

struct SweepOptions {
  std::string scenario;
  std::vector<std::string> vary;  // each PATH=VALUE,...
  std::string out = "verbatim-sweep";
  std::string html;  // a page with plots; empty: none
  int jobs = 0;      // runs at a time; 0: one for each allowed processor
  AnswerStyle style;
};
int sweep(const SweepOptions& options);

struct ShellOptions {
  RunOptions run;                  // topology, seed, limits, and how the run is shown
  std::vector<std::string> hosts;  // a terminal on each; empty: on the first
  std::string session;             // the file for the session; empty: session.rec in --out or here
  bool fast = false;               // virtual time does not wait for wall time while a program sleeps
};
int shell(ShellOptions options);
struct AttachOptions {
  std::string session;  // file of the session; empty: the last in this folder
  std::string host;     // empty: that of its first terminal
};
int attach(const AttachOptions& options);
// A file that `shell` has written.
int replay_session(const ReplayOptions& options);

// The words of a `run` as options. nullopt: they are none, and a sentence has said so.
std::optional<RunOptions> run_options_of(std::vector<std::string> words);

struct NewOptions {
  std::string folder;
  std::int64_t hosts = 2;
  std::string shape;                      // empty: star
  std::string rate;                       // empty: EDR 4x, or 100 Gbps on Ethernet
  std::string link_layer = "infiniband";  // or roce
  AnswerStyle style;
};
int make_new(const NewOptions& options);
// Each shape and what it is, for the help.
std::string shapes_of_new();

int check(const CheckOptions& options);
struct DescribeOptions {
  std::string topology;
  std::string picture, dot;  // files; empty: none
  AnswerStyle style;
};
int describe(const DescribeOptions& options);
int write_schemas(const std::string& folder);
int run(const RunOptions& options);
int search_code(const std::string& file);

// `verbatim: sentence` on standard error.
void complain(const std::string& sentence);
// Every finding on a line of its own; then how many, and what follows from them.
void print(const config::Diagnostics& diagnostics, const char* consequence = "nothing was started");
// Every warning on a line of its own.
void print_warnings(const config::Diagnostics& diagnostics);

}  // namespace verbatim::cli
