// `verbatim run`: from arguments to a checked plan. Nothing is started while there are findings.
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "sim/config/device_limits.h"
#include "sim/config/freedom.h"
#include "sim/config/load.h"
#include "sim/config/reroutes.h"
#include "sim/config/words.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/bundle_run.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/root_bundle.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/shares/share.h"
#include "tools/verbatim/watch.h"

namespace verbatim::cli {

namespace {

// A file after `--explain-latency` without "=" is taken as a separate, unexpected argument.
std::string hint_for_arguments(const RunOptions& options, const std::string& otherwise) {
  return options.explain_latency == "-" ? otherwise + "; a file for the tables is given as --explain-latency=FILE"
                                        : otherwise;
}

bool is_program(const std::string& word) {
  supervisor::ProgramSpec spec;
  spec.arguments = {word};
  return !word.empty() && supervisor::Supervisor::reject_reason(spec, "", nullptr).empty();
}

// Hint for an argument that is not HOST=COMMAND.
std::string hint_for_program(const std::string& argument, const config::ScenarioSpec& scenario, const std::string& verb) {
  const std::string host = scenario.topology.hosts.empty() ? "server" : scenario.topology.hosts.front().name;
  if (argument.ends_with(".json"))
    return "a scenario names its topology itself: `verbatim " + verb + " " + config::shell_word(argument) + "`";
  if (is_program(argument)) return "write it like " + host + "='" + argument + "'";
  return "write it like " + host + "='ibv_rc_pingpong'";
}

// Refuses arguments without --topology unless they are one file. An argument that is a program on the PATH
// gets its own hint.
bool refuse_arguments(const RunOptions& options, const config::LoadOptions& load_options, config::Diagnostics& diagnostics) {
  const std::string& first = options.arguments.front();
  const std::string verb = "verbatim " + load_options.verb;
  const auto add = [&](std::string text, std::string hint) {
    diagnostics.add("command line", "", std::move(text), hint_for_arguments(options, std::move(hint)));
    return true;
  };
  const bool is_json = first.find(".json") != std::string::npos, is_one = options.arguments.size() == 1;
  if (const std::size_t equals = first.find('='); equals != std::string::npos && !is_json) {
    return add(config::in_quotes(first) + " needs a topology, whose hosts run programs",
               "write `" + verb + " " + config::program_arguments(first.substr(equals + 1), "TOPOLOGY.json", first.substr(0, equals)) +
                   "`, or `" + verb + " SCENARIO.json`");
  }
  const bool is_file = ::access(first.c_str(), F_OK) == 0;
  if (is_one && (is_file || is_json || first.find('/') != std::string::npos || !is_program(first))) return false;
  if (is_program(first)) {
    return add(config::in_quotes(first) + " is a program, not a scenario",
               "to run it on a simulated host, write `" + verb + " " + config::program_arguments(config::join_words(options.arguments)) + "`");
  }
  return add(std::to_string(options.arguments.size()) + " arguments where one scenario is expected",
             "write `" + verb + " SCENARIO.json`, or `" + verb + " --topology TOPOLOGY.json HOST=COMMAND …`");
}

// "server=ibv_rc_pingpong -c": the n-th program starts n staggers after the first one. "server=qperf &" runs
// in the background.
void parse_programs(const RunOptions& options, const config::LoadOptions& load_options, config::ScenarioSpec& scenario,
                    config::Diagnostics& diagnostics) {
  std::string problem, hint;
  const auto stagger = config::parse_quantity(options.stagger, config::Dimension::kDuration, &problem, &hint);
  if (!stagger ||
      *stagger > 1'000'000'000'000'000'000 / static_cast<std::int64_t>(options.arguments.size())) {
    diagnostics.add("--stagger", "",
                    config::in_quotes(options.stagger) + " " + (stagger ? "is too large" : problem), hint);
    return;
  }
  for (const std::string& argument : options.arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      diagnostics.add("command line", "", config::in_quotes(argument) + " is not of the form HOST=COMMAND",
                      hint_for_arguments(options, hint_for_program(argument, scenario, load_options.verb)));
      continue;
    }
    config::ProgramSpec program;
    program.host = argument.substr(0, equals);
    program.start = Duration(*stagger * static_cast<std::int64_t>(scenario.programs.size()));
    std::string_view command = std::string_view(argument).substr(equals + 1);
    program.background = command.ends_with(" &");
    if (program.background) command.remove_suffix(2);
    const auto words = config::split_words(std::string(command), &problem);
    if (!words) {
      diagnostics.add("command line", "", config::in_quotes(argument) + ": " + problem,
                      "quote it inside the command");
    } else if (words->empty() || words->front().empty()) {
      diagnostics.add("command line", "", config::in_quotes(argument) + " names no command",
                      "write it like \"server=ibv_rc_pingpong -c\"");
    } else {
      program.command = *words;
    }
    const auto host = scenario.topology.host(program.host);
    if (scenario.topology.hosts.empty()) {
      // The topology has findings, so its hosts are unknown.
    } else if (!host) {
      std::vector<std::string> names;
      std::string list;
      for (const config::HostSpec& h : scenario.topology.hosts) {
        names.push_back(h.name);
        list += (list.empty() ? "" : ", ") + h.name;
      }
      const std::string near = config::nearest(program.host, names);
      diagnostics.add("command line", "", "the topology has no host " + config::in_quotes(program.host),
                      near.empty() ? "its hosts are " + list : "did you mean \"" + near + "\"?");
    } else {
      program.host_index = *host;
      config::check_runs_programs(scenario.topology, *host, "command line", "", diagnostics);
    }
    scenario.programs.push_back(std::move(program));
  }
  config::check_foreground(scenario, "command line", "", diagnostics);
}

// Applies --range to the commands of the command line.
void resolve_ranges(const RunOptions& options, config::ScenarioSpec& scenario, config::Diagnostics& diagnostics) {
  std::map<std::string, std::string> ranges;
  for (const std::string& text : options.ranges) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) {
      diagnostics.add("--range", "", config::in_quotes(text) + " is not of the form NAME=LEAST..MOST",
                      "write it like \"messages=1..1000\"");
    } else if (!ranges.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      diagnostics.add("--range", "", config::in_quotes(text.substr(0, equals)) + " has two ranges", "leave one of them out");
    }
  }
  if (ranges.size() == options.ranges.size()) config::resolve_arguments(scenario, ranges, "--range", "", diagnostics);
}

// "1..200", or "7" for a single seed.
std::optional<SeedRange> parse_seeds(const RunOptions& options, config::Diagnostics& diagnostics) {
  const std::string& text = options.seeds;
  const char* const dividing = options.split.slurm.empty() ? "--shares" : "--slurm";
  if (is_divided(options.split) && text.empty()) diagnostics.add(dividing, "", "needs --seeds, which are divided");
  if (is_divided(options.split) && options.out.empty()) diagnostics.add(dividing, "", "needs --out, the folder of the shares");
  if (text.empty()) return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < 0) return std::nullopt;
    return value;
  };
  const std::size_t dots = text.find("..");
  const auto first = number(std::string_view(text).substr(0, dots));
  const auto last = dots == std::string::npos ? first : number(std::string_view(text).substr(dots + 2));
  if (!first || !last || *last < *first) {
    diagnostics.add("--seeds", "", config::in_quotes(text) + " is not a range of seeds",
                    "write it like \"1..200\"");
    return std::nullopt;
  }
  if (options.seed) diagnostics.add("--seeds", "", "cannot be used with --seed", "leave one of them out");
  if (is_divided(options.split) && *last - *first >= Split::kMostUnits)
    diagnostics.add(dividing, "", "divides at most " + std::to_string(Split::kMostUnits) + " seeds");
  for (const auto& [name, file] : {std::pair("--trace", &options.trace), std::pair("--pcap", &options.pcap),
                                   std::pair("--calls", &options.calls), std::pair("--series", &options.series),
                                   std::pair("--flows", &options.flows), std::pair("--links", &options.links),
                                   std::pair("--explain-latency", &options.explain_latency)}) {
    if (file->empty()) continue;
    diagnostics.add("--seeds", "", std::string("cannot be used with ") + name,
                    std::string("repeat the seed in question with --seed and ") + name);
  }
  if (options.keep_trace)
    diagnostics.add("--seeds", "", "cannot be used with --keep-trace", "repeat the seed in question with --seed and --keep-trace");
  return SeedRange{*first, *last};
}

// Loads the topology and programs of the command line, or the scenario; with findings, as far as they could
// be read. Returns false if no further checks make sense.
bool load_what(const RunOptions& options, const config::LoadOptions& load_options, config::ScenarioSpec& scenario,
               config::Diagnostics& diagnostics) {
  if (!options.topology.empty()) {
    const auto topology = config::load_topology(options.topology, load_options, diagnostics);
    if (topology) scenario.topology = *topology;
    parse_programs(options, load_options, scenario, diagnostics);
    resolve_ranges(options, scenario, diagnostics);
    return topology.has_value();
  }
  if (!options.ranges.empty())
    diagnostics.add("--range", "", "is for the form HOST=COMMAND", "a scenario has its own \"ranges\"");
  if (refuse_arguments(options, load_options, diagnostics)) return false;
  const auto loaded = config::load_scenario(options.arguments[0], load_options, diagnostics, &scenario);
  if (loaded) scenario = *loaded;
  return loaded.has_value();
}

void load(const RunOptions& options, const config::LoadOptions& load_options, config::ScenarioSpec& scenario,
          config::Diagnostics& diagnostics) {
  const bool is_sound = load_what(options, load_options, scenario, diagnostics);
  for (std::size_t i = 0; diagnostics.empty() && i < options.sets.size(); ++i)
    config::set_argument(scenario, options.sets[i], "--set", diagnostics);
  for (const std::string& text : options.faults) {
    if (!is_sound) break;  // faults name parts of the topology
    if (auto fault = config::parse_fault(text, scenario.topology, "--fault", diagnostics)) {
      scenario.faults.push_back(std::move(*fault));
    }
  }
  if (options.seed && *options.seed != scenario.seed) {
    scenario.seed = *options.seed;
    config::draw_traffic(scenario);
  }
  if (!options.freedom.empty()) scenario.freedom = options.freedom;
  if (options.spec_faults) scenario.spec.faults = *options.spec_faults;
  if (options.spec_accesses) scenario.spec.accesses = true;
  if (options.spec_failing_calls) scenario.spec.failing_calls = *options.spec_failing_calls;
  if (options.spec_failures) scenario.spec.failures = *options.spec_failures;
  if (const auto limit = parse_limit("--time-limit", options.time_limit, diagnostics))
    scenario.time_limit = *limit;
}

void protect_inputs(const RunPlan& plan, const RunOptions& options, const config::LoadOptions& load_options) {
  for (const std::string& file : {options.topology, plan.scenario.file, options.gdb_commands}) protect_input(file);
  if (load_options.files != nullptr && !load_options.files->are_all)
    for (const auto& [path, text] : load_options.files->texts) protect_input(path);
  for (const config::ProgramSpec& program : plan.scenario.programs) {
    for (const std::string& word : program.command) protect_input(word);  // such as a script
    for (const auto& [path, source] : program.files) protect_input(source);
  }
}

// Whether --out creates the folder of that file.
bool will_have_folder(const std::string& file, const std::string& out) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::absolute(file, ignored).lexically_normal().parent_path();
  const std::string made = std::filesystem::absolute(out, ignored).lexically_normal().string() + "/";
  return !out.empty() && !std::filesystem::exists(folder, ignored) && made.starts_with(folder.string() + "/");
}

// Checks that result files can be written, replace no input, and are different: two results in one file would
// overwrite each other.
void check_result_files(const RunOptions& options, config::Diagnostics& diagnostics) {
  const std::pair<const char*, const std::string&> files[] = {{"--trace", options.trace},
                                                              {"--record", options.record},
                                                              {"--pcap", options.pcap},
                                                              {"--calls", options.calls},
                                                              {"--series", options.series},
                                                              {"--flows", options.flows},
                                                              {"--links", options.links},
                                                              {"--explain-latency", options.explain_latency},
                                                              {"--junit", options.junit}};
  for (const auto& [name, file] : files) {
    const std::string refusal = file.empty() || will_have_folder(file, options.out) ? "" : output_refusal(file);
    if (!refusal.empty()) {
      diagnostics.add(name, "", refusal, "");
      continue;
    }
    for (const auto& [other, same] : files) {
      if (other == name) break;
      std::error_code ignored;
      const bool is_same = file == same || std::filesystem::equivalent(file, same, ignored);
      if (file.empty() || !is_same || file == "-" || (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored)))
        continue;
      diagnostics.add(name, "", config::in_quotes(file) + " is already the file of " + other, "name another");
    }
  }
}

// Hint that a program beside the scenario is found only if "cwd" is set.
std::string hint_for_folder(const config::ProgramSpec& program, const std::string& file) {
  const std::string& named = program.command.front();
  if (!program.working_directory.empty() || named.starts_with('/') || named.find('/') == std::string::npos) return "";
  if (!is_program(std::filesystem::absolute(config::beside(file, named)))) return "";
  return "it lies beside the scenario: add \"cwd\": \".\" to start it in the scenario's folder";
}

std::string below(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : path.empty() ? folder : folder + "/" + path;
}

// Files of the machine that programs see beside a root of files: the folders that they work in, and what their
// commands, variables and files name.
std::vector<std::string> shown_beside_root(const config::ScenarioSpec& scenario, const std::string& folder) {
  supervisor::MachineFiles& machine = supervisor::real_files();
  std::vector<std::string> shown;
  const auto show = [&](const std::string& path) {
    const std::string real = machine.real_path(path);
    const bool is_new = real != "/" && std::ranges::find(shown, real) == shown.end();
    if (is_new && machine.access(real, F_OK) == 0) shown.push_back(real);
  };
  for (const config::ProgramSpec& program : scenario.programs) {
    const std::string works_in = below(folder, program.working_directory);
    show(works_in);
    const std::string& command = program.command.empty() ? "" : program.command.front();
    if (command.find('/') != std::string::npos && !command.starts_with("/usr/") && !command.starts_with("/bin/"))
      show(below(works_in, command.substr(0, command.rfind('/'))));
    for (const auto& [path, source] : program.files) show(below(folder, source));
    for (const auto& [name, value] : program.environment) {
      if (name != "HOME" && name != "TMPDIR" && value.starts_with('/') && value.find(':') == std::string::npos) show(value);
    }
  }
  return shown;
}

void open_root(RunPlan& plan, const RunOptions& options, config::Diagnostics& diagnostics) {
  std::string failure;
  plan.root = RootBundle::open(plan.scenario.root, supervisor::real_files(),
                               shown_beside_root(plan.scenario, first_folder()), &failure);
  if (plan.root == nullptr)
    return diagnostics.add(plan.scenario.file, "/root", failure, "make one with `verbatim pack --root FOLDER -o FILE`");
  plan.machine_files = &plan.root->files();
  if (options.recorder != nullptr) options.recorder->record(plan.root->files());
}

// Checks every program before the first one is started. `folder`: where relative paths begin, if the plan has
// files in place of the machine's.
void find_programs(RunPlan& plan, const std::string& folder, config::Diagnostics& diagnostics) {
  const auto is_wrong = [&](const std::string& pointer) {
    return std::ranges::any_of(diagnostics.findings(), [&](const config::Finding& finding) {
      return finding.file == plan.scenario.file && finding.pointer == pointer;
    });
  };
  for (const config::ProgramSpec& program : plan.scenario.programs) {
    if (program.command.empty() || is_wrong(program.pointer + "/cwd")) continue;  // already a finding
    supervisor::ProgramSpec spec;
    spec.host = program.host_index;
    spec.arguments = program.command;
    spec.environment = program.environment;
    spec.working_directory = program.working_directory;
    supervisor::MachineFiles* const files = plan.machine_files;
    const auto native_of = [&](const std::string& path) {
      return files == nullptr ? path : files->content(files->real_path(below(folder, path)));
    };
    if (files != nullptr) spec.working_directory = files->real_path(below(folder, program.working_directory));
    for (const auto& [path, source] : program.files) {
      const std::string native = native_of(source);
      std::ifstream file(native, std::ios::binary);
      supervisor::GivenFile& given = spec.files[path];
      given.content.assign(std::istreambuf_iterator<char>(file), {});
      given.executable = ::access(native.c_str(), X_OK) == 0;
    }
    spec.start = instant_from_ps(program.start.count());
    spec.background = program.background;
    if (program.kill.count() != 0) spec.kill = instant_from_ps(program.kill.count());
    std::string resolved;
    const std::string reason = supervisor::Supervisor::reject_reason(spec, shim_directory(), &resolved, files);
    if (!reason.empty()) {
      const bool from_file = !plan.scenario.file.empty();
      diagnostics.add(from_file ? plan.scenario.file : "command line",
                      from_file ? program.pointer + "/command" : "",
                      "on host " + program.host + ": " + reason, from_file ? hint_for_folder(program, plan.scenario.file) : "");
    }
    protect_input(resolved);
    plan.programs.push_back(std::move(spec));
  }
}

// Findings in files embedded in another file name that one first, because the original files may have
// changed.
config::Diagnostics findings_in_keeper(const config::Diagnostics& findings, const config::LoadOptions& options) {
  if (options.files == nullptr || options.files->keeper.empty()) return findings;
  config::Diagnostics named;
  for (config::Finding finding : findings.findings()) {
    finding.file = options.files->keeper + ": " + finding.file;
    named.add(std::move(finding));
  }
  return named;
}

}  // namespace

void set_arguments(RunPlan& plan, const config::ArgumentValues& values) {
  config::set_arguments(plan.scenario, values);
  for (std::size_t i = 0; i < plan.programs.size(); ++i) plan.programs[i].arguments = plan.scenario.programs[i].command;
}

std::vector<std::string> words_of(const config::ArgumentValues& values) {
  std::vector<std::string> words;
  for (const auto& [name, value] : values) words.push_back(name + "=" + std::to_string(value));
  return words;
}

std::optional<DebuggerSpec> find_debugged(const config::ScenarioSpec& scenario, const RunOptions& options,
                                          config::Diagnostics& diagnostics) {
  if (options.gdb.empty()) {
    if (!options.gdb_at.empty()) diagnostics.add("--gdb-at", "", "needs --gdb, which names the program");
    if (!options.gdb_commands.empty()) diagnostics.add("--gdb-commands", "", "needs --gdb, which names the program");
    return std::nullopt;
  }
  DebuggerSpec spec;
  spec.commands = options.gdb_commands;
  if (!spec.commands.empty() && ::access(spec.commands.c_str(), R_OK) != 0) {
    diagnostics.add("--gdb-commands", "", config::in_quotes(spec.commands) + " cannot be read: " + std::strerror(errno), "");
  }
  if (const auto from = parse_limit("--gdb-at", options.gdb_at, diagnostics)) spec.from = instant_from_ps(from->count());
  const std::size_t colon = options.gdb.rfind(':');
  const std::string host = options.gdb.substr(0, colon);
  std::size_t number = 1, on_host = 0;
  if (colon != std::string::npos) {
    const char* const end = options.gdb.data() + options.gdb.size();
    const auto parsed = std::from_chars(options.gdb.data() + colon + 1, end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) number = 0;
  }
  for (std::size_t i = 0; i < scenario.programs.size(); ++i) {
    if (scenario.programs[i].host != host || ++on_host != number) continue;
    spec.program = i;
    return spec;
  }
  diagnostics.add("--gdb", "", config::in_quotes(options.gdb) + " is not a program of this run",
                  "name a host, or HOST:N for its N-th program");
  return std::nullopt;
}

std::optional<Duration> parse_limit(const char* option, const std::string& text, config::Diagnostics& diagnostics) {
  if (text.empty()) return std::nullopt;
  std::string problem, hint;
  const auto limit = config::parse_quantity(text, config::Dimension::kDuration, &problem, &hint);
  if (limit && *limit > 0) return Duration(*limit);
  // Limits are of the order of seconds.
  if (problem == "has no unit") hint = "write it with a unit, such as \"" + text + " s\"";
  diagnostics.add(option, "", config::in_quotes(text) + " " + (limit ? "is not above zero" : problem),
                  hint.empty() ? "write it like \"10 s\"" : hint);
  return std::nullopt;
}

std::optional<Duration> parse_series_step(const RunOptions& options, config::Diagnostics& diagnostics) {
  if (!options.series_step.empty() && options.series.empty()) diagnostics.add("--series-step", "", "needs --series, which names the file");
  return options.series_step == "change" ? Duration(0) : parse_limit("--series-step", options.series_step, diagnostics);
}

std::optional<RunPlan> make_plan(const RunOptions& options, const config::LoadOptions& asked_load_options) {
  config::LoadOptions load_options = asked_load_options;
  if (options.bundle != nullptr) {
    *load_options.files = options.bundle->run().files;
    load_options.profile_folders = options.bundle->run().profile_folders;
  }
  if (options.arguments.empty()) {
    complain("nothing to run; write `verbatim " + load_options.verb + " SCENARIO.json`, or `verbatim " + load_options.verb +
             " --topology TOPOLOGY.json HOST=COMMAND …`");
    return std::nullopt;
  }
  RunPlan plan;
  plan.bundle = options.bundle;
  if (options.bundle != nullptr) plan.machine_files = &options.bundle->files();
  config::Diagnostics diagnostics;
  load(options, load_options, plan.scenario, diagnostics);
  if (!plan.scenario.root.empty() && options.bundle == nullptr) open_root(plan, options, diagnostics);
  if (options.recorder != nullptr) plan.machine_files = options.recorder;
  find_programs(plan, options.bundle != nullptr ? options.bundle->run().working_directory : first_folder(), diagnostics);
  if (const auto wall = parse_limit("--wall-limit", options.wall_limit, diagnostics)) plan.wall_limit = *wall;
  if (const auto wall = parse_limit("--stuck-after", options.stuck_after, diagnostics))
    plan.stuck_after = *wall;
  if (const auto step = parse_series_step(options, diagnostics)) plan.series_step = *step;
  plan.watch = parse_watch(options, plan.scenario.topology, diagnostics);
  if (config::quirks_of(plan.scenario.freedom) != 0) config::set_quirks(plan.scenario);
  plan.seeds = parse_seeds(options, diagnostics);
  plan.debugger = find_debugged(plan.scenario, options, diagnostics);
  protect_inputs(plan, options, load_options);
  check_result_files(options, diagnostics);
  if (!diagnostics.empty()) {
    print(findings_in_keeper(diagnostics, load_options));
    return std::nullopt;
  }
  for (const config::Finding& warning : diagnostics.warnings()) plan.warnings.push_back(config::to_string(warning));
  plan.shim_directory = shim_directory();
  if (plan.shim_directory.empty()) {
    complain(
        fmt::format("{} are not all where this installation should have them; build or install all of it",
                    fmt::join(kShimParts, ", ")));
    return std::nullopt;
  }
  if (plan.debugger) plan.debugger->libraries = plan.shim_directory;
  return plan;
}

namespace {

// Writes the choices beside the other results, so that the run can be replayed, shrunk and compared.
int run_and_keep_choices(const RunPlan& plan, const RunOptions& options, const config::FileTexts& files, Answer& answer) {
  RunReport report;
  report.wants_decisions = report.wants_first_cause = true;
  const int code = run_once(plan, options, &report, &answer);
  if (report.outcome.empty()) return code;
  const std::string failure = write_replay(options.out + "/run.replay", replay_of(plan, options, files, report));
  if (failure.empty()) return code;
  complain(failure);
  return code == kAsExpected ? static_cast<int>(kProgramFailed) : code;
}

}  // namespace

bool warn_of_topology(const RunPlan& plan, const RunOptions& options) {
  if (options.record_fd >= 0) return true;
  config::Diagnostics diagnostics;
  config::warn_of_device_limits(plan.scenario.topology, diagnostics);
  if (diagnostics.empty()) config::warn_of_reroutes(plan.scenario, diagnostics);
  std::vector<std::string> warnings = plan.warnings;
  for (const config::Finding& warning : diagnostics.warnings()) warnings.push_back(config::to_string(warning));
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  const bool has_ranges = !plan.scenario.arguments.empty();
  for (const std::string& name : has_ranges ? std::vector<std::string>() : config::names_in_commands(plan.scenario)) {
    spdlog::warn("{{{}}} in a command is text, since nothing gives its range; for a number write {}", name,
                 plan.scenario.file.empty() ? "--range " + name + "=LEAST..MOST" : "\"ranges\": {\"" + name + "\": \"LEAST..MOST\"}");
  }
  if (diagnostics.empty()) return true;
  print(diagnostics);
  return false;
}

int run(RunOptions options) {
  if (!take_bundle(options)) return kUsage;
  config::FileTexts files;
  auto plan = make_plan(options, {profile_folders(), &files});
  if (!plan) return kUsage;
  if (options.bundle != nullptr && options.bundle->has_decisions() && !plan->seeds) take_decisions(options.bundle->run(), *plan);
  if (!warn_of_topology(*plan, options)) return kUsage;
  Answer answer("run", options.style);
  if (plan->seeds) return answer.end(run_seeds(*plan, options, files, answer));
  if (config::is_free(plan->scenario.freedom) && !options.out.empty() && !options.verify && !plan->debugger)
    return answer.end(run_and_keep_choices(*plan, options, files, answer));
  return answer.end(options.verify ? run_verify(*plan, options, &answer) : run_once(*plan, options, nullptr, &answer));
}

}  // namespace verbatim::cli
