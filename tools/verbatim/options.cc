#include "tools/verbatim/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <sstream>

#include "sim/config/diagnostics.h"
#include "sim/config/freedom.h"
#include "tools/verbatim/check_levels.h"
#include "tools/verbatim/verb_table.h"
#ifdef VERBATIM_CAN_RUN
#include "sim/supervisor/supervisor.h"
#endif

namespace verbatim::cli {
namespace {

// A sentence unless the text is one of the words.
std::string reject_choice(const std::string& text, const std::vector<std::string>& words) {
  if (std::ranges::find(words, text) != words.end()) return "";
  const std::string near = config::nearest(text, words);
  return config::in_quotes(text) + " is none of " + line_of(words, ", ") + (near.empty() ? "" : "; did you mean " + near + "?");
}

// A whole number within bounds; the help does not show these.
void take_number(CLI::Option* option, std::int64_t least, std::int64_t most) {
  const auto reject = [range = CLI::Range(least, most), least, most](const std::string& text) -> std::string {
    std::string input = text;
    if (range(input).empty()) return "";
    const bool has_end = most != std::numeric_limits<std::int64_t>::max();
    return config::in_quotes(text) + " is not a whole number from " + std::to_string(least) + (has_end ? " to " + std::to_string(most) : "");
  };
  option->type_name("N")->check(CLI::Validator(reject, ""));
}

void add_jobs(CLI::App* verb, int& jobs, const std::string& when = "") {
  take_number(verb->add_option("--jobs", jobs, when + "runs at a time (default: one for each processor that may be used); changes no result"), 1, 4096);
}

// Options that divide many runs into shares. `parts`: "schedules".
void add_split(CLI::App* verb, SplitOptions& options, const std::string& parts) {
  CLI::Option* const shares =
      verb->add_option("--shares", options.shares,
                       "run nothing; divide the " + parts + " into so many shares, which `verbatim share`, a Slurm job array or GNU parallel runs later");
  take_number(shares, 1, 100'000);
  CLI::Option* const slurm =
      verb->add_flag("--slurm{-}", options.slurm,
                     "divide the " + parts + " into shares (default: 16) and submit them as a Slurm job array; --slurm='OPTIONS' are for sbatch; with "
                     "--collect: submit the shares that are missing");
  verb->add_option("--collect", options.collect,
                   "merge the results of all shares in this folder, and say which are missing; the command's other words are not repeated")
      ->type_name("FOLDER")
      ->excludes(shares);
  slurm->type_name("");
}

void add_limits(CLI::App* verb, RunOptions& options) {
  take_number(verb->add_option("--seed", options.seed, "root of all random numbers (default: the scenario's, else 1)"), 0,
              std::numeric_limits<std::int64_t>::max());
  verb->add_option("--time-limit", options.time_limit,
                   "end the run at this virtual time, such as 10s (default: 24 h, or when only timers have fired for 10 min)")
      ->type_name("TIME");
  verb->add_option("--wall-limit", options.wall_limit, "end the run after this wall time (default: none; each run of --seeds: 10 min)")
      ->type_name("TIME");
  verb->add_option("--stuck-after", options.stuck_after,
                   "end the run when a program computes for this long, in wall time, without a system call or a verb (default: 60s)")
      ->type_name("TIME");
  verb->add_option("--fault", options.faults, "one fault, as in a scenario's \"faults\"; may be given several times")
      ->type_name("JSON")
      ->allow_extra_args(false);
  take_number(verb->add_option("--spec-faults", options.spec_faults,
                               "with freedom spec: lose, duplicate or delay up to N packets, which the seed chooses (default: the scenario's, "
                               "else 0)"),
              0, 1'000'000);
  take_number(verb->add_option("--spec-failing-calls", options.spec_failing_calls,
                               "with freedom spec: let up to N calls on each host fail or do less than asked (ENOMEM of verbs, EAGAIN, EINTR, "
                               "short reads and writes); the seed chooses which (default: the scenario's, else 0)"),
              0, 1'000'000);
  take_number(verb->add_option("--spec-failures", options.spec_failures,
                               "with freedom spec: take down up to N links, adapters and programs, at times that the seed chooses (default: the "
                               "scenario's, else 0)"),
              0, 1'000'000);
  verb->add_flag("--spec-accesses", options.spec_accesses,
                 "with freedom spec: also delay threads between two accesses to memory, as in counter++; finds races without any call "
                 "between them, and takes up to three times as long");
  verb->add_option("--check", options.checks,
                   "set the level of a check for mistakes in programs: off, warn, or error, which makes the exit code 1; NAME is a check "
                   "listed in verbatim-run(1), or all; may be given several times")
      ->type_name("NAME=LEVEL")
      ->allow_extra_args(false)
      ->check(CLI::Validator(reject_check, ""));
  take_choice(verb->add_option("--strict", options.strict,
                   "system calls that are not simulated: refuse them, or warn and pass them to the machine, so that the run may not repeat")->capture_default_str(), {"refuse", "warn"});
  verb->add_flag("--confine", options.confine,
                 "let programs change files only in their working folders, in --out and in what their host has of its own; the kernel "
                 "refuses all others with EACCES (Landlock)");
  take_number(verb->add_option("--core", options.core, "the processor on which everything runs (default: the one where the kernel starts the run)"),
              0, 1 << 16);
  add_assume_missing(verb, options.assume_missing);
}

// Options that select the run and its limits, common to single and multiple runs.
void add_what(CLI::App* verb, RunOptions& options) {
  verb->add_option("what", options.arguments,
                   "a scenario file, or HOST=COMMAND for each program; a program whose command ends with \" &\" is ended when the others "
                   "have ended")
      ->type_name("");
  verb->add_option("--topology", options.topology, "topology file; for the form HOST=COMMAND")->type_name("FILE");
  verb->add_option("--stagger", options.stagger, "virtual time between the starts of programs given as HOST=COMMAND")
      ->type_name("TIME")
      ->capture_default_str();
  verb->add_option("--range", options.ranges,
                   "{NAME} in a command is a number of this range; a run uses the greatest, and shrink looks for the least that still "
                   "fails; for the form HOST=COMMAND (a scenario has \"ranges\"); may be given several times")
      ->type_name("NAME=LEAST..MOST")
      ->allow_extra_args(false);
  verb->add_option("--set", options.sets, "use this number for {NAME} in the commands; may be given several times")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  add_limits(verb, options);
}

void add_out(CLI::App* verb, std::string& out, const std::string& what = "folder for run.json and the programs' output; made if missing") {
  verb->add_option("--out", out, what)->type_name("FOLDER");
}

// Options for the output of a run.
void add_show(CLI::App* verb, RunOptions& options) {
  verb->add_option("--trace", options.trace, "write the trace to this file: one fact a line, with its virtual time")->type_name("FILE");
  verb->add_option("--pcap", options.pcap, "write a capture for Wireshark (pcapng): the packets at both ends of every cable")->type_name("FILE");
  take_choice(verb->add_option("--pcap-per", options.pcap_per, "with --pcap: write each packet at every port that it passes, or once on every link")
                  ->capture_default_str(),
              {"port", "link"});
  verb->add_option("--calls", options.calls, "write the system calls and verbs of the programs to this file, one a line, as strace does")
      ->type_name("FILE");
  verb->add_option("--watch", options.watch,
                   "with --trace, --pcap, --record or --explain-latency: only this host or switch, or those of a pattern such as \"leaf[0-3]\"; may be given several times")
      ->type_name("NODE");
  verb->add_option("--watch-time", options.watch_time, "with --trace, --pcap, --record or --explain-latency: only this part of the run, such as 10ms..10.5ms")
      ->type_name("FROM..TO");
  verb->add_option("--flows", options.flows, "write a line for each flow as CSV to this file: ends, bytes, times, slowdown, retransmissions, marks, path")
      ->type_name("FILE");
  take_choice(verb->add_option("--flows-form", options.flows_form,
                               "with --flows: csv, or fct: the lines of HPCC's fct.txt, of finished flows alone")
                  ->capture_default_str(),
              {"csv", "fct"});
  verb->get_option("--flows-form")->needs(verb->get_option("--flows"));
  verb->add_option("--links", options.links,
                   "write a line for each direction of each link as CSV to this file: packets, use, longest queue, waits, pauses, marks, drops")
      ->type_name("FILE");
  verb->add_option("--series", options.series,
                   "write time series as CSV to this file: output queues, pauses, marks, drops, bytes sent, rates of queue pairs")
      ->type_name("FILE");
  verb->add_option("--series-step", options.series_step,
                   "with --series: the length of the parts of time that a line is of, or \"change\" for a line at each change (default: 10us)")
      ->type_name("TIME");
  take_number(verb->add_option("--snap-length", options.snap_length, "with --pcap: keep the first N bytes of each packet (default: all)"), 1, 1 << 16);
  verb->add_flag("--explain-latency{-}", options.explain_latency,
                 "show where the time of each message went, from post to completion: in a file (--explain-latency=FILE; as JSON if the name "
                 "ends so), else in --out, else on standard error");
  verb->add_option("--gdb", options.gdb, "start gdb on the first program of this host, or on its N-th (HOST:N); the whole fabric waits for it")
      ->type_name("HOST");
  verb->add_option("--gdb-at", options.gdb_at, "with --gdb: stop at this virtual time (default: before the program's first instruction)")
      ->type_name("TIME");
  verb->add_option("--gdb-commands", options.gdb_commands, "with --gdb: a file of commands for gdb")->type_name("FILE");
  verb->add_flag("--keep-trace", options.keep_trace, "keep the trace in --out, for explain, report and ladder")
      ->needs(verb->get_option("--out"))
      ->excludes(verb->get_option("--trace"));
  verb->add_option("--record", options.record,
                   "write a compact recording of the run, for explain, report and ladder; with --seeds a folder, for the first failure of each kind")
      ->type_name("FILE")
      ->excludes(verb->get_option("--trace"))
      ->excludes(verb->get_option("--keep-trace"));
  take_number(verb->add_option("--record-most", options.record_most,
                               "with --record: keep the first N records of packets, queues and the like; flows, collectives and the load of ports "
                               "are kept of the whole run (default: all; in a run without programs 1000000, with more than 20000 flows 200000)"),
              0, std::numeric_limits<std::int64_t>::max());
  take_choice(verb->add_option("--log", options.log, "log level on standard error")->capture_default_str(), {"trace", "debug", "info", "warn", "error", "off"});
  verb->add_flag("--call-by-call", options.call_by_call, "hand every call of a program to the simulator: slow, with the same result; for tests");
}

}  // namespace

std::string exit_code_footer() {
  std::string text = "Exit codes:";
  for (const ExitCodeText& row : kExitCodes) {
    std::string code = std::to_string(row.code);
    code.resize(4, ' ');
    text += "\n  " + code + std::string(row.summary);
  }
  return text;
}

void add_assume_missing(CLI::App* verb, std::vector<std::string>& names) {
  [[maybe_unused]] CLI::Option* const option =
      verb->add_option("--assume-missing", names,
                       "do without these facilities of the machine, such as tsc-trap,jumps; `verbatim check --host --list-facilities` lists "
                       "them; changes no result")
          ->type_name("NAME,...")
          ->delimiter(',')
          ->allow_extra_args(false);
#ifdef VERBATIM_CAN_RUN
  option->check(CLI::Validator([](const std::string& text) { return reject_choice(text, supervisor::MachineFacilities::replaceable()); }, ""));
#endif
}

void take_choice(CLI::Option* option, const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "{" : ",") + word;
  option->type_name(all + "}")->check(CLI::Validator([words](const std::string& text) { return reject_choice(text, words); }, ""));
}

void add_quiet(CLI::App* verb, AnswerStyle& style) { verb->add_flag("--quiet", style.quiet, "print only what makes the exit code other than 0: no warnings, and no progress"); }

void add_answer(CLI::App* verb, AnswerStyle& style) {
  add_quiet(verb, style);
  verb->add_flag("--json", style.json, "write one JSON document to standard output, and nothing else")->excludes(verb->get_option("--quiet"));
}

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App* verb = app.add_subcommand("run",
                                      "Run programs on a simulated fabric:\n"
                                      "  verbatim run [OPTIONS] SCENARIO.json\n"
                                      "  verbatim run [OPTIONS] --topology TOPOLOGY.json HOST=COMMAND ...");
  verb->footer(exit_code_footer());
  add_what(verb, options);
  add_out(verb, options.out);
  add_show(verb, options);
  add_answer(verb, options.style);
  verb->add_option("--seeds", options.seeds, "run once for each seed of a range such as 1..200, and report those that fail; 5 is the seed 5 alone")->type_name("A..B");
  add_jobs(verb, options.jobs, "with --seeds: ");
  add_split(verb, options.split, "seeds");
  take_choice(verb->add_option("--freedom", options.freedom,
                   "behaviour where the specification leaves a choice: friendly, the same as a ConnectX; spec, anything allowed, "
                   "as the seed draws it; quirk:NAME, besides that one deviation of some hardware (default: the scenario's, else friendly)"), config::freedom_names());
  verb->add_flag("--keep-files", options.keep_files, "keep the files of the hosts' own folders, such as /tmp, in files/HOST of --out; with --seeds also what programs wrote to the folder that they work in, in files/working-folder");
  CLI::Option* const verify = verb->add_flag("--verify", options.verify, "run twice, and name the first difference");
  verb->add_option("--junit", options.junit,
                   "write the result as JUnit XML to this file: a test case for each program and one for the run; with --seeds, one for each seed")
      ->type_name("FILE")
      ->excludes(verify);
  take_choice(verb->add_option("--second-core", options.second_core,
                   "let the simulator use a second processor beside that of the programs; saves time and changes no result (default: free, while "
                   "one is idle; with --core: never)"), {"never", "free", "always", "changing"});
  verb->add_option("--poke-period", options.poke_period_us)->check(CLI::Range(1, 1 << 30))->group("");
  verb->add_option("--record-fd", options.record_fd)->group("");
  verb->add_option("--pad", options.pad)->group("");
  verb->add_flag("--plant-address", options.plants_address)->group("");
}

void add_explore(CLI::App& app, ExploreOptions& options) {
  CLI::App* verb = app.add_subcommand("explore",
                                      "Search for races: run many schedules with freedom spec, make each failure small, explain it:\n"
                                      "  verbatim explore [OPTIONS] SCENARIO.json\n"
                                      "  verbatim explore [OPTIONS] --topology TOPOLOGY.json HOST=COMMAND ...");
  verb->footer(exit_code_footer());
  add_what(verb, options.run);
  std::vector<std::string> free_ones = config::freedom_names();
  std::erase_if(free_ones, [](const std::string& name) { return !config::is_free(name); });  // these leave nothing to explore
  CLI::Option* const time =
      verb->add_option("--time", options.time, "wall time for the search")->type_name("TIME")->capture_default_str();
  CLI::Option* const runs = verb->add_option("--runs", options.runs, "number of runs, however long they take");
  take_number(runs, 1, std::numeric_limits<std::int64_t>::max());
  runs->excludes(time);
  CLI::Option* const until_failure = verb->add_flag("--until-failure", options.until_failure, "search until something fails, however long it takes")->excludes(time);
  verb->add_option("--until", options.until,
                   "a campaign: search for this wall time, such as 8h, and collect all failures in --out, with index.html; the same command goes on "
                   "after an interruption, a kill or a crash")
      ->type_name("TIME")
      ->excludes(time)
      ->excludes(runs)
      ->excludes(until_failure);
  verb->add_flag("--bundle", options.bundles, "write each kind of failure also as a bundle, which `verbatim replay` repeats on any machine");
  verb->add_flag("--keep-going", options.keeps_going, "do not stop at the first failure");
  add_split(verb, options.split, "schedules");
  verb->get_option("--shares")->excludes(time)->excludes(until_failure)->excludes(verb->get_option("--until"));
  verb->get_option("--slurm")->excludes(time)->excludes(until_failure)->excludes(verb->get_option("--until"));
  add_jobs(verb, options.run.jobs);
  CLI::Option* const strategy =
      verb->add_option("--strategy", options.strategy,
                       "how schedules are chosen: random; pct:D (fast and slow actors, which change at D places); delay:K (every schedule with "
                       "at most K decisions); nasty (every freedom to its limit); portfolio (all of these in turn)")
          ->type_name("NAME")
          ->capture_default_str();
  take_choice(verb->add_option("--freedom", options.run.freedom,
                   "choices of a schedule: spec, anything the specification allows (default); quirk:NAME, besides that one deviation of some "
                   "hardware"), free_ones);
  verb->add_option("--focus", options.focus, "try schedules like the failure in this replay file")->type_name("FILE")->excludes(strategy);
  verb->add_option("--fail-on", options.fail_on, "a line of output that this regular expression matches makes the run a failure")->type_name("REGEX");
  verb->add_option("--shrink-time", options.shrink_time, "wall time for making each kind of failure small")
      ->type_name("TIME")
      ->capture_default_str();
  verb->add_option("--out", options.out, "folder for replay files, explore.json and junit.xml; made if missing")
      ->type_name("FOLDER")
      ->capture_default_str();
  verb->add_flag("--record", options.records, "write a recording beside each replay file, for explain, report and ladder");
  verb->add_option("--junit", options.junit, "write the result as JUnit XML to this file, too: a test case for each kind of failure")->type_name("FILE");
  add_answer(verb, options.run.style);
  verb->add_option("--log", options.run.log)->group("");
  // Oracles: results must not depend on them.
  verb->add_flag("--call-by-call", options.run.call_by_call)->group("");
  verb->add_flag("--afresh", options.run.afresh)->group("");
}

void add_share(CLI::App& app, SplitTask& task) {
  CLI::App* verb = app.add_subcommand("share", "Run one share of an explore, run --seeds or sweep that was divided with --shares or --slurm");
  verb->footer(exit_code_footer());
  verb->add_option("folder", task.folder, "folder of the divided command (its --out)")->type_name("")->required();
  take_number(verb->add_option("number", task.share, "number of the share, from 0")->required(), 0, 100'000);
  verb->get_option("number")->type_name("");
  add_jobs(verb, task.jobs);
  add_answer(verb, task.style);
}

void add_sweep(CLI::App& app, SweepOptions& options) {
  CLI::App* verb = app.add_subcommand("sweep",
                                      "Run a scenario with every combination of values, and compare the results:\n"
                                      "  verbatim sweep SCENARIO --vary workloads/0/load=0.3,0.5,0.8 --vary routing_engine=minhop,updn");
  verb->footer(exit_code_footer());
  verb->add_option("scenario", options.scenario, "scenario file")->type_name("")->required();
  verb->add_option("--vary", options.vary,
                   "values for a key of the scenario, such as workloads/0/load, or of its topology, such as topology/routing_engine or "
                   "routing_engine; 1..5 is each whole number from 1 to 5; may be given several times")
      ->type_name("PATH=VALUE,...")
      ->required()
      ->allow_extra_args(false);
  add_jobs(verb, options.jobs);
  add_split(verb, options.split, "points");
  add_out(verb, options.out, "folder for results.jsonl, results.csv, and run.json of each point; a sweep that was interrupted goes on there");
  verb->get_option("--out")->capture_default_str();
  verb->add_option("--html", options.html, "write a page with plots to this file, too")->type_name("FILE");
  add_answer(verb, options.style);
}

void add_replay(CLI::App& app, ReplayOptions& options) {
  CLI::App* verb = app.add_subcommand("replay", "Run a failure found by explore again, or show a session of `verbatim shell` again");
  verb->footer(exit_code_footer());
  verb->add_option("file", options.file, "replay file or session file")->type_name("")->required();
  verb->add_flag("--relaxed", options.relaxed, "accept programs that have changed, and apply the decisions that still fit");
  verb->add_option("--terminal", options.terminal,
                   "for a session: show this terminal, counted from 1, or all (default: what the first real terminal showed)")
      ->type_name("N|all");
  verb->add_option("--until", options.show.time_limit, "end the run at this virtual time, such as 100.5ms")->type_name("TIME");
  add_out(verb, options.show.out);
  add_show(verb, options.show);
  add_answer(verb, options.show.style);
}

void add_pack(CLI::App& app, PackOptions& options) {
  CLI::App* verb = app.add_subcommand("pack",
                                      "Run once, and write a file that repeats the run on a machine where nothing is installed:\n"
                                      "  verbatim pack -o FILE.vbundle [OPTIONS] SCENARIO.json|REPLAY|SESSION\n"
                                      "  verbatim pack -o FILE.vbundle [OPTIONS] --topology TOPOLOGY.json HOST=COMMAND ...");
  verb->footer(exit_code_footer());
  add_what(verb, options.run);
  verb->add_option("--out,-o", options.out, "the bundle to write")->type_name("FILE")->required();
  verb->add_option("--root", options.root, "pack all files of this folder, for the key root of scenarios, and run nothing")->type_name("FOLDER");
  verb->add_flag("--record", options.records, "put a recording into the bundle: report, ladder, explain and compare read it without a run");
  verb->add_option("--exclude", options.excluded, "leave out the content of files whose path or name matches, such as *.pem; a run that opens one ends with exit code 71")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  take_choice(verb->add_option("--freedom", options.run.freedom, "as in `verbatim run`"), config::freedom_names());
  add_answer(verb, options.run.style);
}

void add_shell(CLI::App& app, ShellOptions& options) {
  CLI::App* verb = app.add_subcommand("shell", "Open a terminal on a simulated host, or on several (Ctrl-] shows the next one)");
  verb->footer(exit_code_footer());
  verb->add_option("topology", options.run.topology, "topology file")->type_name("")->required();
  verb->add_option("host", options.hosts, "open a terminal on each of these hosts (default: on the first host)")->type_name("");
  verb->add_option("--session", options.session,
                   "write what is typed to this new file, for `verbatim replay` (default: session.rec or the next free name, in --out or here)")
      ->type_name("FILE");
  verb->add_flag("--fast", options.fast, "do not slow virtual time down to wall time while a program sleeps");
  add_limits(verb, options.run);
  take_choice(verb->add_option("--freedom", options.run.freedom, "as in `verbatim run`"), config::freedom_names());
  add_out(verb, options.run.out, "folder for run.json and the session; made if missing");
  add_show(verb, options.run);
  add_quiet(verb, options.run.style);
  options.run.log = "error";  // log lines would disturb the screen
}

void add_attach(CLI::App& app, AttachOptions& options) {
  CLI::App* verb = app.add_subcommand("attach", "Join a session of `verbatim shell` from another terminal");
  verb->add_option("host", options.host, "the simulated host (default: that of the session's first terminal)")->type_name("");
  verb->add_option("--session", options.session, "file of the session (default: the last session.rec of this folder)")->type_name("FILE");
}

void add_shrink(CLI::App& app, ShrinkOptions& options) {
  CLI::App* verb = app.add_subcommand("shrink", "Make a replay file small: fewer decisions, smaller numbers, the same failure");
  verb->add_option("file", options.file, "replay file")->type_name("")->required();
  verb->add_option("--out,-o", options.out, "write the smaller one to this file (default: the same file)")->type_name("FILE");
  verb->add_option("--time", options.time, "wall time after which the smallest failure so far is kept")->type_name("TIME")->capture_default_str();
  add_jobs(verb, options.jobs);
  add_answer(verb, options.style);
}

namespace {

// "TEXT:{never,free}" has the choices never and free; other types are a placeholder, optionally with a range
// after a colon.
void read_value(const CLI::Option& option, OptionText& text) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == type.npos || end == type.npos) {
    text.value = type.substr(0, type.find(':'));
    return;
  }
  std::istringstream words(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(words, word, ',');) {
    text.value += (text.choices.empty() ? "" : "|") + word;
    text.choices.push_back(word);
  }
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.short_names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.long_names.push_back("--" + name);
  if (option.get_positional()) text.positional = option.get_name(true);
  text.is_required = option.get_required();
  text.takes_value = option.get_items_expected_max() > 0;
  if (text.takes_value) read_value(option, text);
  text.about = option.get_description();
  text.default_value = option.get_default_str();
  return text;
}

// Indented lines of a description are forms of the command; the others are sentences.
void read_description(const CLI::App& app, VerbText& verb) {
  std::istringstream lines(app.get_description());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) verb.forms.push_back(line.substr(2));
    else verb.sentence += (verb.sentence.empty() ? "" : " ") + line;
  }
  if (verb.sentence.ends_with(':') || verb.sentence.ends_with('.')) verb.sentence.pop_back();
  if (!verb.forms.empty()) return;
  std::string form = verb.words.empty() ? "verbatim" : "verbatim " + verb.words, positionals;
  bool has_options = false;
  for (const OptionText& option : verb.options) {
    if (option.positional.empty()) {
      has_options = true;
      continue;
    }
    std::string name = option.positional;
    std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::toupper(letter); });
    positionals += option.is_required ? " " + name : " [" + name + "]";
  }
  if (!verb.below.empty()) form += " COMMAND";
  verb.forms.push_back(form + (has_options ? " [OPTIONS]" : "") + positionals);
}

void gather(const CLI::App& app, const std::string& words, std::vector<VerbText>& verbs) {
  VerbText verb{.words = words, .sentence = {}, .forms = {}, .options = {}, .below = {}};
  const auto below = app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
  for (const CLI::App* one : below) verb.below.push_back(one->get_name());
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) verb.options.push_back(text_of(*option));
  }
  read_description(app, verb);
  verbs.push_back(std::move(verb));
  for (const CLI::App* one : below) gather(*one, words.empty() ? one->get_name() : words + " " + one->get_name(), verbs);
}

}  // namespace

std::vector<VerbText> verb_table(const CLI::App& app) {
  std::vector<VerbText> verbs;
  gather(app, "", verbs);
  return verbs;
}

}  // namespace verbatim::cli
