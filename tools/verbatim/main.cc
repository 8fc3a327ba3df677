// The command line: verbs, options, exit codes. Each verb's work is in a file of its own.
#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/config/freedom.h"
#include "tools/verbatim/check_levels.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/completion.h"
#include "tools/verbatim/manual_pages.h"
#include "tools/verbatim/whole_file.h"
#include "tools/verbatim/prefault.h"
#include "tools/verbatim/progress.h"
#ifdef VERBATIM_CAN_RUN
#include "sim/supervisor/supervisor.h"
#endif

namespace verbatim::cli {
namespace {

constexpr char kFooter[] =
    "Exit codes: 0 as expected; 1 a program failed or an expectation was not met; 2 usage or file error, "
    "nothing\n"
    "was started; 3 the programs are deadlocked in virtual time; 4 a limit was reached; 5 interrupted by\n"
    "SIGINT, SIGTERM or SIGHUP; 70 a bug of verbatim.";

void add_assume_missing(CLI::App* verb, std::vector<std::string>& names) {
#ifdef VERBATIM_CAN_RUN
  verb->add_option("--assume-missing", names,
                   "facilities of this machine that are not to be used, such as tsc-trap,jumps: everything goes the second "
                   "way that `verbatim check --host` tells of; results are the same")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(supervisor::MachineFacilities::replaceable()));
#else
  (void)verb, (void)names;
#endif
}

void add_quiet(CLI::App* verb, AnswerStyle& style) {
  verb->add_flag("--quiet", style.quiet, "print only what went wrong, and no progress");
}

// Of every verb that reports something.
void add_answer(CLI::App* verb, AnswerStyle& style) {
  add_quiet(verb, style);
  verb->add_flag("--json", style.json, "write one JSON document to standard output, nothing else")->excludes(verb->get_option("--quiet"));
}

void add_limits(CLI::App* verb, RunOptions& options);

// What is run, and within which limits: the same for one run and for many.
void add_what(CLI::App* verb, RunOptions& options) {
  verb->add_option("what", options.arguments,
                   "a scenario file, or HOST=COMMAND once for each program; with \" &\" at its end it is "
                   "ended when the others have ended");
  verb->add_option("--topology", options.topology, "topology file, for the form HOST=COMMAND");
  verb->add_option("--stagger", options.stagger,
                   "virtual time between the starts of programs given as HOST=COMMAND")
      ->capture_default_str();
  verb->add_option("--range", options.ranges,
                   "NAME=LEAST..MOST: {NAME} in the commands is a number that shrink may make smaller, as by a scenario's \"ranges\", "
                   "for the form HOST=COMMAND; once for each")
      ->allow_extra_args(false);
  verb->add_option("--set", options.sets,
                   "NAME=NUMBER: the number that {NAME} in the commands stands for (default: the greatest of its range); once for each")
      ->allow_extra_args(false);
  add_limits(verb, options);
}

void add_limits(CLI::App* verb, RunOptions& options) {
  verb->add_option("--seed", options.seed, "root of all random numbers (default: the scenario's, else 1)")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  verb->add_option("--time-limit", options.time_limit, "end the run at this virtual time, such as 10s");
  verb->add_option("--stuck-after", options.stuck_after,
                   "wall time after which a program that computes without a call is given up (default: 60s)");
  verb->add_option("--fault", options.faults,
                   "a fault as in a scenario's \"faults\", JSON; once for each")
      ->allow_extra_args(false);
  verb->add_option("--spec-faults", options.spec_faults,
                   "with freedom spec: at most so many packets are lost, duplicated or late, at places drawn from the seed "
                   "(default: the scenario's, else 0)")
      ->check(CLI::Range(0, 1'000'000));
  verb->add_option("--spec-failing-calls", options.spec_failing_calls,
                   "with freedom spec: at most so many calls of programs on each host fail or do less than they could (ENOMEM of "
                   "verbs, EAGAIN, EINTR, short reads and writes), at places drawn from the seed (default: the scenario's, else 0)")
      ->check(CLI::Range(0, 1'000'000));
  verb->add_option("--spec-failures", options.spec_failures,
                   "with freedom spec: at most so many links go down, adapters fail and programs are killed, at times drawn from the "
                   "seed (default: the scenario's, else 0)")
      ->check(CLI::Range(0, 1'000'000));
  verb->add_flag("--spec-accesses", options.spec_accesses,
                 "with freedom spec: threads are late before accesses to memory of the program's own code, too, and between the two "
                 "of an instruction that reads and writes: finds races that lie between two accesses, and takes longer");
  verb->add_option("--check", options.checks,
                   "NAME=LEVEL: what is said of a mistake that is found in a program: off, warn, or error, which makes the exit code "
                   "1; NAME is one of those in the manual page, or all; once for each")
      ->allow_extra_args(false)
      ->check(CLI::Validator(reject_check, "NAME=LEVEL"));
  verb->add_option("--strict", options.strict,
                   "system calls that are not simulated: refuse them, or warn and let them reach the "
                   "machine, which makes "
                   "the run weak: it need not repeat")
      ->check(CLI::IsMember({"refuse", "warn"}))
      ->capture_default_str();
  verb->add_option("--core", options.core,
                   "processor that everything runs on (default: the one where the kernel starts the run)")
      ->check(CLI::Range(0, 1 << 16));
  add_assume_missing(verb, options.assume_missing);
}

// How a run is shown.
void add_show(CLI::App* verb, RunOptions& options) {
  verb->add_option("--trace", options.trace, "write the trace to this file, one fact a line");
  verb->add_option("--pcap", options.pcap, "write the packets at both ends of every cable to this file (pcapng)");
  verb->add_option("--pcap-per", options.pcap_per,
                   "with --pcap: write each packet at every port that it passes, or once on every link")
      ->check(CLI::IsMember({"port", "link"}))
      ->capture_default_str();
  verb->add_option("--calls", options.calls,
                   "write the calls of the programs to this file, system calls and verbs, one a line, as strace shows them; the "
                   "run goes call by call, with the same digest");
  verb->add_option("--snap-length", options.snap_length,
                   "with --pcap: keep that many bytes of each packet from its beginning (default: all)")
      ->check(CLI::Range(1, 1 << 16));
  verb->add_flag(
      "--explain-latency{-}", options.explain_latency,
      "tell where the time of every message went, from post to completion: a table for each size, in this "
      "file (--explain-latency=FILE; JSON when its name ends so), in --out, or on standard error");
  verb->add_option("--gdb", options.gdb,
                   "start gdb on the first program of this host, or on its N-th as HOST:N; the whole fabric waits for it");
  verb->add_option("--gdb-at", options.gdb_at, "with --gdb: at this virtual time (default: before the program's first instruction)");
  verb->add_option("--gdb-commands", options.gdb_commands, "with --gdb: a file with commands that gdb reads once it holds the program");
  verb->add_flag("--keep-trace", options.keep_trace,
                 "keep the trace, and where in the programs requests were posted, in --out: for explain, report and ladder")
      ->needs(verb->get_option("--out"))
      ->excludes(verb->get_option("--trace"));
  verb->add_option("--record", options.record, "write a compact recording of the run to this file: for explain, report and ladder; with --seeds, to this folder, of the "
                   "first failure of each kind")
      ->excludes(verb->get_option("--trace"))
      ->excludes(verb->get_option("--keep-trace"));
  verb->add_option("--log", options.log, "log level: trace, debug, info, warn, error, off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  verb->add_flag("--call-by-call", options.call_by_call,
                 "hand every intercepted call over: slow, the oracle that the default must agree with");
}

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App* verb = app.add_subcommand("run",
                                      "Run programs on a simulated fabric:\n"
                                      "  verbatim run [OPTIONS] SCENARIO.json\n"
                                      "  verbatim run [OPTIONS] --topology TOPOLOGY.json HOST=COMMAND ...");
  verb->footer(kFooter);
  add_what(verb, options);
  verb->add_option("--out", options.out, "folder for run.json and the programs' output; made if missing");
  add_show(verb, options);
  add_answer(verb, options.style);
  verb->add_option(
      "--seeds", options.seeds,
      "run once for each seed of a range such as 1..200, and name those that are not as expected");
  verb->add_option("--jobs", options.jobs,
                   "with --seeds: runs at a time (default: one for each allowed processor)")
      ->check(CLI::Range(1, 4096));
  verb->add_option(
          "--freedom", options.freedom,
          "what is done with the freedom that the specification leaves: friendly as a ConnectX does; spec "
          "draws all that is allowed from the seed; quirk:NAME besides what some hardware does though it is not allowed "
          "(default: the scenario's, else friendly)")
      ->check(CLI::IsMember(config::freedom_names()));
  verb->add_flag("--keep-files", options.keep_files,
                 "keep the files of the hosts' own folders (/tmp and the like) in files/HOST of --out");
  CLI::Option* const verify = verb->add_flag("--verify", options.verify, "run twice and name the first difference");
  verb->add_option("--junit", options.junit,
                   "a file for the result as JUnit XML: a test case for each program and one for the run; with --seeds, one for each seed")
      ->excludes(verify);
  verb->add_option("--second-core", options.second_core,
                   "a processor for the simulator alone, beside the one of the programs: never, free (while one is), always, "
                   "changing (at random); costs or saves time and changes nothing else (default: free; with --core: never)")
      ->check(CLI::IsMember({"never", "free", "always", "changing"}));
  verb->add_option("--poke-period", options.poke_period_us)->check(CLI::Range(1, 1 << 30))->group("");
  verb->add_option("--record-fd", options.record_fd)->group("");
  verb->add_option("--pad", options.pad)->group("");
  verb->add_flag("--plant-address", options.plants_address)->group("");
}

void add_new(CLI::App& app, NewOptions& options) {
  CLI::App* verb = app.add_subcommand("new", "Write a topology and a scenario that runs, to start from");
  verb->add_option("folder", options.folder, "a folder that is not there yet, or empty")->required();
  verb->add_option("--hosts", options.hosts, "number of hosts")->capture_default_str();
  verb->add_option("--shape", options.shape, shapes_of_new() + " (default: star)");
  verb->add_option("--rate", options.rate, "of every cable, such as \"HDR 4x\" or \"50 Gbps\" (default: EDR 4x, with roce 100 Gbps)");
  verb->add_option("--link-layer", options.link_layer, "infiniband, or roce")->capture_default_str();
  add_answer(verb, options.style);
}

void add_explore(CLI::App& app, ExploreOptions& options) {
  CLI::App* verb = app.add_subcommand("explore",
                                      "Run many schedules with freedom spec, and explain what fails:\n"
                                      "  verbatim explore [OPTIONS] SCENARIO.json\n"
                                      "  verbatim explore [OPTIONS] --topology TOPOLOGY.json HOST=COMMAND ...");
  verb->footer(kFooter);
  add_what(verb, options.run);
  std::vector<std::string> free_ones = config::freedom_names();
  std::erase_if(free_ones, [](const std::string& name) { return !config::is_free(name); });  // nothing to explore
  CLI::Option* const time =
      verb->add_option("--time", options.time, "wall time for the search")->capture_default_str();
  CLI::Option* const runs = verb->add_option("--runs", options.runs, "number of runs, however long they take")
                                ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  runs->excludes(time);
  verb->add_flag("--until-failure", options.until_failure, "search until something fails, however long that takes")
      ->excludes(time);
  verb->add_flag("--keep-going", options.keeps_going, "search on when something has failed, until time or runs are used up");
  verb->add_option("--jobs", options.run.jobs, "runs at a time (default: one for each allowed processor)")
      ->check(CLI::Range(1, 4096));
  CLI::Option* const strategy = verb->add_option("--strategy", options.strategy,
                                                 "how schedules are chosen: portfolio (the others in turn), random, pct:D "
                                                 "(fast and slow actors, D changes), delay:K (every one with at most K "
                                                 "decisions), nasty (each freedom to its limit)")
                                    ->capture_default_str();
  verb->add_option("--freedom", options.run.freedom,
                   "what schedules may do: spec, all that the specification allows (default); quirk:NAME, besides what some hardware "
                   "does though it is not allowed")
      ->check(CLI::IsMember(free_ones));
  verb->add_option("--focus", options.focus, "a replay file: schedules like the one that failed there")->excludes(strategy);
  verb->add_option("--fail-on", options.fail_on,
                   "regular expression: a line of a program's output that it finds makes the run a failure");
  verb->add_option("--shrink-time", options.shrink_time, "wall time for making each kind of failure small")
      ->capture_default_str();
  verb->add_option("--out", options.out, "folder for replay files, explore.json and junit.xml; made if missing")
      ->capture_default_str();
  verb->add_flag("--record", options.records,
                 "keep a recording of each kind of failure, small, beside its replay file: for explain, report and ladder");
  add_answer(verb, options.run.style);
  verb->add_option("--log", options.run.log)->group("");
  // Oracles: what is found must not depend on them.
  verb->add_flag("--call-by-call", options.run.call_by_call)->group("");
  verb->add_flag("--afresh", options.run.afresh)->group("");
}

void add_replay(CLI::App& app, ReplayOptions& options) {
  CLI::App* verb = app.add_subcommand("replay", "Run a failure that explore has found, or show a session of `verbatim shell`, again");
  verb->footer(kFooter);
  verb->add_option("file", options.file, "replay file, or session")->required();
  verb->add_flag("--relaxed", options.relaxed, "go on when programs have changed: decisions are taken as far as they fit");
  verb->add_option("--terminal", options.terminal,
                   "of a session: show this terminal alone, counted from 1, attached ones among them; or all, in the order in which "
                   "something appeared (default: those that were shown at the first real terminal, when they were)");
  verb->add_option("--until", options.show.time_limit, "end the run at this virtual time, such as 100.5ms");
  verb->add_option("--out", options.show.out, "folder for run.json and the programs' output; made if missing");
  add_show(verb, options.show);
  add_answer(verb, options.show.style);
}

void add_shell(CLI::App& app, ShellOptions& options) {
  CLI::App* verb = app.add_subcommand("shell",
                                      "Sit at a terminal of a simulated host, or of several: Ctrl-] shows the next one.\n"
                                      "While everything waits for what is typed, virtual time stands still. When standard input is\n"
                                      "no terminal, each line of it is typed as soon as a program waits for it.");
  verb->footer(kFooter);
  verb->add_option("topology", options.run.topology, "topology file")->required();
  verb->add_option("host", options.hosts, "a terminal on each of these hosts (default: one on the first host)");
  verb->add_option("--session", options.session,
                   "a new file for what is typed, for `verbatim replay` (default: session.rec, or the next free name, in --out or here)");
  verb->add_flag("--fast", options.fast,
                 "while a program sleeps and nobody reads a terminal, virtual time goes on at once, not as fast as real time");
  add_limits(verb, options.run);
  verb->add_option("--freedom", options.run.freedom, "friendly, spec or quirk:NAME, as of `verbatim run`")
      ->check(CLI::IsMember(config::freedom_names()));
  verb->add_option("--out", options.run.out, "folder for run.json and the session; made if missing");
  add_show(verb, options.run);
  add_quiet(verb, options.run.style);
  options.run.log = "error";  // what is logged would be written into the screen
}

void add_attach(CLI::App& app, AttachOptions& options) {
  CLI::App* verb = app.add_subcommand("attach", "Get a shell at this real terminal, too, of a session that goes on at another one");
  verb->add_option("host", options.host, "the simulated host (default: that of the session's first terminal)");
  verb->add_option("--session", options.session, "file of the session (default: the last session.rec of this folder)");
}

void add_shrink(CLI::App& app, ShrinkOptions& options) {
  CLI::App* verb = app.add_subcommand("shrink", "Make the decisions of a replay file fewer, and the numbers in its commands that have a range less; tell what each decision does");
  verb->add_option("file", options.file, "replay file")->required();
  verb->add_option("--out,-o", options.out, "where the smaller one is written (default: the same file)");
  verb->add_option("--time", options.time, "wall time after which it ends with what it has")->capture_default_str();
  verb->add_option("--jobs", options.jobs, "runs at a time (default: one for each allowed processor)")
      ->check(CLI::Range(1, 4096));
  add_answer(verb, options.style);
}

void add_ladder(CLI::App& app, LadderVerbOptions& options) {
  CLI::App* verb = app.add_subcommand("ladder", "Show a trace as a ladder: a column for each host, packets as arrows");
  verb->add_option("run", options.file, "what run --record, run --trace, or run --out FOLDER --keep-trace has written")->required();
  verb->add_option("--out,-o", options.out, "write a picture (SVG) to this file instead of text");
  verb->add_option("--qp", options.queue_pairs, "only what is about queue pairs with these numbers")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--between", options.between, "only these virtual times: FROM..TO, such as 100.5ms..100.6ms");
  verb->add_flag("--last-failure", options.last_failure,
                 "only what is around the last completion with an error, or program that failed");
  verb->add_flag("--system-calls", options.system_calls, "system calls, too");
  verb->add_flag("--ascii", options.ascii, "no characters beyond ASCII (default: as LC_ALL, LC_CTYPE or LANG says)");
  verb->add_option("--width", options.width, "characters of a line (default: the terminal's, else 130)")
      ->check(CLI::Range(60, 1000));
  add_answer(verb, options.style);
}

void add_lab(CLI::App& app, LabOptions& options) {
  CLI::App* verb = app.add_subcommand("lab", "Exercises of a course: list them, start one, build and run it; check a lab of your own");
  verb->require_subcommand(1);
  CLI::App* list = verb->add_subcommand("list", "Show all labs of the course");
  list->callback([&options] { options.verb = LabOptions::Verb::kList; });
  CLI::App* start = verb->add_subcommand("start", "Copy a lab to a new folder");
  start->add_option("lab", options.number, "its number (with -cm: its form with librdmacm), its name, or the folder of a lab")->required();
  start->add_option("folder", options.folder, "a folder that does not exist, or is empty")->required();
  start->callback([&options] { options.verb = LabOptions::Verb::kStart; });
  CLI::App* run = verb->add_subcommand("run", "Build the program in a folder, and run the lab's scenario with it");
  run->add_option("folder", options.folder, "the folder (default: this one)");
  run->add_option("--lab", options.lab, "the lab: a number, a name or a folder (default: the one that lab.json in the folder names)");
  run->add_option("--trace", options.run.trace, "a file for every packet, DMA access and call, one a line");
  run->add_option("--pcap", options.run.pcap, "a file for a capture");
  run->add_option("--out", options.run.out, "a folder for run.json and the programs' output");
  run->add_option("--freedom", options.run.freedom, "friendly, spec or quirk:NAME")->check(CLI::IsMember(config::freedom_names()));
  run->add_option("--seed", options.run.seed, "root of all random numbers");
  run->callback([&options] { options.verb = LabOptions::Verb::kRun; });
  CLI::App* check = verb->add_subcommand("check", "Check the folder of a lab: its files, and the points of its three programs");
  check->add_option("folder", options.folder, "the lab: a folder with grade.json (default: this one)");
  check->callback([&options] { options.verb = LabOptions::Verb::kCheck; });
  for (CLI::App* one : {list, start, run, check}) add_answer(one, options.run.style);
}

void add_grade(CLI::App& app, GradeOptions& options) {
  CLI::App* verb = app.add_subcommand("grade", "Give points for the program in a folder");
  verb->add_option("folder", options.folder, "the folder of a submission")->required();
  verb->add_option("--lab", options.lab, "the lab: a number, a name or a folder (default: the one that lab.json in the folder names)");
  verb->add_option("--seeds-file", options.seeds_file, "a file with the seeds to use instead of the lab's own");
  verb->add_option("--junit", options.junit, "a file for the points as JUnit XML");
  verb->add_option("--gradescope", options.gradescope, "a file for the points as Gradescope reads them (results.json)");
  verb->add_flag("--call-by-call", options.call_by_call)->group("");  // the oracle: the same points
  add_answer(verb, options.style);
}

void add_explain(CLI::App& app, ExplainOptions& options) {
  CLI::App* verb = app.add_subcommand("explain",
                                      "Say what a status, an event or an error means, or why a run failed:\n"
                                      "  verbatim explain IBV_WC_RETRY_EXC_ERR\n"
                                      "  verbatim explain EINVAL ibv_modify_qp\n"
                                      "  verbatim explain FOLDER|TRACE");
  verb->add_option("what", options.words, "a name, an error and a verb, or what run --out, --record or --trace has written");
  verb->add_flag("--list", options.list, "every name that there is a text for, one a line");
  add_answer(verb, options.style);
}

void add_report(CLI::App& app, ReportOptions& options) {
  CLI::App* verb = app.add_subcommand("report", "Show a run as one HTML file that any browser opens, without a server or a network");
  verb->add_option("run", options.run, "what run --record, or run --out FOLDER --keep-trace, has written, or a trace")->required();
  verb->add_option("--out,-o", options.out, "the file that is written (default: report.html)");
  verb->add_option("--perfetto", options.perfetto, "write the run as a trace for ui.perfetto.dev instead, or as well with --out");
  add_answer(verb, options.style);
}

// Warnings of a run are logged when they arise; --quiet leaves only errors unless a level was asked for.
std::string log_of(const RunOptions& options) { return options.style.quiet && options.log == "warn" ? "error" : options.log; }

class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    clear_progress();
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  void flush_() override { std::fflush(stderr); }
};

void set_up_log(const std::string& level) {
  // A log is for people: it goes to standard error and has no part in any result.
  auto logger = std::make_shared<spdlog::logger>("verbatim", std::make_shared<LogSink>());
  logger->set_pattern("verbatim [%l] %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(logger);
}

// Closed ones get files that take nothing, so that no file opened later is written to by mistake.
void hold_standard_descriptors() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int held = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);  // the lowest number that is free
    if (held >= 0 && held != fd) ::close(held);
  }
}

}  // namespace

std::optional<RunOptions> run_options_of(std::vector<std::string> words) {
  CLI::App app{"", "verbatim"};
  RunOptions options;
  add_run(app, options);
  words.insert(words.begin(), "run");
  std::ranges::reverse(words);  // as CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    complain(std::string("the words of the run cannot be used: ") + e.what());
    return std::nullopt;
  }
  return options;
}

namespace {

int dispatch(int argc, char** argv) {
  CLI::App app{
      "Verbatim runs unmodified RDMA verbs programs on a simulated fabric, in virtual time: the same inputs "
      "give the same bytes.",
      "verbatim"};
  app.set_version_flag("--version", "verbatim " VERBATIM_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  app.get_formatter()->column_width(28);

  RunOptions run_options;
  add_run(app, run_options);
  NewOptions new_options;
  add_new(app, new_options);

  ExploreOptions explore_options;
  add_explore(app, explore_options);
  ReplayOptions replay_options;
  add_replay(app, replay_options);
  ShellOptions shell_options;
  add_shell(app, shell_options);
  AttachOptions attach_options;
  add_attach(app, attach_options);
  ShrinkOptions shrink_options;
  add_shrink(app, shrink_options);
  LadderVerbOptions ladder_options;
  add_ladder(app, ladder_options);
  LabOptions lab_options;
  add_lab(app, lab_options);
  GradeOptions grade_options;
  add_grade(app, grade_options);
  ExplainOptions explain_options;
  add_explain(app, explain_options);
  ReportOptions report_options;
  add_report(app, report_options);
  std::string good, bad;
  CLI::App* bisect_verb = app.add_subcommand("bisect", "Name the decision that makes the difference between two replay files");
  bisect_verb->add_option("good", good, "replay file of a run that does not fail so")->required();
  bisect_verb->add_option("bad", bad, "replay file of one that does")->required();
  AnswerStyle bisect_style;
  add_answer(bisect_verb, bisect_style);

  CheckOptions check_options;
  CLI::App* check_verb =
      app.add_subcommand("check", "Check topologies, scenarios and profiles, or this machine");
  check_verb->add_option("file", check_options.files, "files to check; what they are is seen from their content");
  check_verb->add_flag("--host", check_options.host, "check whether this machine or container can run simulations");
  check_verb->add_flag("--list-facilities", check_options.lists_facilities,
                       "with --host: names of what has a second way, one a line");
  add_assume_missing(check_verb, check_options.assume_missing);
  add_answer(check_verb, check_options.style);

  CLI::App* doctor_verb = app.add_subcommand("doctor", "The same as check --host: can this machine or container run simulations?");
  add_answer(doctor_verb, check_options.style);

  std::string topology;
  CLI::App* describe_verb = app.add_subcommand("describe", "Describe a topology: hosts, LIDs, links, routes");
  describe_verb->add_option("topology", topology, "topology file")->required();
  AnswerStyle describe_style;
  add_answer(describe_verb, describe_style);

  std::string shell;
  CLI::App* completion_verb = app.add_subcommand("completion", "Write the completion of a shell to standard output");
  const std::vector<std::string> shells(std::begin(kShells), std::end(kShells));
  completion_verb->add_option("shell", shell, "bash, zsh or fish")->required()->check(CLI::IsMember(shells));

  std::string schema_folder;
  CLI::App* schema_verb = app.add_subcommand("schema", "Write the JSON Schemas")->group("");
  schema_verb->add_option("folder", schema_folder, "folder to write to")->required();

  std::string manual_folder;
  CLI::App* manual_verb = app.add_subcommand("manual-pages", "Write the manual page of each verb")->group("");
  manual_verb->add_option("folder", manual_folder, "folder to write to")->required();

  std::string code_table;
  CLI::App* code_verb = app.add_subcommand("search-code", "Search what nearly every program loads, for all runs to come")->group("");
  code_verb->add_option("file", code_table, "file to write")->required();

  std::vector<std::string> verbs;
  std::string shown;  // those that are not steps of the build
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
    if (!verb->get_group().empty()) shown += (shown.empty() ? "" : ", ") + verb->get_name();
  }
  if (argc > 1 && argv[1][0] != '-' && std::find(verbs.begin(), verbs.end(), argv[1]) == verbs.end()) {
    const std::string near = config::nearest(argv[1], verbs);
    complain("there is no verb " + config::in_quotes(argv[1]) + "; " +
             (near.empty() ? "the verbs are " + shown : "did you mean \"" + near + "\"?"));
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    app.exit(e);
    return kAsExpected;
  } catch (const CLI::CallForAllHelp& e) {
    app.exit(e);
    return kAsExpected;
  } catch (const CLI::CallForVersion& e) {
    app.exit(e);
    return kAsExpected;
  } catch (const CLI::ParseError& e) {
    complain(std::string(e.what()) + "; see `verbatim --help` or `verbatim VERB --help`");
    return kUsage;
  }
  if (check_verb->parsed()) return check(check_options);
  if (doctor_verb->parsed()) return check({.files = {}, .host = true, .assume_missing = {}, .style = check_options.style});
  if (completion_verb->parsed()) {
    std::fputs(completion_of(app, shell).c_str(), stdout);
    return kAsExpected;
  }
  if (describe_verb->parsed()) return describe(topology, describe_style);
  if (app.got_subcommand("new")) return make_new(new_options);
  if (app.got_subcommand("ladder")) return ladder(ladder_options);
  if (app.got_subcommand("report")) return write_report(report_options);
  if (app.got_subcommand("explain")) return explain(explain_options);
  if (manual_verb->parsed()) {
    for (const ManualPage& page : manual_pages_of(app)) {
      const std::string failure = write_whole_file(manual_folder + "/" + page.name + ".1", page.roff);
      if (failure.empty()) continue;
      complain(failure);
      return kProgramFailed;
    }
    return kAsExpected;
  }
  if (schema_verb->parsed()) return write_schemas(schema_folder);
#ifdef VERBATIM_CAN_RUN
  if (code_verb->parsed()) return search_code(code_table);
  if (app.got_subcommand("grade")) {
    set_up_log("off");
    return grade(grade_options);
  }
  if (app.got_subcommand("lab")) {
    set_up_log(lab_options.verb == LabOptions::Verb::kCheck ? "off" : log_of(lab_options.run));
    return lab(lab_options);
  }
  if (app.got_subcommand("explore") || app.got_subcommand("shrink") || bisect_verb->parsed()) {
    set_up_log("off");  // what runs say is told by kind
    if (app.got_subcommand("explore")) return explore(explore_options);
    return bisect_verb->parsed() ? bisect(good, bad, bisect_style) : shrink(shrink_options);
  }
  if (app.got_subcommand("attach")) return attach(attach_options);
  if (app.got_subcommand("shell")) {
    set_up_log(shell_options.run.log);
    return cli::shell(shell_options);
  }
  if (app.got_subcommand("replay")) {
    set_up_log(log_of(replay_options.show));
    return replay(replay_options);
  }
#endif
  set_up_log(log_of(run_options));
#ifdef VERBATIM_CAN_RUN
  return run(run_options);
#else
  complain("this build has no supervisor and cannot run simulations");
  return kUsage;
#endif
}

}  // namespace

const std::string& first_folder() {
  static const std::string folder = [] {
    std::error_code error;
    return std::filesystem::current_path(error).string();
  }();
  return folder;
}

int start(int argc, char** argv) {
  prefault();
  first_folder();
  hold_standard_descriptors();
  // Who reads our output may be gone: that is told as any other failure to write, and the run keeps its report.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const int code = dispatch(argc, argv);
    // A full disk or a closed pipe behind standard output must not look like success.
    const bool failed = std::fflush(stdout) != 0;
    if (failed || std::ferror(stdout) != 0) {
      complain("standard output cannot be written");
      return code == kAsExpected ? kProgramFailed : code;
    }
    return code;
  } catch (const std::exception& e) {
    complain(std::string("internal error: ") + e.what());
    return kInternalError;
  }
}

}  // namespace verbatim::cli
