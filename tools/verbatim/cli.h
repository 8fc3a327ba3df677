// Shared by the verbs of the command line: their options as values, and their entry points, one file each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "tools/verbatim/exit_codes.h"

namespace verbatim::supervisor {
class RecordedFiles;
struct ProgramCall;
}

namespace verbatim::cli {

// The reader of a verb's output (answer.h); at most one is set.
struct AnswerStyle {
  bool quiet = false;  // only failures and the exit code
  bool json = false;   // a JSON document
  bool is_for_people() const { return !quiet && !json; }
};

class BundleRun;
// A share of a split to run, or a split to collect (shares/split.h).
struct SplitTask {
  enum class Role { kShare, kCollect } role = Role::kShare;
  std::string folder;
  std::int64_t share = 0;
  int jobs = 0;
  std::string slurm;  // as in SplitOptions
  AnswerStyle style;
};
// Options that divide many runs into shares.
struct SplitOptions {
  std::int64_t shares = 0;         // 0: not divided, or with `slurm` the usual number
  std::string slurm;               // options for sbatch, "-": none; empty: no job is submitted
  std::string collect;             // folder of a split
  std::vector<std::string> words;  // of the whole command line, from the verb on
  std::optional<SplitTask> task;   // set if this process runs a share or collects
};

struct RunOptions {
  std::vector<std::string> arguments;  // SCENARIO.json, or HOST=COMMAND …
  std::string topology;
  std::string stagger = "100 ms";
  std::vector<std::string> ranges;     // for the form HOST=COMMAND, each NAME=LEAST..MOST
  std::vector<std::string> sets;       // each NAME=NUMBER, for arguments with a range
  std::optional<std::int64_t> seed;
  std::string seeds;    // "A..B"
  SplitOptions split;   // of the seeds
  int jobs = 0;         // with --seeds: parallel runs; 0: one for each allowed processor
  std::string freedom;  // friendly or spec; empty: the scenario's
  std::optional<std::int64_t> spec_faults;  // nullopt: the scenario's
  std::optional<std::int64_t> spec_failing_calls;
  std::optional<std::int64_t> spec_failures;
  bool spec_accesses = false;  // in addition to the scenario's
  std::string out;
  std::string time_limit;
  std::string wall_limit;
  std::string stuck_after;
  std::string trace;
  std::vector<std::string> faults;  // each one fault of a scenario, as JSON
  std::vector<std::string> checks;  // each NAME=off|warn|error
  std::string record;  // file of the recording
  std::int64_t record_most = -1;  // number of records; negative: all, and without programs RunRecording::usual_limits()
  std::string pcap;
  std::string pcap_per = "port";  // each packet at every "port" that it passes, or once on every "link"
  std::string calls;  // file of the programs' calls
  std::string facts;  // file of what RunFacts writes; set by explore
  std::string flows;  // file of the table of flows
  std::string flows_form = "csv";  // or fct
  std::string links;  // file of the table of links
  std::string series, series_step;  // file of time series, and a time or "change"; empty: 10 us
  std::vector<std::string> watch;  // hosts and switches in trace, capture and recording; empty: all
  std::string watch_time;          // "FROM..TO" in these; empty: the whole run
  std::string junit;  // file of the result as JUnit XML
  // Set by the grader: gets the calls of the programs, without the polls of parked threads.
  std::function<void(const supervisor::ProgramCall&)> on_call;
  std::uint32_t snap_length = 0;  // bytes of each packet in the capture; 0: all
  std::string
      explain_latency;  // a file; "-": latency.txt and latency.json in --out, else standard error; empty: none
  std::string log = "warn";
  int core = -1;
  std::string second_core;  // empty: depends on `core`
  bool call_by_call = false;
  std::string strict = "refuse";  // for unsimulated features: "refuse", or "warn" and allow
  bool confine = false;           // programs can change files only in their working folders and --out
  std::vector<std::string> assume_missing;  // facilities of the machine that are not used
  int poke_period_us = 0;  // for tests: wall time, without influence on results; 0: the supervisor's default
  std::string gdb, gdb_at;  // "HOST" or "HOST:N": the program that gdb debugs, and a virtual time
  std::string gdb_commands;  // file of gdb commands
  bool afresh = false;      // many runs: each in a fresh process
  bool keep_files = false;  // of the hosts' own folders, to --out
  bool keep_trace = false;  // with calls, to --out
  AnswerStyle style;
  // A bundle whose run this is (bundle_run.h); nullptr: none.
  std::shared_ptr<BundleRun> bundle;
  supervisor::RecordedFiles* recorder = nullptr;  // of the files that programs look at; nullptr: none
  bool verify = false;
  int record_fd = -1;     // for `run --verify`: descriptor of the run's trace
  bool plants_address = false;  // for tests: writes an address into the trace, a fault that `run --verify` must find
  std::uint64_t pad = 0;  // for `run --verify`: bytes allocated first, to move all other allocations
};

// The working folder at the start of the process.
const std::string& first_folder();

// The whole program; returns any of its exit codes.
int start(int argc, char** argv);

struct CheckOptions {
  std::vector<std::string> files;
  bool host = false;
  bool lists_facilities = false;  // print only the names for --assume-missing
  std::vector<std::string> assume_missing;
  AnswerStyle style;
};
struct ExploreOptions {
  RunOptions run;                      // the run, and the number of parallel ones
  std::string strategy = "portfolio";
  std::string time = "60 s";           // wall time
  std::int64_t runs = 0;               // limit; 0: as many as the time allows
  std::string shrink_time = "30 s";    // wall time for each kind of failure
  std::string fail_on;                 // regular expression
  std::string out = "verbatim-explore";
  std::string focus;                   // a replay file
  bool bundles = false;                // write each kind of failure as a bundle, too
  bool records = false;                // record each kind of failure after shrinking
  bool keeps_going = false;            // after the first failure
  bool until_failure = false;          // without a time limit
  std::string until;                   // time of a campaign; empty: none
  std::string junit;                   // another file with the content of junit.xml; empty: none
  SplitOptions split;
};
int explore(ExploreOptions options);

struct PackOptions {
  RunOptions run;                     // a scenario, programs, or a replay file
  std::string out;                    // the bundle to write
  std::string root;                   // a folder to pack as a root of files, in place of a run
  bool records = false;               // the bundle also has a recording of the run
  std::vector<std::string> excluded;  // patterns of paths or of names whose content is left out
};
int pack(PackOptions options);
// Packs the run of a replay file in a process of its own. False, after an error message, if that fails.
bool pack_failure(const std::string& replay, const std::string& bundle);

struct ReplayOptions {
  std::string file;
  std::string terminal;  // of a session: "2", "all"; empty: the person's view
  RunOptions show;  // trace, pcap, out, style, log and the like
  bool relaxed = false;
};
int replay(ReplayOptions options);
// Reduces the decisions of a replay file and reports the remaining ones.
struct ShrinkOptions {
  std::string file, out;
  std::string time = "30 s";
  int jobs = 0;
  AnswerStyle style;
};
int shrink(const ShrinkOptions& options);
int bisect(const std::string& good, const std::string& bad, AnswerStyle style);

struct LadderVerbOptions {
  std::string file;     // a trace, or the folder of a run with one
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
  std::string folder = ".";  // of `start`: the new folder; of `run`: the program; of `check`: the lab
  std::string lab;           // of `run`: the lab of the folder; empty: named by the folder
  RunOptions run;
};
int lab(const LabOptions& options);

struct GradeOptions {
  std::string folder, lab;  // lab: a number, a name or a folder; empty: named by the folder
  std::string seeds_file;   // replaces the lab's seeds
  std::string junit, gradescope;  // files; empty: none
  std::string pack;  // a bundle of the submission to write; empty: none
  bool call_by_call = false;
  AnswerStyle style;
};
int grade(const GradeOptions& options);

struct ExplainOptions {
  std::vector<std::string> words;  // a name, an error and a verb, or a run
  bool list = false;               // lists every name with a text
  AnswerStyle style;
};
int explain(const ExplainOptions& options);

struct ReportOptions {
  std::string run;                  // a folder of run --out --keep-trace, or a trace
  std::string out;       // empty: report.html, or none if another file is requested
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

struct UnpackOptions {
  std::string file;      // a bundle
  std::string out;       // a new folder; empty: named after the bundle, in the current folder
  bool is_list = false;  // only list what is in it
  AnswerStyle style;
};
int unpack(const UnpackOptions& options);

struct VerifyOptions {
  std::string here, there;  // bundles, folders of run --out, or recordings
  AnswerStyle style;
};
int verify_runs(const VerifyOptions& options);

struct SweepOptions {
  std::string scenario;
  std::vector<std::string> vary;  // each PATH=VALUE,...
  std::string out = "verbatim-sweep";
  std::string html;  // a page with plots; empty: none
  int jobs = 0;      // runs at a time; 0: one for each allowed processor
  SplitOptions split;
  AnswerStyle style;
};
int sweep(const SweepOptions& options);

struct ShellOptions {
  RunOptions run;                  // topology, seed, limits, and output of the run
  std::vector<std::string> hosts;  // a terminal on each; empty: on the first
  std::string session;             // file of the session; empty: session.rec in --out or in the current folder
  bool fast = false;               // virtual time does not follow wall time while programs sleep
};
int shell(ShellOptions options);
struct AttachOptions {
  std::string session;  // file of the session; empty: the last one in this folder
  std::string host;     // empty: the host of its first terminal
};
int attach(const AttachOptions& options);
// `session` is a file written by `shell`.
// `bundle`: with such a file; nullptr: the file of `options`.
int replay_session(const ReplayOptions& options, const std::shared_ptr<BundleRun>& bundle = nullptr);

// Parses the words of a `run`. nullopt, after an error message, if they are invalid.
std::optional<RunOptions> run_options_of(std::vector<std::string> words);

struct NewOptions {
  std::string folder;
  std::int64_t hosts = 2;
  std::string shape;                      // empty: star
  std::string rate;                       // empty: EDR 4x, or 100 Gbps on Ethernet
  std::string link_layer = "infiniband";  // or roce
  bool pfc = false;                       // on Ethernet: pauses and marking instead of credits
  std::string controller;                 // congestion control of the adapters; empty: as their profile has it
  std::string oversubscription;           // of the leaves, such as "2:1"; empty: the shape's
  AnswerStyle style;
};
int make_new(const NewOptions& options);
// Each shape with a description, for the help.
std::string shapes_of_new();

int check(const CheckOptions& options);
struct DescribeOptions {
  std::string topology;
  std::string picture, dot;  // files; empty: none
  AnswerStyle style;
};
int describe(const DescribeOptions& options);
int write_schemas(const std::string& folder);
int run(RunOptions options);
int search_code(const std::string& file);

// `verbatim: sentence` on standard error.
void complain(const std::string& sentence);
// Prints each finding on a line, then their number and the consequence.
void print(const config::Diagnostics& diagnostics, const char* consequence = "nothing was started");
// Prints each warning on a line.
void print_warnings(const config::Diagnostics& diagnostics);

}  // namespace verbatim::cli
