// `verbatim explain`: explains a status, an event or an error, or why a run failed.
#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/arguments.h"
#include "sim/config/words.h"
#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/qp_state.h"
#include "sim/ib/wc_status.h"
#include "sim/observe/drop_names.h"
#include "sim/observe/failure_causes.h"
#include "sim/observe/failure_facts.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/meanings.h"
#include "tools/verbatim/recorded_run.h"

namespace verbatim::cli {

namespace {

constexpr std::size_t kLineWidth = 100;  // columns of a wrapped line

// Wraps the text to kLineWidth characters; the first line begins with `first`, the others with as many blanks.
std::string wrapped(const std::string& first, const std::string& text) {
  std::string all, line = first;
  bool is_empty = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!is_empty && line.size() + 1 + word.size() > kLineWidth) {
      all += line + "\n";
      line.assign(first.size(), ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + word;
    is_empty = false;
    begin = end + 1;
  }
  return all + line + "\n";
}

std::string text_of(const Meaning& meaning) {
  std::string text = std::string(meaning.name) + "\n" + wrapped("  ", std::string(meaning.meaning));
  int number = 0;
  for (const std::string_view cause : meaning.causes) {
    if (!cause.empty()) text += wrapped("  " + std::to_string(++number) + ". ", std::string(cause));
  }
  return text;
}

Answer::Json json_of(const Meaning& meaning) {
  auto causes = Answer::Json::array();
  for (const std::string_view cause : meaning.causes) {
    if (!cause.empty()) causes.push_back(cause);
  }
  return {{"name", meaning.name}, {"meaning", meaning.meaning}, {"causes", std::move(causes)}};
}

// The attributes that each state change needs, from the model's own table.
std::string text_of_changes() {
  using enum ib::QpState;
  struct Change {
    ib::QpState from, to;
  };
  constexpr Change kChanges[] = {{kReset, kInit}, {kInit, kRtr}, {kRtr, kRts}, {kRts, kRts}, {kRts, kSqd}, {kSqd, kRts}};
  constexpr std::pair<ib::QpType, const char*> kTypes[] = {
      {ib::QpType::kRc, "RC"}, {ib::QpType::kUc, "UC"}, {ib::QpType::kUd, "UD"}};
  std::string text = "\nBits that attr_mask needs besides IBV_QP_STATE (a change to RESET or ERR needs no others):\n";
  for (const auto& [type, type_name] : kTypes) {
    for (const Change& change : kChanges) {
      const ib::QpTransition row = ib::qp_transition(change.from, change.to, type);
      if (!row.valid) continue;
      const std::string title =
          std::string("  ") + type_name + " " + ib::name_of(change.from) + " to " + ib::name_of(change.to) + ": ";
      text += wrapped(title, ib::names_of_attributes(row.required) +
                                 (row.optional != 0 ? "; may also have " + ib::names_of_attributes(row.optional) : ""));
    }
  }
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::vector<Meaning> all_meanings() {
  std::vector<Meaning> all;
  for (const auto part : {completion_meanings(), async_meanings(), cm_meanings(), error_meanings(), check_meanings(),
                          congestion_meanings(), latency_meanings()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Reasons of packet-dropped records: by number as in a trace, "reason=25", or by name as in run.json, "after-nak".
std::optional<Meaning> drop_meaning(const std::string& text) {
  struct Row {
    std::string name;
    std::string_view meaning;
  };
  static const std::vector<std::pair<std::uint64_t, Row>> rows = [] {
    std::vector<std::pair<std::uint64_t, Row>> all;
    const auto add = [&](ib::DropReason reason) {
      const auto number = static_cast<std::uint64_t>(reason);
      all.push_back({number, {join("reason=", number, ", ", observe::drop_name(number)), ib::text_of(reason)}});
    };
#define VERBATIM_ADD_REASON(id, number, text) add(ib::DropReason::id);
    VERBATIM_DROP_REASONS(VERBATIM_ADD_REASON)
#undef VERBATIM_ADD_REASON
    return all;
  }();
  for (const auto& [number, row] : rows) {
    if (text == join("reason=", number) || text == join("reason ", number) || text == observe::drop_name(number))
      return Meaning{row.name, row.meaning, {"The trace has it as packet-dropped, run.json counts it for each port under ports."}};
  }
  return std::nullopt;
}

bool is_error(const std::string& word) {
  return word.size() > 1 && (word[0] == 'E' || word[0] == 'e') && word.find('_') == word.npos;
}

// The name of an errno given by number; other words are returned unchanged.
std::string error_name(const std::string& word) {
  const bool is_number = !word.empty() && word.find_first_not_of("0123456789", word[0] == '-' ? 1 : 0) == word.npos;
  if (!is_number) return word;
  const char* const name = strerrorname_np(std::abs(std::atoi(word.c_str())));
  return name != nullptr ? name : word;
}

// Meanings of the words; several for a verb without an error.
std::vector<Meaning> find_meanings(const std::vector<std::string>& words) {
  std::vector<Meaning> found;
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  const std::vector<Meaning> all = all_meanings();
  const auto add_named = [&](const std::string& name) {
    for (const Meaning& meaning : all) {
      if (upper(std::string(meaning.name)) == upper(name)) found.push_back(meaning);
    }
  };
  add_named(text);
  if (found.empty()) {
    if (const auto drop = drop_meaning(text)) found.push_back(*drop);
  }
  for (const char* prefix : {"IBV_WC_", "IBV_EVENT_", "RDMA_CM_EVENT_"}) {
    if (found.empty()) add_named(prefix + text);
  }
  // A status as ibv_wc_status_str() prints it, or its number.
  for (std::size_t i = 0; i < std::size(ib::kWcStatusNames) && found.empty(); ++i) {
    const bool is_same_text = upper(std::string(ib::kWcStatusNames[i].text)) == upper(text);
    if (is_same_text || text == std::to_string(i) || text == "status " + std::to_string(i))
      found.push_back(completion_meanings()[i]);
  }
  // A part of a latency: without its stage, as "rate limit"; a stage's "clock edge"; "lost on a dead link: timeout".
  const std::size_t colon = text.rfind(": ");
  for (const Meaning& meaning : latency_meanings()) {
    if (found.empty() && upper(std::string(meaning.name)).ends_with(": " + upper(text))) found.push_back(meaning);
  }
  if (found.empty() && colon != text.npos) {
    for (const Meaning& meaning : latency_meanings()) {
      if (meaning.name == text.substr(colon + 2) || (text.starts_with("lost") && meaning.name == "lost")) found.push_back(meaning);
    }
  }
  if (!found.empty()) return found;
  // An error and a verb, in any order, by name or number.
  if (words.size() == 2) {
    add_named(error_name(words[0]) + " " + words[1]);
    if (found.empty()) add_named(error_name(words[1]) + " " + words[0]);
    for (const std::string& word : words) {
      if (found.empty() && is_error(error_name(word))) add_named(error_name(word));
    }
    // The event, if its status has no text of its own.
    if (found.empty()) add_named(words[0]);
  } else if (words.size() == 1) {
    for (const Meaning& meaning : all) {
      if (meaning.name.ends_with(" " + text)) found.push_back(meaning);
    }
  }
  return found;
}

// `number` is the failure's number; 0: a check's finding.
std::string text_of(const observe::Failure& failure, std::size_t number) {
  std::string text =
      wrapped(number != 0 ? std::to_string(number) + ". " : "- ", "at " + time_text(failure.time_ps) + ", " + failure.what);
  for (const observe::FailureCause& cause : failure.causes) {
    text += wrapped("   - ", cause.evidence);
    if (!cause.remedy.empty()) text += wrapped("     what to do: ", cause.remedy);
  }
  return text;
}

std::vector<observe::TraceLine> facts_of(const RecordedRun& run) {
  std::vector<observe::TraceLine> facts;
  for (const observe::TraceLine& line : run.lines) {
    if (observe::is_failure_fact(line)) facts.push_back(line);
  }
  if (!run.lines.empty() || !run.report.is_object()) return facts;
  const auto text = [](const nlohmann::json& entry, const char* name) {
    const auto found = entry.find(name);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const nlohmann::json& entry : run.report.value("diagnoses", nlohmann::json::array())) {
    if (entry.is_object()) facts.push_back({entry.value("time_ps", std::int64_t{0}), text(entry, "adapter"), "diagnosis", text(entry, "text"), ""});
  }
  for (const nlohmann::json& entry : run.report.value("checks", nlohmann::json::array())) {
    if (!entry.is_object()) continue;
    const std::string place = text(entry, "place");
    facts.push_back({entry.value("time_ps", std::int64_t{0}), text(entry, "host"), "check",
                     text(entry, "check") + ": " + text(entry, "text") + (place.empty() ? "" : " at " + place), ""});
  }
  std::ranges::stable_sort(facts, {}, &observe::TraceLine::time_ps);
  return facts;
}

// Failures from the trace; without a trace from run.json, or else from its diagnoses.
std::vector<observe::Failure> failures_in(const RecordedRun& run) {
  if (run.lines.empty() && run.report.is_object() && run.report.contains("failures")) return failures_from(run.report["failures"]);
  return observe::failures_of(facts_of(run));
}

void report_cause(const nlohmann::json& report, Answer& answer) {
  const auto cause = report.is_object() ? report.find("cause") : report.end();
  if (cause == report.end() || !cause->is_object()) return;
  answer.document()["cause"] = *cause;
  const auto text = [&](const char* name) {
    const auto found = cause->find(name);
    return found != cause->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const bool is_certain = cause->value("certain", nlohmann::json()) == true;
  answer.print("%s", wrapped(is_certain ? "cause: " : "possible cause: ", text("text")).c_str());
  if (const std::string remedy = text("what_to_do"); !remedy.empty()) answer.print("%s", wrapped("what to do: ", remedy).c_str());
}

// Prints the arguments that are smaller than in a plain run, as "messages 1000 -> 3"; returns all of them as
// the run has them.
nlohmann::json report_arguments(const nlohmann::json& report, Answer& answer) {
  const auto arguments = report.find("arguments");
  if (arguments == report.end() || !arguments->is_object()) return nlohmann::json::object();
  for (const auto& [name, argument] : arguments->items()) {
    if (!argument.is_object() || !argument.value("value", nlohmann::json()).is_number_integer()) continue;
    const auto range = config::parse_argument_range(argument.value("range", ""));
    const auto value = argument["value"].get<std::int64_t>();
    if (range && range->most != value)
      answer.print("%s %s -> %s\n", name.c_str(), std::to_string(range->most).c_str(), std::to_string(value).c_str());
  }
  return *arguments;
}

std::optional<std::int64_t> number_in(const nlohmann::json& program, const char* name) {
  const auto found = program.find(name);
  return found != program.end() && found->is_number_integer() ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

// "ended with exit code 1"; "" if the program ended with exit code 0.
std::string end_of_program(const nlohmann::json& program) {
  std::string how = "has not ended";
  if (const auto code = number_in(program, "exit_code")) {
    if (*code == 0) return "";
    how = "ended with exit code " + std::to_string(*code);
  } else if (const auto signal = number_in(program, "signal")) {
    how = "was ended by signal " + std::to_string(*signal);
    if (*signal > 0 && *signal < NSIG) how += " (" + config::signal_name(static_cast<int>(*signal)) + ")";
  }
  return how;
}

// Prints the programs that ended with another code than 0. Returns the host of the first that failed by itself; a background
// program is ended by SIGTERM or SIGKILL.
std::string report_programs(const nlohmann::json& report, Answer& answer) {
  auto& programs = answer.document()["programs"] = Answer::Json::array();
  std::string failed_by_itself;
  for (const nlohmann::json& program : report.value("programs", nlohmann::json::array())) {
    if (!program.is_object()) continue;
    const std::string how = end_of_program(program);
    if (how.empty()) continue;
    const auto text = program.find("host");
    const std::string host = text != program.end() && text->is_string() ? text->get<std::string>() : "?";
    std::vector<std::string> words;
    for (const nlohmann::json& word : program.value("argv", nlohmann::json::array())) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
    programs.push_back({{"host", host}, {"text", how}});
    const std::string command = words.empty() ? "" : ", `" + config::join_words(words) + "`";
    const auto ended = number_in(program, "ended_ps");
    const std::string when = ended && *ended >= 0 ? " at " + time_text(*ended) : "";
    answer.print("program of %s%s: %s%s\n", host.c_str(), command.c_str(), how.c_str(), when.c_str());
    const bool is_ours = program.value("signal", nlohmann::json()) == SIGTERM || program.value("signal", nlohmann::json()) == SIGKILL;
    if (failed_by_itself.empty() && !is_ours && !how.starts_with("has not ended")) failed_by_itself = host;
  }
  return failed_by_itself;
}

// Prints the lines `losses:` and `congestion:` of the run.
void report_network(const nlohmann::json& report, Answer& answer) {
  for (const char* const name : {"losses", "congestion"}) {
    const auto found = report.is_object() ? report.find(name) : report.end();
    if (found == report.end() || !found->is_object()) continue;
    const auto text = found->find("text");
    if (text == found->end() || !text->is_string() || text->get_ref<const std::string&>().empty()) continue;
    answer.print("%s", wrapped("", text->get<std::string>()).c_str());
    answer.document()[name] = *text;
  }
}

int explain_run(const std::string& path, Answer& answer) {
  std::string failure;
  const auto run = read_run(path, &failure);
  if (!run) {
    complain(failure);
    return kUsage;
  }
  bool has_failed = false;
  std::string failed_by_itself;  // host of the first program that did
  if (run->report.is_object()) {
    const std::string outcome = run->report.value("outcome", "");
    answer.print("outcome: %s\n", outcome.c_str());
    answer.document()["outcome"] = outcome;
    answer.document()["findings"] = run->report.value("findings", nlohmann::json::array());
    answer.document()["arguments"] = report_arguments(run->report, answer);
    failed_by_itself = report_programs(run->report, answer);
    for (const nlohmann::json& finding : run->report.value("findings", nlohmann::json::array())) {
      if (finding.is_string()) answer.print("%s", wrapped("- ", finding.get<std::string>()).c_str());
      has_failed = true;
    }
  }
  report_cause(run->report, answer);
  report_network(run->report, answer);
  const std::vector<observe::Failure> failures = failures_in(*run);
  std::vector<std::string> subjects;
  std::size_t number = 0;
  for (const bool is_finding : {false, true}) {
    bool is_first = true;
    for (const observe::Failure& failure : failures) {
      if (failure.is_finding != is_finding) continue;
      if (std::exchange(is_first, false) && is_finding) answer.print("mistakes that checks have found, whether or not they did any harm:\n");
      answer.print("%s", text_of(failure, is_finding ? 0 : ++number).c_str());
      if (std::ranges::find(subjects, failure.subject) == subjects.end()) subjects.push_back(failure.subject);
    }
  }
  answer.document()["failures"] = to_json(failures);
  if (failures.empty() && !failed_by_itself.empty()) {
    answer.print("%s", wrapped("", "no verb and no work request has failed in this run, so the reason is in the program itself: its output says more "
                                   "(`verbatim report`, or run --out), and `verbatim run --gdb " + failed_by_itself + "` starts it in gdb").c_str());
  } else if (failures.empty() && !has_failed) {
    answer.print("no verb and no work request has failed in this run\n");
  }
  for (const std::string& subject : subjects) answer.print("more: verbatim explain %s\n", subject.c_str());
  if (!run->folder.empty() && run->lines.empty())
    answer.print("this folder has no trace; run with --keep-trace for places in the program and more causes\n");
  return kAsExpected;
}

}  // namespace

int explain(const ExplainOptions& options) {
  Answer answer("explain", options.style);
  if (options.list) {
    auto names = Answer::Json::array();
    for (const Meaning& meaning : all_meanings()) {
      answer.print("%s\n", std::string(meaning.name).c_str());
      names.push_back(meaning.name);
    }
    answer.document()["names"] = std::move(names);
    return answer.end(kAsExpected);
  }
  if (options.words.empty()) {
    complain("nothing to explain; try `verbatim explain IBV_WC_RETRY_EXC_ERR`, `verbatim explain EINVAL ibv_modify_qp`, or `verbatim explain FOLDER` with the folder of a run");
    return kUsage;
  }
  const std::vector<Meaning> meanings = find_meanings(options.words);
  std::error_code ignored;
  if (options.words.size() == 1 && (meanings.empty() || options.words[0].find('/') != std::string::npos) &&
      std::filesystem::exists(options.words[0], ignored))
    return answer.end(explain_run(options.words[0], answer));
  if (meanings.empty()) {
    std::vector<std::string> names;
    for (const Meaning& meaning : all_meanings()) names.emplace_back(meaning.name);
    std::string near = config::nearest(options.words[0], names);
    // Names that contain the words.
    constexpr std::size_t kShortest = 3;
    for (const std::string& name : names) {
      if (options.words[0].size() < kShortest || !near.empty()) break;
      if (upper(name).find(upper(options.words[0])) != name.npos) near = name;
    }
    std::string text;
    for (const std::string& word : options.words) text += (text.empty() ? "" : " ") + word;
    complain(config::in_quotes(text) + " is neither a file nor a name that explain knows; " +
             (near.empty() ? "`verbatim explain --list` lists them" : "did you mean " + near + "?"));
    return kUsage;
  }
  bool is_change = false;
  auto shown = Answer::Json::array();
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    if (i > 0) answer.print("\n");
    answer.print("%s", text_of(meanings[i]).c_str());
    shown.push_back(json_of(meanings[i]));
    is_change = is_change || meanings[i].name.ends_with("EINVAL ibv_modify_qp");
  }
  answer.document()["meanings"] = std::move(shown);
  if (is_change) answer.print("%s", text_of_changes().c_str());
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
