// The command line: parses the verbs and calls the selected one. Each verb is implemented in its own file;
// options.cc has the options of the verbs that run programs.
#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/config/freedom.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/completion.h"
#include "tools/verbatim/fabric/import.h"
#include "tools/verbatim/guide_blocks.h"
#include "tools/verbatim/interrupted.h"
#include "tools/verbatim/manual_pages.h"
#include "tools/verbatim/options.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/prefault.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/usage_error.h"
#include "tools/verbatim/verb_table.h"
#include "tools/verbatim/workload/workload.h"
#ifdef VERBATIM_CAN_RUN
#include "tools/verbatim/shares/split.h"
#endif

namespace verbatim::cli {
namespace {

void add_ladder(CLI::App& app, LadderVerbOptions& options) {
  CLI::App* verb = app.add_subcommand("ladder", "Show a run as a ladder diagram: a column for each host, packets as arrows, time downwards");
  verb->add_option("run", options.file, "file or folder that run --record, run --trace, or run --out FOLDER --keep-trace has written")
      ->type_name("")
      ->required();
  verb->add_option("--out,-o", options.out, "write a picture (SVG) to this file instead of text")->type_name("FILE");
  verb->add_option("--qp", options.queue_pairs, "only queue pairs with these numbers")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--between", options.between, "only these virtual times, such as 100.5ms..100.6ms")->type_name("FROM..TO");
  verb->add_flag("--last-failure", options.last_failure, "only what is around the last failed completion or program");
  verb->add_flag("--system-calls", options.system_calls, "show system calls, too");
  verb->add_flag("--ascii", options.ascii, "use ASCII characters only (default: as LC_ALL, LC_CTYPE or LANG says)");
  verb->add_option("--width", options.width, "characters of a line (default: the terminal's, else 130)")
      ->type_name("N")
      ->check(CLI::Range(60, 1000).description(""));
  add_answer(verb, options.style);
}

void add_new(CLI::App& app, NewOptions& options) {
  CLI::App* verb = app.add_subcommand("new", "Write a topology and a scenario that runs, to start from");
  verb->add_option("folder", options.folder, "a folder that does not exist, or is empty")->type_name("")->required();
  verb->add_option("--hosts", options.hosts, "number of hosts")->type_name("N")->capture_default_str();
  verb->add_option("--shape", options.shape, shapes_of_new() + " (default: star)")->type_name("SHAPE");
  verb->add_option("--rate", options.rate, "rate of every cable, such as \"HDR 4x\", or \"50 Gbps\" with roce (default: EDR 4x, with roce 100 Gbps)")->type_name("RATE");
  verb->add_option("--link-layer", options.link_layer, "infiniband, or roce")->type_name("NAME")->capture_default_str();
  verb->add_flag("--pfc", options.pfc, "with roce: switches that pause (PFC) and mark (ECN), adapters with DCQCN, jumbo frames; without it links have credits as on InfiniBand");
  verb->add_option("--controller", options.controller, "with --pfc: congestion control of all adapters, such as dcqcn-nv, hpcc, swift, timely or none")->type_name("NAME");
  verb->add_option("--oversubscription", options.oversubscription, "of the leaves of leaf_spine, fat_tree and rail, such as 2:1")->type_name("DOWN:UP");
  add_answer(verb, options.style);
}

void add_import(CLI::App& app, ImportOptions& options) {
  CLI::App* verb = app.add_subcommand("import", "Make a topology of files of other tools: ibnetdiscover, OpenSM, SONiC, HPCC, htsim");
  verb->add_option("source", options.sources, "files, or folders of files; give forwarding tables together with their fabric")->type_name("")->required();
  verb->add_option("--out,-o", options.out, "the topology to write")->type_name("FILE")->required();
  take_choice(verb->add_option("--format", options.format, "the format (default: by content)"), import_formats());
  verb->add_option("--length", options.length, "length of cables for which the files have none")->type_name("LENGTH")->capture_default_str();
  verb->add_option("--lengths", options.lengths,
                   "a CSV file with the lengths of cables, lines such as leaf1:3,spine1:1,40 m or h1,leaf1,2 m; they replace those of the files")
      ->type_name("FILE");
  verb->add_option("--rate", options.rate, "rate of cables for which the files have none (default: EDR 4x, on Ethernet 100 Gbps)")->type_name("RATE");
  verb->add_option("--hca", options.hca, "adapter profile of all hosts (default: by device and rate)")->type_name("PROFILE");
  verb->add_option("--switch", options.switch_profile, "profile of all switches (default: by device and rate)")->type_name("PROFILE");
  verb->add_option("--cpu", options.cpu, "processor profile of all hosts")->type_name("PROFILE")->capture_default_str();
  add_answer(verb, options.style);
}

void add_lab(CLI::App& app, LabOptions& options) {
  CLI::App* verb = app.add_subcommand("lab", "Exercises of a course: list them, start one, build and run it; check a lab of your own");
  verb->require_subcommand(1);
  CLI::App* list = verb->add_subcommand("list", "Show all labs of the course");
  list->callback([&options] { options.verb = LabOptions::Verb::kList; });
  CLI::App* start = verb->add_subcommand("start", "Copy a lab to a new folder");
  start->add_option("lab", options.number, "its number (with -cm: its form with librdmacm), its name, or the folder of a lab")->type_name("")->required();
  start->add_option("folder", options.folder, "a folder that does not exist, or is empty")->type_name("")->required();
  start->callback([&options] { options.verb = LabOptions::Verb::kStart; });
  CLI::App* run = verb->add_subcommand("run", "Build the program in a folder, and run the lab's scenario with it");
  run->add_option("folder", options.folder, "the folder (default: this one)")->type_name("");
  run->add_option("--lab", options.lab, "the lab: a number, a name or a folder (default: the one that lab.json in the folder names)")->type_name("LAB");
  run->add_option("--trace", options.run.trace, "write every packet, DMA access and call to this file, one a line")->type_name("FILE");
  run->add_option("--pcap", options.run.pcap, "write a capture for Wireshark to this file")->type_name("FILE");
  run->add_option("--out", options.run.out, "folder for run.json and the programs' output; made if missing")->type_name("FOLDER");
  take_choice(run->add_option("--freedom", options.run.freedom, "as in `verbatim run`"), config::freedom_names());
  run->add_option("--seed", options.run.seed, "root of all random numbers")->type_name("N");
  run->callback([&options] { options.verb = LabOptions::Verb::kRun; });
  CLI::App* check = verb->add_subcommand("check", "Check the folder of a lab: its files, and the points of its three programs");
  check->add_option("folder", options.folder, "the lab: a folder with grade.json (default: this one)")->type_name("");
  check->callback([&options] { options.verb = LabOptions::Verb::kCheck; });
  for (CLI::App* one : {list, start, run, check}) add_answer(one, options.run.style);
}

void add_grade(CLI::App& app, GradeOptions& options) {
  CLI::App* verb = app.add_subcommand("grade", "Give points for the program in a folder");
  verb->add_option("folder", options.folder, "the folder of a submission, or a bundle made by --pack")->type_name("")->required();
  verb->add_option("--lab", options.lab, "the lab: a number, a name or a folder (default: the one that lab.json in the folder names)")->type_name("LAB");
  verb->add_option("--seeds-file", options.seeds_file, "use the seeds in this file instead of the lab's own")->type_name("FILE");
  verb->add_option("--junit", options.junit, "write the points as JUnit XML to this file, too")->type_name("FILE");
  verb->add_option("--pack", options.pack, "write the submission, its program and what its runs look at to this bundle, which grade accepts in place of the folder on any machine")->type_name("FILE");
  verb->add_option("--gradescope", options.gradescope, "write the points as Gradescope reads them (results.json) to this file, too")->type_name("FILE");
  verb->add_flag("--call-by-call", options.call_by_call)->group("");  // an oracle: results must not change
  add_answer(verb, options.style);
}

void add_explain(CLI::App& app, ExplainOptions& options) {
  CLI::App* verb = app.add_subcommand("explain",
                                      "Explain a status, an event or an error of verbs, or why a run failed:\n"
                                      "  verbatim explain IBV_WC_RETRY_EXC_ERR\n"
                                      "  verbatim explain EINVAL ibv_modify_qp\n"
                                      "  verbatim explain FOLDER|FILE");
  verb->add_option("what", options.words, "a name, an error and a verb, or what run --out, --record or --trace has written")->type_name("");
  verb->add_flag("--list", options.list, "list every name that can be explained, one a line");
  add_answer(verb, options.style);
}

void add_report(CLI::App& app, ReportOptions& options) {
  CLI::App* verb = app.add_subcommand("report", "Show a run as one HTML file that any browser opens, without a server or a network");
  verb->add_option("run", options.run, "file or folder that run --record, run --trace, or run --out FOLDER --keep-trace has written")->type_name("")->required();
  verb->add_option("--out,-o", options.out, "the file to write (default: report.html)")->type_name("FILE");
  verb->add_option("--perfetto", options.perfetto, "write a trace for ui.perfetto.dev to this file, and the page only with --out")->type_name("FILE");
  add_answer(verb, options.style);
}

void add_compare(CLI::App& app, CompareOptions& options) {
  CLI::App* verb = app.add_subcommand("compare", "Compare runs: outcome, times of flows, losses, marks, pauses and queues side by side");
  verb->add_option("run", options.runs, "two or more of what run --out FOLDER or run --record has written; ratios are to the first")->type_name("")->required();
  verb->add_option("--html", options.html, "write a page with plots to this file, too")->type_name("FILE");
  add_answer(verb, options.style);
}

void add_unpack(CLI::App& app, UnpackOptions& options) {
  CLI::App* verb = app.add_subcommand("unpack", "Show what a bundle holds, or write its files to a folder");
  verb->add_option("file", options.file, "a bundle, made by `verbatim pack`")->type_name("")->required();
  CLI::Option* list = verb->add_flag("--list", options.is_list, "only list its files with their sizes and the paths that they came from");
  verb->add_option("--out,-o", options.out, "the folder to write: manifest.json, root/ with the machine's files, extra/ with documents (default: the bundle's name without its end)")
      ->type_name("FOLDER")
      ->excludes(list);
  add_answer(verb, options.style);
}

void add_verify(CLI::App& app, VerifyOptions& options) {
  CLI::App* verb = app.add_subcommand("verify", "Compare two runs, also of two machines, and name what differs between their inputs");
  verb->add_option("here", options.here, "a bundle, a recording, or a folder of run --out")->type_name("")->required();
  verb->add_option("there", options.there, "the other one")->type_name("")->required();
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
  // The log is for people: it goes to standard error and influences no result.
  auto logger = std::make_shared<spdlog::logger>("verbatim", std::make_shared<LogSink>());
  logger->set_pattern("verbatim [%l] %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(logger);
}

// Opens closed standard descriptors with files that accept no data, so that no file opened later gets their
// numbers.
void hold_standard_descriptors() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int held = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);  // gets the lowest free number
    if (held >= 0 && held != fd) ::close(held);
  }
}

}  // namespace

std::optional<RunOptions> run_options_of(std::vector<std::string> words) {
  CLI::App app{"", "verbatim"};
  RunOptions options;
  add_run(app, options);
  words.insert(words.begin(), "run");
  std::ranges::reverse(words);  // CLI11 expects reverse order
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    complain(std::string("invalid options: ") + e.what());
    return std::nullopt;
  }
  return options;
}

namespace {

#ifdef VERBATIM_CAN_RUN
int dispatch(int argc, char** argv, const SplitTask* task);

// Runs the command of a split for a share, or to collect its results.
int dispatch_again(const SplitTask& task, const std::string& verb) {
  std::string failure;
  const auto split = read_split(task.folder, &failure);
  if (!split) {
    complain(failure);
    return kUsage;
  }
  if (!verb.empty() && verb != split->words.front()) {
    complain(task.folder + " belongs to `verbatim " + split->words.front() + "`: write `verbatim " + split->words.front() + " --collect " + task.folder + "`");
    return kUsage;
  }
  if (::chdir(split->working_directory.c_str()) != 0) {
    complain("the folder " + split->working_directory + ", in which the work was divided, cannot be entered: " + std::strerror(errno));
    return kUsage;
  }
  ::setenv("PATH", split->search_path.c_str(), 1);
  SplitTask absolute = task;
  absolute.folder = split->folder;
  std::vector<std::string> words = split->words;
  std::vector<char*> argv = {program_invocation_name};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return dispatch(static_cast<int>(argv.size()) - 1, argv.data(), &absolute);
}

// Sets what a share or a collection takes from its own command line. Returns nullopt if the command has to be run
// instead, else the exit code.
template <class Options>
std::optional<int> take_task(const char* verb, Options& options, AnswerStyle& style, int& jobs,
                             const std::vector<std::string>& words,
                             const SplitTask* task) {
  options.split.words = words;
  if (task != nullptr) {
    options.split.task = *task;
    options.split.shares = 0;
    options.out = task->folder;
    style = task->style;
    jobs = task->jobs;
    return std::nullopt;
  }
  if (options.split.collect.empty()) return std::nullopt;
  return dispatch_again({.role = SplitTask::Role::kCollect,
                         .folder = options.split.collect,
                         .share = 0,
                         .jobs = jobs,
                         .slurm = options.split.slurm,
                         .style = style},
                        verb);
}
#endif

int dispatch(int argc, char** argv, [[maybe_unused]] const SplitTask* task) {
  CLI::App app{
      "Run unmodified RDMA verbs programs on a simulated fabric, in virtual time. The same inputs give the same bytes.\n"
      "Begin with `verbatim run --help`; manual pages: `man verbatim` once it is installed, else `man BUILD/man1/verbatim.1`.",
      "verbatim"};
  app.set_version_flag("--version", "verbatim " VERBATIM_VERSION);
  app.require_subcommand(1);
  app.footer(exit_code_footer());
  app.get_formatter()->column_width(28);

  // Static because the caller's stack limit may be small, which make_plan() reports only later.
  static RunOptions run_options;
  run_options = {};  // set by a command that runs another one
  add_run(app, run_options);
  static NewOptions new_options;
  add_new(app, new_options);
  static ImportOptions import_options;
  add_import(app, import_options);

  static ExploreOptions explore_options;
  explore_options = {};
  add_explore(app, explore_options);
  static ReplayOptions replay_options;
  add_replay(app, replay_options);
  static PackOptions pack_options;
  add_pack(app, pack_options);
  static ShellOptions shell_options;
  add_shell(app, shell_options);
  static AttachOptions attach_options;
  add_attach(app, attach_options);
  static ShrinkOptions shrink_options;
  add_shrink(app, shrink_options);
  static LadderVerbOptions ladder_options;
  add_ladder(app, ladder_options);
  static LabOptions lab_options;
  add_lab(app, lab_options);
  static GradeOptions grade_options;
  add_grade(app, grade_options);
  static ExplainOptions explain_options;
  add_explain(app, explain_options);
  static ReportOptions report_options;
  add_report(app, report_options);
  static CompareOptions compare_options;
  add_compare(app, compare_options);
  static UnpackOptions unpack_options;
  add_unpack(app, unpack_options);
  static VerifyOptions verify_options;
  add_verify(app, verify_options);
  static SweepOptions sweep_options;
  sweep_options = {};
  add_sweep(app, sweep_options);
  static SplitTask share_task;
  add_share(app, share_task);
  std::string good, bad;
  CLI::App* bisect_verb = app.add_subcommand("bisect", "Name the decision that makes the difference between two replay files");
  bisect_verb->add_option("good", good, "replay file of a run that does not fail")->type_name("")->required();
  bisect_verb->add_option("bad", bad, "replay file of a run that fails")->type_name("")->required();
  AnswerStyle bisect_style;
  add_answer(bisect_verb, bisect_style);

  static CheckOptions check_options;
  CLI::App* check_verb =
      app.add_subcommand("check", "Check topologies, scenarios and profiles, or this machine");
  check_verb->add_option("file", check_options.files, "files to check; the kind of each follows from its content")->type_name("");
  check_verb->add_flag("--host", check_options.host, "check whether this machine or container can run simulations");
  check_verb->add_flag("--list-facilities", check_options.lists_facilities,
                       "with --host: list the names for --assume-missing, one a line");
  add_assume_missing(check_verb, check_options.assume_missing);
  add_answer(check_verb, check_options.style);

  CLI::App* doctor_verb = app.add_subcommand("doctor", "Check whether this machine or container can run simulations (check --host)");
  add_answer(doctor_verb, check_options.style);

  static DescribeOptions describe_options;
  CLI::App* describe_verb = app.add_subcommand("describe", "Describe a topology: hosts, addresses, links, routes");
  describe_verb->add_option("topology", describe_options.topology, "topology file")->type_name("")->required();
  describe_verb->add_option("--picture", describe_options.picture, "write a picture (SVG) to this file instead: switches in layers above the hosts")->type_name("FILE");
  describe_verb->add_option("--dot", describe_options.dot, "write all hosts, switches and cables to this file instead, for Graphviz (DOT)")->type_name("FILE");
  add_answer(describe_verb, describe_options.style);

  static WorkloadOptions workload_options;
  CLI::App* workload_verb = app.add_subcommand("workload", "Say what the flows and workloads of a scenario ask of its fabric");
  workload_verb->add_option("scenario", workload_options.file, "scenario file")->type_name("")->required();
  add_answer(workload_verb, workload_options.style);

  std::string shell;
  CLI::App* completion_verb = app.add_subcommand("completion", "Write the completion script of a shell to standard output");
  const std::vector<std::string> shells(std::begin(kShells), std::end(kShells));
  take_choice(completion_verb->add_option("shell", shell, "the shell")->required(), shells);

  std::string schema_folder;
  CLI::App* schema_verb = app.add_subcommand("schema", "Write the JSON Schemas")->group("");
  schema_verb->add_option("folder", schema_folder, "folder to write to")->required();

  std::string manual_folder, hand_written_folder;
  CLI::App* manual_verb = app.add_subcommand("manual-pages", "Write the manual page of each verb")->group("");
  manual_verb->add_option("folder", manual_folder, "folder to write to")->required();
  manual_verb->add_option("parts", hand_written_folder, "folder with what is written by hand (tools/manual)")->required();

  std::string block_name;
  bool block_is_roff = false;
  CLI::App* block_verb = app.add_subcommand("guide-block", "Print a generated part of a guide")->group("");
  block_verb->add_option("name", block_name, "such as \"exit codes\"")->required();
  block_verb->add_flag("--roff", block_is_roff, "for a manual page");

  std::string code_table;
  CLI::App* code_verb = app.add_subcommand("search-code", "Search the libraries that nearly every program loads, for all later runs")->group("");
  code_verb->add_option("file", code_table, "file to write")->required();

  std::vector<std::string> verbs;
  std::string shown;  // verbs in the help, without the steps of the build
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
  // The command of a split has the other arguments.
  const bool collects = std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word).starts_with("--collect"); });
  if (collects) {
    for (CLI::Option* const option : app.get_subcommand("sweep")->get_options()) option->required(false);
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
    const UsageError error = dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr     ? UsageError::kUnexpected
                             : dynamic_cast<const CLI::RequiredError*>(&e) != nullptr ? UsageError::kMissing
                                                                                      : UsageError::kOther;
    complain(usage_sentence(verb_table(app), std::vector<std::string>(argv + 1, argv + argc), error, e.what()));
    return kUsage;
  }
  if (check_verb->parsed()) return check(check_options);
  if (doctor_verb->parsed()) return check({.files = {}, .host = true, .assume_missing = {}, .style = check_options.style});
  if (completion_verb->parsed()) {
    std::fputs(completion_of(verb_table(app), shell).c_str(), stdout);
    return kAsExpected;
  }
  if (workload_verb->parsed()) return describe_workloads(workload_options);
  if (describe_verb->parsed()) return describe(describe_options);
  if (app.got_subcommand("new")) return make_new(new_options);
  if (app.got_subcommand("import")) return import_fabric(import_options);
  if (app.got_subcommand("ladder")) return ladder(ladder_options);
  if (app.got_subcommand("report")) return write_report(report_options);
  if (app.got_subcommand("compare")) return compare(compare_options);
  if (app.got_subcommand("explain")) return explain(explain_options);
  if (app.got_subcommand("unpack")) return unpack(unpack_options);
  if (app.got_subcommand("verify")) return verify_runs(verify_options);
  if (manual_verb->parsed()) {
    std::string failure;
    for (const ManualPage& page : manual_pages_of(verb_table(app), hand_written_folder, failure)) {
      if (failure.empty()) failure = write_document(manual_folder + "/" + page.name + ".1", page.roff);
    }
    if (!failure.empty()) complain(failure);
    return failure.empty() ? kAsExpected : kProgramFailed;
  }
  if (block_verb->parsed()) {
    const auto block = guide_block(verb_table(app), block_name, block_is_roff ? Markup::kRoff : Markup::kMarkdown);
    if (block) std::fputs(block->c_str(), stdout);
    else complain("there is no block \"" + block_name + "\"");
    return block ? kAsExpected : kUsage;
  }
  if (schema_verb->parsed()) return write_schemas(schema_folder);
#ifdef VERBATIM_CAN_RUN
  if (code_verb->parsed()) return search_code(code_table);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (app.got_subcommand("share")) return dispatch_again(share_task, "");
  if (app.got_subcommand("grade")) {
    set_up_log("off");
    return grade(grade_options);
  }
  if (app.got_subcommand("lab")) {
    set_up_log(lab_options.verb == LabOptions::Verb::kCheck ? "off" : log_of(lab_options.run));
    return lab(lab_options);
  }
  if (app.got_subcommand("explore") || app.got_subcommand("shrink") || bisect_verb->parsed()) {
    set_up_log("off");  // messages of runs are reported by kind of failure
    if (app.got_subcommand("explore")) {
      const auto code = take_task("explore", explore_options, explore_options.run.style, explore_options.run.jobs, words, task);
      return code ? *code : explore(explore_options);
    }
    return bisect_verb->parsed() ? bisect(good, bad, bisect_style) : shrink(shrink_options);
  }
  if (app.got_subcommand("sweep")) {
    set_up_log("off");  // warnings of runs are in their run.json
    const auto code = take_task("sweep", sweep_options, sweep_options.style, sweep_options.jobs, words, task);
    return code ? *code : sweep(sweep_options);
  }
  if (app.got_subcommand("attach")) return attach(attach_options);
  if (app.got_subcommand("shell")) {
    set_up_log(shell_options.run.log);
    return cli::shell(shell_options);
  }
  if (app.got_subcommand("pack")) {
    set_up_log(log_of(pack_options.run));
    return pack(pack_options);
  }
  if (app.got_subcommand("replay")) {
    set_up_log(log_of(replay_options.show));
    return replay(replay_options);
  }
#endif
  set_up_log(log_of(run_options));
#ifdef VERBATIM_CAN_RUN
  const auto code = take_task("run", run_options, run_options.style, run_options.jobs, words, task);
  return code ? *code : run(run_options);
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

namespace {

// Whether the error means exhausted resources rather than a wrong call.
bool is_lack(int error) {
  constexpr int kLacks[] = {ENOSPC, EDQUOT, EFBIG, EIO, EROFS, ENOMEM, EMFILE, ENFILE, EAGAIN};
  return std::ranges::find(kLacks, error) != std::end(kLacks);
}

}  // namespace

int start(int argc, char** argv) {
  prefault();
  first_folder();
  hold_standard_descriptors();
  end_when_interrupted();
  // A reader of our output may exit: that is reported like any other write error, and the run keeps its
  // report.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const int code = dispatch(argc, argv, nullptr);
    // A full disk or closed pipe at standard output or standard error must not look like success.
    const int error = flush_standard_output();
    const bool has_failed = error != 0 || std::ferror(stdout) != 0;
    if (has_failed) complain(std::string("standard output is not complete") + (error != 0 ? std::string(": ") + std::strerror(error) : ""));
    return (has_failed || std::ferror(stderr) != 0) && code == kAsExpected ? kProgramFailed : code;
  } catch (const std::system_error& e) {
    const bool is_machine = is_lack(e.code().value());
    complain((is_machine ? "this machine cannot go on: " : "internal error: ") + std::string(e.what()));
    return is_machine ? kMachineFault : kInternalError;
  } catch (const std::bad_alloc&) {
    complain("this machine cannot go on: it has no more memory");
    return kMachineFault;
  } catch (const std::exception& e) {
    complain(std::string("internal error: ") + e.what());
    return kInternalError;
  }
}

}  // namespace verbatim::cli
