#include "tools/verbatim/failure_text.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/explore/site_texts.h"
#include "sim/observe/ladder.h"
#include "sim/observe/trace_line.h"
#include "tools/verbatim/advice/advice.h"
#include "tools/verbatim/interrupted.h"
#include "tools/verbatim/places.h"

namespace verbatim::cli {

namespace {

using observe::TraceLine;

constexpr std::size_t kMostExplained = 16;  // decisions
constexpr std::size_t kMostListed = 32;     // decisions, of which some may be without effect

// mkdtemp() pattern of a folder for temporary traces.
std::string pattern_of_folder() {
  const char* base = std::getenv("TMPDIR");
  return std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/verbatim-XXXXXX";
}

std::string who_does(const TraceLine& line, const Places& places) {
  const std::string place = places.of(line);
  return line.component + ": " + observe::in_words(line) + (place.empty() ? "" : " (" + place + ")");
}

// Effect of a decision: the first trace record that differs without it.
struct Effect {
  std::string text;
  std::optional<std::size_t> at;  // of the failing trace
  bool is_needed = true;          // without the decision the run does not fail in this way
};

// Whether the event is of interest to a reader if another overtakes it.
bool is_of_interest(const TraceLine& line) {
  static constexpr std::string_view kOfInterest[] = {"doorbell",     "completion", "completion-event", "dma-write",
                                                     "async-event",  "command",    "system-call",      "packet-received"};
  return std::ranges::find(kOfInterest, line.event) != std::end(kOfInterest) && !line.component.starts_with("port/");
}

Effect effect_of(const Evidence::Run& failing, const Evidence::Run& other, const Places& places) {
  const Trace &with = failing.trace, &without = other.trace;
  std::size_t first = 0;
  while (first < with.size() && first < without.size() && with[first] == without[first]) ++first;
  if (first == with.size() && first == without.size()) return {"without it the trace is the same", std::nullopt};
  if (first == without.size()) return {who_does(with[first], places) + " happens; without it, this does not happen", first};
  const TraceLine& normal = without[first];
  // A send and a receive of one queue pair may complete with the same wr_id.
  const auto is_of_receive = normal.event == "completion" ? Evidence::is_of_receive(other, normal) : std::nullopt;
  const auto same = [&](const TraceLine& line) {
    if (!line.is_same_fact(normal)) return false;
    const auto kind = is_of_receive ? Evidence::is_of_receive(failing, line) : std::nullopt;
    return !kind || *kind == *is_of_receive;
  };
  const auto later = std::find_if(with.begin() + static_cast<std::ptrdiff_t>(first), with.end(), same);
  if (later == with.end()) {
    return {who_does(normal, places) + " does not happen; without it, this happens at " + time_text(normal.time_ps),
            first < with.size() ? std::optional(first) : std::nullopt};
  }
  const auto at = static_cast<std::size_t>(later - with.begin());
  if (later->time_ps <= normal.time_ps) {
    const std::int64_t sooner = normal.time_ps - later->time_ps;
    return {who_does(normal, places) + (sooner == 0 ? " happens in another order, or with other bytes"
                                            : " happens " + time_text(sooner) + " earlier"),
            at};
  }
  std::string text = who_does(normal, places) + " happens " + time_text(later->time_ps - normal.time_ps) + " later, at " +
                     time_text(later->time_ps);
  std::vector<std::size_t> overtaken;
  for (std::size_t i = first; i < at; ++i) {
    if (is_of_interest(with[i]) && with[i].time_ps > normal.time_ps) overtaken.push_back(i);
  }
  constexpr std::size_t kMostShown = 3;
  if (overtaken.size() > kMostShown) overtaken.erase(overtaken.begin(), overtaken.end() - kMostShown);
  for (std::size_t i = 0; i < overtaken.size(); ++i)
    text += (i == 0 ? ", after " : ", ") + who_does(with[overtaken[i]], places);
  return {text, at};
}

// The call that a late thread makes when it continues; nullptr: unknown.
const ThreadCall* late_call(const explore::Decision& decision, const Places& places, const std::vector<ThreadCall>& calls) {
  if (decision.site.find("access") != std::string::npos) return nullptr;
  const auto end = places.end_of(decision);
  const std::uint32_t thread = places.thread_of(decision);
  if (!end || thread == 0) return nullptr;
  const auto call = std::ranges::find_if(calls, [&](const ThreadCall& one) { return one.tid == thread && one.end_ps >= *end; });
  return call == calls.end() || call->begin_ps > *end ? nullptr : &*call;
}

std::string decision_text(const explore::Decision& decision, std::size_t number, const Effect* effect, const Places& places,
                          const std::vector<ThreadCall>& calls) {
  const auto end = places.end_of(decision);
  std::string text = "  " + std::to_string(number) + ". " + decision.actor + ", " + decision.site + " number " +
                     explore::number_of(decision) + (end ? ", until " : ", at ") +
                     time_text(end.value_or(decision.time_ps));
  if (const std::string place = places.of(decision); !place.empty()) text += ", at " + place;
  if (const ThreadCall* const call = late_call(decision, places, calls)) text += ", in " + call->name + "(" + call->arguments + ")";
  if (const explore::SiteText* site = explore::text_of(decision.site)) text += ": " + std::string(site->effect);
  text += "\n";
  if (effect != nullptr)
    text += "     " + effect->text + (effect->is_needed ? "" : "; the run fails without it, too") + "\n";
  return text;
}

std::string indented(const std::string& text) {
  std::string out = "    ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += "    ";
  }
  return out;
}

// The trace with the steps of threads that a decision has held: where they are held, when they go on, and the calls that
// they and the other threads of their program make meanwhile. `marked` are indices of the trace, and become those of
// the result.
Trace with_steps(const Evidence& evidence, const std::vector<explore::Decision>& decisions, std::vector<std::size_t>& marked) {
  const Trace& trace = evidence.trace();
  const Places& places = evidence.places();
  const std::vector<ThreadCall>& calls = evidence.calls();
  constexpr std::int64_t kAround = 3'000'000;  // ps
  std::vector<TraceLine> steps;
  std::set<const TraceLine*> heads;
  std::vector<std::int64_t> held;  // times of the steps that get a mark
  std::set<std::size_t> shown;
  for (const explore::Decision& decision : decisions) {
    const auto end = places.end_of(decision);
    const std::uint32_t tid = places.thread_of(decision);
    const auto mine = std::ranges::find(calls, tid, &ThreadCall::tid);
    if (!end || tid == 0 || mine == calls.end()) continue;
    const std::int64_t from_ps = evidence.held_from(decision);
    const std::string component = "host/" + mine->host, thread = std::to_string(tid);
    steps.push_back({from_ps, component, "thread", thread + " is held at " + places.of(decision), ""});
    steps.push_back({*end, component, "thread", thread + " goes on", ""});
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const ThreadCall& call = calls[i];
      const bool is_near = call.begin_ps >= from_ps - kAround && call.begin_ps <= *end + kAround;
      const bool is_vain_poll = call.name == "ibv_poll_cq" && call.polled() == 0;
      if (call.pid != mine->pid || !is_near || is_vain_poll || !shown.insert(i).second) continue;
      steps.push_back({call.begin_ps, component, "thread", std::to_string(call.tid) + " calls " + evidence.text_of(call), ""});
    }
  }
  std::ranges::stable_sort(steps, {}, &TraceLine::time_ps);
  Trace all;
  std::vector<std::size_t> moved;
  auto step = steps.begin();
  const auto add_steps = [&](std::int64_t until_ps) {
    for (; step != steps.end() && step->time_ps <= until_ps; ++step) {
      const bool is_marked = step->values.find(" is held at ") != std::string::npos || step->values.ends_with(" goes on");
      if (is_marked) moved.push_back(all.size());
      all.push_back(std::move(*step));
    }
  };
  for (std::size_t i = 0; i < trace.size(); ++i) {
    add_steps(trace[i].time_ps - 1);
    if (std::ranges::count(marked, i) != 0) moved.push_back(all.size());
    all.push_back(trace[i]);
  }
  add_steps(std::numeric_limits<std::int64_t>::max());
  marked = std::move(moved);
  return all;
}

// The trace around the effects of the decisions, and its end.
std::string ladder_around(const Trace& trace, const std::vector<std::size_t>& marked) {
  constexpr std::int64_t kBefore = 3'000'000, kAfter = 3'000'000;  // ps
  std::string text;
  std::int64_t shown_until = -1;
  for (const std::size_t at : marked) {
    const std::int64_t time = trace[at].time_ps;
    if (time <= shown_until) continue;
    observe::LadderOptions options;
    options.from_ps = std::max(time - kBefore, shown_until + 1);
    options.to_ps = shown_until = time + kAfter;
    options.marked = marked;
    options.width = 126;
    text += observe::ladder_text(trace, options);
  }
  return text;
}

// "messages 1000 -> 3", one line for each argument.
std::string text_of_arguments(const RunPlan& plan, const Shrunk& shrunk) {
  std::string text;
  for (const auto& [name, argument] : plan.scenario.arguments) {
    const std::int64_t value = shrunk.arguments.at(name);
    if (value != argument.value)
      text += "  " + name + " " + std::to_string(argument.value) + " -> " + std::to_string(value) + "\n";
  }
  return text;
}

// The failing run with everything that is recorded of it, and what the rules say about it.
struct Explained {
  std::unique_ptr<Places> places = std::make_unique<Places>();  // at an address that evidence keeps
  std::optional<Evidence> evidence;  // nullopt: the failing run could not be repeated with its trace
  std::vector<std::optional<Effect>> effects;  // by decision; nullopt: unknown
  std::vector<Advice> advice;
  bool is_minimal = false;  // the failure needs each decision
};

std::optional<Trace> trace_in(const std::string& path) {
  InputFile file(path);
  return observe::read_trace(file);
}

// The calls of the failing run until its failure. Observing calls takes long if a program polls for long, so a late
// failure has none.
std::vector<ThreadCall> observed_calls(ScheduleRuns& runs, const explore::Schedule& schedule, const std::string& path,
                                       std::int64_t until_ps) {
  constexpr std::chrono::seconds kLongest{15};
  runs.set_deadline(std::chrono::steady_clock::now() + kLongest);
  const bool has_run = !runs.run_all({schedule}, {{.calls = path, .until_ps = until_ps}}).empty();
  runs.set_deadline(std::nullopt);
  if (!has_run) return {};
  std::string list;
  InputFile file(path);
  while (const auto line = file.line()) list += std::string(*line) + "\n";
  return thread_calls_of(list);
}

// Indices of the decisions without which the failing run is repeated, in ascending order: of many decisions the latest.
std::vector<std::size_t> compared_decisions(const std::vector<explore::Decision>& decisions) {
  std::vector<std::size_t> compared(decisions.size());
  std::iota(compared.begin(), compared.end(), std::size_t{0});
  if (compared.size() <= kMostExplained) return compared;
  std::ranges::stable_sort(compared, std::greater{}, [&](std::size_t i) { return decisions[i].time_ps; });
  compared.resize(kMostExplained);
  std::ranges::sort(compared);
  return compared;
}

Explained explain(ScheduleRuns& runs, const Shrunk& shrunk) {
  Explained explained;
  const auto& decisions = shrunk.decisions;
  const TemporaryFolder folder(pattern_of_folder());
  if (folder.path().empty() || runs.is_interrupted()) return explained;
  // The failing run, and one run without each decision.
  const std::vector<std::size_t> compared = compared_decisions(decisions);
  std::vector<explore::Schedule> schedules = {schedule_of(decisions)};
  schedules.front().wants_places = true;
  for (const std::size_t i : compared) {
    std::vector<explore::Decision> without = decisions;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    schedules.push_back(schedule_of(std::move(without)));
  }
  std::vector<RunFiles> files;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const std::string path = folder.path() + "/" + std::to_string(i);
    files.push_back({.trace = path + ".trace", .facts = path + ".facts"});
  }
  runs.set_deadline(shrunk.explain_until);
  std::vector<RunReport> reports = runs.run_all(schedules, files);
  runs.set_deadline(std::nullopt);
  const auto is_over = [&] {
    return runs.is_interrupted() || (shrunk.explain_until && std::chrono::steady_clock::now() >= *shrunk.explain_until);
  };
  std::vector<Evidence::Run> records;
  for (std::size_t i = 0; i < reports.size() && !is_over(); ++i) {
    auto trace = trace_in(files[i].trace);
    auto facts = trace_in(files[i].facts);
    const bool fails_alike = i > 0 && reports[i].signature() == shrunk.report.signature();
    records.push_back({trace ? std::move(*trace) : Trace(), facts ? std::move(*facts) : Trace(), fails_alike});
    std::ranges::stable_sort(records.back().facts, {}, &TraceLine::time_ps);
  }
  if (records.empty() || records.front().trace.empty()) return explained;
  *explained.places = Places(std::move(reports.front().places));
  explained.effects.resize(decisions.size());
  std::vector<Evidence::Run> without(decisions.size());
  for (std::size_t k = 0; k + 1 < records.size(); ++k) {
    Evidence::Run& run = records[k + 1];
    if (run.trace.empty()) continue;
    const std::size_t i = compared[k];
    explained.effects[i] = effect_of(records[0], run, *explained.places);
    explained.effects[i]->is_needed = !run.fails_alike;
    without[i] = std::move(run);
  }
  const RunReport::Program* const failed = shrunk.report.first_failed();
  const bool has_end = failed != nullptr && failed->ended_ps != std::numeric_limits<std::int64_t>::max();
  // The calls after the last record of a run that hangs are repeated polls and timeouts, and so are its management datagrams.
  constexpr std::int64_t kAfterLast = 1'000'000'000;  // ps
  std::int64_t until_ps = has_end ? failed->ended_ps : shrunk.report.virtual_end_ps;
  if (!has_end) {
    std::int64_t last_ps = 0;
    for (const TraceLine& line : records.front().trace) {
      const bool is_of_host = line.component.starts_with("hca/") || line.component.starts_with("host/");
      if (is_of_host && !line.event.starts_with("datagram-") && line.time_ps < until_ps) last_ps = line.time_ps;
    }
    until_ps = std::min(until_ps, last_ps + kAfterLast);
  }
  std::vector<ThreadCall> calls;
  if (!is_over()) calls = observed_calls(runs, schedule_of(decisions), folder.path() + "/calls", until_ps);
  explained.is_minimal = !shrunk.ran_out_of_time;
  explained.evidence.emplace(std::move(records.front()), std::move(without), decisions, std::move(calls),
                             *explained.places, shrunk.report, explained.is_minimal);
  explained.advice = advice_of(*explained.evidence);
  return explained;
}

// The last calls of the failed program's threads.
std::string last_calls_text(const Evidence& evidence) {
  constexpr std::size_t kMost = 6;
  std::vector<const ThreadCall*> last;
  for (auto call = evidence.calls().rbegin(); call != evidence.calls().rend() && last.size() < kMost; ++call) {
    static constexpr std::string_view kOfLibraries[] = {"newfstatat", "mmap", "munmap", "mprotect", "madvise", "brk", "futex", "rt_sigprocmask"};
    if (evidence.end().hangs() || !evidence.has_failed(call->pid)) continue;
    const bool is_of_library = std::ranges::find(kOfLibraries, call->name) != std::end(kOfLibraries);
    const auto is_vain_poll = [](const ThreadCall& one) { return one.name == "ibv_poll_cq" && one.polled() == 0; };
    const bool is_repeated = is_vain_poll(*call) && !last.empty() && is_vain_poll(*last.back());
    if (!is_of_library && !is_repeated) last.push_back(&*call);
  }
  if (last.empty()) return "";
  std::string text = "  the last calls of " + evidence.end().host + ":\n";
  for (auto call = last.rbegin(); call != last.rend(); ++call)
    text += "    " + time_text((*call)->begin_ps) + " thread " + std::to_string((*call)->tid) + " " + evidence.text_of(**call) + "\n";
  return text;
}

std::string advice_text(const std::vector<Advice>& all) {
  std::string text;
  for (const Advice& advice : all)
    text += std::string("  ") + (advice.is_proven ? "" : "possible ") + "cause: " + advice.cause + "\n  what to do: " + advice.remedy + "\n";
  return text;
}

// The cause: what a rule says, else the run's own cause, else what is known without one. Then the findings of checks.
std::string cause_text(const RunReport& report, const Explained& explained, bool has_decisions) {
  std::string text;
  // A circle of waits is what a decision has led to, so its remedy does not fit.
  const bool is_circle =
      has_decisions && !report.cause.empty() && report.cause.front().find("none of them sends first") != std::string::npos;
  // A failure of verbs is certain, a rule may be only possible.
  const bool is_certain = !report.cause.empty() && report.cause.front().starts_with("cause: ") && !is_circle;
  const bool uses_advice = !explained.advice.empty() && (explained.advice.front().is_proven || !is_certain);
  if (uses_advice) {
    text += advice_text(explained.advice);
  } else if (!report.cause.empty()) {
    for (const std::string& line : report.cause) {
      if (!is_circle || !line.starts_with("what to do: ")) text += "  " + line + "\n";
    }
    // The wait of the programs is certain, but another mistake may have led there.
    if (!explained.is_minimal && explained.evidence && explained.evidence->end().hangs()) text += advice_text(explained.advice);
  } else {
    text += "  cause: not known: no rule of verbatim fits the records of this failure\n";
    if (explained.evidence) text += last_calls_text(*explained.evidence);
  }
  const std::int64_t end_ps = explained.evidence ? explained.evidence->end().time_ps : std::numeric_limits<std::int64_t>::max();
  std::set<std::string> shown;
  constexpr std::size_t kMostFindings = 5;
  for (const RunReport::Finding& finding : report.findings) {
    const std::string line = finding.check + ": " + host_in(finding.component) + ": " + finding.text + (finding.place.empty() ? "" : ", at " + finding.place);
    const bool is_said = text.find(finding.text) != std::string::npos;
    if (is_said || finding.time_ps > end_ps || shown.size() == kMostFindings) continue;
    if (!shown.insert(finding.check + finding.place).second) continue;
    text += "  also found at " + time_text(finding.time_ps) + ", by the check " + line + "\n";
  }
  return text;
}

std::string decisions_text(const std::vector<explore::Decision>& decisions, const Explained& explained) {
  std::string text;
  std::vector<std::size_t> marked;
  const std::vector<ThreadCall> none;
  const std::vector<ThreadCall>& calls = explained.evidence ? explained.evidence->calls() : none;
  // If there are many decisions, only those with known effects are shown.
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Effect* const effect = i < explained.effects.size() && explained.effects[i] ? &*explained.effects[i] : nullptr;
    if (effect != nullptr && effect->at) marked.push_back(*effect->at);
    if (decisions.size() > kMostListed && (effect == nullptr || shown.size() == kMostExplained)) continue;
    text += decision_text(decisions[i], i + 1, effect, *explained.places, calls);
    shown.push_back(i);
  }
  if (shown.size() < decisions.size()) {
    const std::string more = std::to_string(decisions.size() - shown.size());
    text += shown.empty() ? "  they are in the replay file\n" : "  and " + more + " more, in the replay file\n";
  }
  std::set<std::string_view> shown_rules, remedies;
  for (const std::size_t i : shown) {
    const explore::SiteText* site = explore::text_of(decisions[i].site);
    if (site == nullptr) continue;
    if (!site->remedy.empty()) remedies.insert(site->remedy);
    if (!shown_rules.insert(site->rule).second) continue;
    text += "  why it is allowed: " + std::string(site->rule) + "\n  why it is rarely seen: " + std::string(site->hidden) + "\n";
  }
  // One of many decisions may only be in the way of another one.
  if (explained.advice.empty() && explained.is_minimal) {
    for (const std::string_view remedy : remedies) text += "  what to do: " + std::string(remedy) + "\n";
  }
  if (!explained.evidence) return text;
  std::ranges::sort(marked);
  const Trace trace = with_steps(*explained.evidence, decisions, marked);
  if (!marked.empty()) text += indented(ladder_around(trace, marked));
  return text;
}

}  // namespace

std::string failure_text(ScheduleRuns& runs, const Shrunk& shrunk, const RunReport& found) {
  const auto& decisions = shrunk.decisions;
  if (!runs.machine_fault().empty()) {
    return "  " + std::to_string(found.decisions.size()) + " decisions are not the default; their effect is unknown, since " +
           runs.machine_fault() + "\n";
  }
  if (!shrunk.is_reproducible && shrunk.ran_out_of_time) {
    return "  " + std::to_string(found.decisions.size()) +
           " decisions are not the default; not minimal: " +
           (runs.is_interrupted() ? "interrupted" : "the time was up") + " before a run with them had ended\n";
  }
  if (!shrunk.is_reproducible) {
    return "  its " + std::to_string(found.decisions.size()) +
           " decisions did not reproduce it: the run was weak (it depends on this machine), or this is a bug of verbatim\n";
  }
  const Explained explained = explain(runs, shrunk);
  std::string text = cause_text(shrunk.report, explained, !decisions.empty()) + text_of_arguments(runs.plan(), shrunk);
  if (decisions.empty()) return text + "  it fails without any decision, also with freedom friendly\n";
  text += "  " + std::to_string(found.decisions.size()) + (found.decisions.size() == 1 ? " decision differs" : " decisions differ") +
                     " from the default; " + std::to_string(decisions.size()) + (decisions.size() == 1 ? " is" : " are") +
                     " enough for the failure (" + std::to_string(shrunk.runs) + (shrunk.runs == 1 ? " run" : " runs") + " made it small" +
                     (!shrunk.ran_out_of_time     ? ""
                      : runs.is_interrupted() ? "; not minimal: then interrupted"
                                              : "; not minimal: then the time was up") + "):\n";
  return text + decisions_text(decisions, explained);
}

}  // namespace verbatim::cli
