// `verbatim shell`: shells on simulated hosts, at the caller's terminal or with keys from a file; and the
// replay of a session.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "tools/verbatim/answer.h"
#include "tools/verbatim/bundle_run.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_report.h"
#include "tools/verbatim/shell/person.h"
#include "tools/verbatim/shell/session_file.h"
#include "tools/verbatim/shell/session_users.h"

namespace verbatim::cli {

namespace {

// Starts in a folder of the host's own, whose files vanish with the session, so that it can be repeated. `cd
// -` changes to the caller's folder.
constexpr char kShell[] = "sh -c 'cd; export OLDPWD; exec bash --noprofile --norc -i'";

// A file name that does not exist yet in the folder, or in the current one.
std::string free_name(const std::string& folder) {
  const std::string start = folder.empty() ? "" : folder + "/";
  struct stat status;
  for (int i = 1;; ++i) {
    std::string name = start + (i == 1 ? "session.rec" : "session-" + std::to_string(i) + ".rec");
    if (::lstat(name.c_str(), &status) != 0) return name;
  }
}

std::string first_host(const std::string& topology, const config::LoadOptions& load_options) {
  config::Diagnostics diagnostics;
  const auto loaded = config::load_topology(topology, load_options, diagnostics);
  if (loaded && !loaded->hosts.empty()) return loaded->hosts.front().name;
  print(diagnostics);
  return "";
}

std::string all_of_input() {
  std::string keys;
  char bytes[65536];
  for (std::size_t n; (n = std::fread(bytes, 1, sizeof bytes, stdin)) > 0;) keys.append(bytes, n);
  return keys;
}

void seat(RunPlan& plan, const Session& session) {
  for (std::size_t i = 0; i < plan.programs.size(); ++i) {
    for (const auto& [name, value] : session.environment) plan.programs[i].environment[name] = value;
    plan.programs[i].on_terminal = supervisor::ProgramSpec::OnTerminal{i, session.rows, session.columns};
    plan.scenario.programs[i].environment = plan.programs[i].environment;
  }
}

// Greeting of a shell: explains the session, how to leave, and how to switch terminals.
std::string greeting(const std::vector<std::string>& hosts) {
  std::string text = "verbatim: a shell on the simulated host " + hosts.front() + ". Virtual time passes only while something runs.\n" +
                     "exit or Ctrl-D: leave.";
  if (hosts.size() > 1) {
    text += " Ctrl-]: next terminal, of";
    for (std::size_t i = 0; i < hosts.size(); ++i) text += (i == 0 ? " " : ", ") + hosts[i];
    text += ".";
  }
  return text + " `verbatim attach HOST` at another real terminal: one more shell.\n";
}

std::string working_folder() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

Session::End end_of(const RunReport& report) {
  return {report.virtual_end_ps, report.outcome, {report.digest}, contents_of(report.code_files)};
}

// The host of each terminal, attached terminals last.
std::vector<std::string> hosts_of_terminals(const Session& session, const RunPlan& plan) {
  std::vector<std::string> hosts;
  for (const config::ProgramSpec& program : plan.scenario.programs) hosts.push_back(program.host);
  for (const Session::Event& event : session.events) {
    if (event.shows || event.input.kind != supervisor::TerminalInput::Kind::kOpen) continue;
    hosts.push_back(event.input.host < plan.scenario.topology.hosts.size() ? plan.scenario.topology.hosts[event.input.host].name : "?");
  }
  return hosts;
}

// nullopt, after an error message, if there is no such terminal.
std::optional<SessionView> view_of(const ReplayOptions& asked, const std::vector<std::string>& hosts) {
  if (asked.terminal.empty()) return SessionView{};
  if (asked.terminal == "all") return SessionView{SessionView::Kind::kAll, 0};
  std::size_t number = 0;
  const char* const end = asked.terminal.data() + asked.terminal.size();
  const auto parsed = std::from_chars(asked.terminal.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number >= 1 && number <= hosts.size())
    return SessionView{SessionView::Kind::kOne, number - 1};
  std::string all;
  for (std::size_t i = 0; i < hosts.size(); ++i) all += (i == 0 ? "" : ", ") + std::to_string(i + 1) + " (" + hosts[i] + ")";
  complain("--terminal: the session has no terminal " + config::in_quotes(asked.terminal) + "; it has " + all);
  return std::nullopt;
}

}  // namespace

int shell(ShellOptions asked) {
  RunOptions& options = asked.run;
  Session session;
  session.replay.profile_folders = profile_folders();
  const config::LoadOptions load_options{session.replay.profile_folders, &session.replay.files, "shell"};
  if (!options.gdb.empty()) {
    complain("--gdb needs the terminal that the shell uses; record the session, then use `verbatim replay --gdb`");
    return kUsage;
  }
  if (asked.hosts.empty()) asked.hosts.push_back(first_host(options.topology, load_options));
  if (asked.hosts.front().empty()) return kUsage;
  for (const std::string& host : asked.hosts) options.arguments.push_back(host + "=" + kShell);
  options.stagger = "0 ms";
  auto plan = make_plan(options, load_options);
  if (!plan) return kUsage;

  const bool at_terminal = ::isatty(0) != 0 && ::isatty(1) != 0;
  const char* const kind = std::getenv("TERM");
  // The session file is the only record of the input.
  session.environment = {{"HISTFILE", ""}, {"PS1", "\\h:\\w\\$ "}, {"TERM", at_terminal && kind != nullptr ? kind : "dumb"}};
  session.repaints = at_terminal;
  const bool has_status = at_terminal && StatusLine::fits(kind, RawTerminal::size().rows);
  if (at_terminal) {
    session.rows = static_cast<std::uint16_t>(RawTerminal::size().rows - (has_status ? 1 : 0));
    session.columns = RawTerminal::size().columns;
  }
  session.replay.words = words_of(options);
  session.replay.working_directory = working_folder();
  const char* const path = std::getenv("PATH");
  session.replay.search_path = path != nullptr ? path : "";
  seat(*plan, session);

  if (!options.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
  }
  const std::string file = asked.session.empty() ? free_name(options.out) : asked.session;
  SessionWriter writer;
  if (const std::string failure = writer.open(file, session); !failure.empty()) {
    complain(failure + "; nothing was started");
    return kUsage;
  }
  RunReport report;
  int code;
  {
    std::unique_ptr<SessionUser> user;
    const std::size_t terminals = plan->programs.size();
    if (at_terminal) {
      std::vector<std::string> hosts;
      const config::TopologySpec& topology = plan->scenario.topology;
      for (std::size_t i = 0; i < topology.hosts.size(); ++i)
        hosts.push_back(topology.runs_programs(i) ? topology.hosts[i].name : std::string());
      std::vector<std::size_t> own;
      for (const supervisor::ProgramSpec& program : plan->programs) own.push_back(program.host);
      std::fputs(greeting(asked.hosts).c_str(), stdout);
      flush_standard_output();
      auto person = std::make_unique<Person>(!asked.fast, &writer, std::move(hosts), std::move(own), has_status);
      if (const std::string failure = person->listen(file); !failure.empty()) {
        complain(failure + "; nothing was started");
        return kUsage;
      }
      user = std::move(person);
    } else {
      user = std::make_unique<KeysFromFile>(all_of_input(), terminals, &writer);
    }
    plan->terminal_user = user.get();
    code = run_once(*plan, options, &report);
  }
  if (!report.outcome.empty()) writer.write(end_of(report));
  if (const std::string failure = writer.close(); !failure.empty()) {
    complain(failure);
    return code == kAsExpected ? static_cast<int>(kProgramFailed) : code;
  }
  if (options.style.is_for_people()) std::fprintf(stderr, "verbatim: the session is recorded in %s; `verbatim replay %s` shows it again\n", file.c_str(), file.c_str());
  return code;
}

namespace {

// Types the session's keys again. `recorder`: of what the programs look at, or nullptr; `bundle`: with the
// session's files, or nullptr.
int repeat_session(Session session, const ReplayOptions& asked, supervisor::RecordedFiles* recorder,
                   const std::shared_ptr<BundleRun>& bundle) {
  if (session.end && bundle == nullptr) session.replay.contents = session.end->contents;
  const std::vector<std::string> changes = changes_since(session.replay);
  for (const std::string& change : changes) complain((asked.relaxed ? "warning: " : "") + change);
  if (!changes.empty() && !asked.relaxed) {
    complain("the session cannot be repeated exactly; --relaxed types its keys into the programs as they are now");
    return kUsage;
  }
  auto prepared = bundle != nullptr ? plan_of(bundle) : plan_of(session.replay, recorder);
  if (!prepared) return kUsage;
  auto& [plan, options] = *prepared;
  plan.schedule.reset();
  plan.scenario.freedom = options.freedom.empty() ? "friendly" : options.freedom;
  seat(plan, session);
  for (supervisor::ProgramSpec& program : plan.programs) {
    if (plan.machine_files == nullptr || program.working_directory.starts_with('/')) continue;
    const std::string& folder = session.replay.working_directory;
    program.working_directory =
        plan.machine_files->real_path(program.working_directory.empty() ? folder : folder + "/" + program.working_directory);
  }
  if (!show_as(asked.show, plan, options)) return kUsage;
  plan.scenario.expect.outcome = session.end ? session.end->outcome : "interrupted";
  Answer answer("replay", options.style);
  const std::vector<std::string> hosts = hosts_of_terminals(session, plan);
  auto view = view_of(asked, hosts);
  if (!view) return kUsage;
  if (options.style.json) view->kind = SessionView::Kind::kNone;
  RecordedKeys user(session, plan.programs.size(), *view);
  plan.terminal_user = &user;
  RunReport report;
  const int code = run_once(plan, options, &report, &answer);
  if (report.outcome.empty()) return code;
  const bool has_same_digest = session.end && session.end->digest.is_same_as(report.digest);
  answer.document()["same_digest"] = has_same_digest;
  auto& terminals = answer.document()["terminals"] = Answer::Json::array();
  for (std::size_t i = 0; i < hosts.size(); ++i)
    terminals.push_back({{"host", hosts[i]}, {"text", i < user.texts().size() ? user.texts()[i] : ""}});
  const std::size_t attached = hosts.size() - plan.programs.size();
  if (asked.terminal.empty() && options.style.is_for_people() && attached != 0)
    std::fprintf(stderr, "verbatim: %zu more terminal%s attached; --terminal %zu shows the first of them\n", attached,
                 attached == 1 ? " was" : "s were", plan.programs.size() + 1);
  if (!session.end) {
    complain("warning: the recording of the session has no end, so this replay cannot be compared with it");
  } else if (!asked.show.time_limit.empty()) {
    return answer.end(code);
  } else if (!session.end->digest.is_comparable()) {
    complain("warning: the recording of the session: " + session.end->digest.why_not());
  } else if (session.end->outcome != "interrupted" && !has_same_digest && changes.empty()) {
    complain("the digest is " + report.digest + ", and it was " + session.end->digest.hex +
             ": the session did not repeat. Either its result depended on this machine, or this is a bug of verbatim");
    return answer.end(code == kAsExpected ? static_cast<int>(kProgramFailed) : code);
  }
  return answer.end(code);
}

}  // namespace

int replay_session(const ReplayOptions& asked, const std::shared_ptr<BundleRun>& bundle) {
  std::string failure;
  std::optional<Session> session;
  if (bundle == nullptr) {
    session = read_session(asked.file, &failure);
  } else if (const auto text = bundle->file().document(kSessionOfBundle, &failure)) {
    session = parse_session(*text, asked.file, &failure);
  }
  if (session) return repeat_session(*session, asked, nullptr, bundle);
  complain(failure);
  return kUsage;
}

int pack_session(const std::string& file, const AnswerStyle& style, supervisor::RecordedFiles& recorder, ReplayFile* run) {
  std::string failure;
  const auto session = read_session(file, &failure);
  if (!session) {
    complain(failure);
    return kUsage;
  }
  ReplayOptions asked;
  asked.file = file;
  asked.show.style = style;
  *run = session->replay;
  run->contents.clear();
  return repeat_session(*session, asked, &recorder, nullptr);
}

}  // namespace verbatim::cli
