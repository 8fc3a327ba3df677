#include "tools/verbatim/failure_text.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/core/time_text.h"
#include "sim/explore/site_texts.h"
#include "sim/observe/ladder.h"
#include "sim/observe/trace_line.h"
#include "tools/verbatim/interrupted.h"
#include "tools/verbatim/places.h"

namespace verbatim::cli {

namespace {

using observe::TraceLine;
using Trace = std::vector<TraceLine>;

constexpr std::size_t kMostExplained = 8;  // decisions

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
};

// Whether the event is of interest to a reader if another overtakes it.
bool is_of_interest(const TraceLine& line) {
  static constexpr std::string_view kOfInterest[] = {"doorbell",     "completion", "completion-event", "dma-write",
                                                     "async-event",  "command",    "system-call",      "packet-received"};
  return std::ranges::find(kOfInterest, line.event) != std::end(kOfInterest) && !line.component.starts_with("port/");
}

Effect effect_of(const Trace& with, const Trace& without, const Places& places) {
  std::size_t first = 0;
  while (first < with.size() && first < without.size() && with[first] == without[first]) ++first;
  if (first == with.size() && first == without.size()) return {"without it the trace is the same", std::nullopt};
  if (first == without.size()) return {who_does(with[first], places) + " happens; without it, this does not happen", first};
  const TraceLine& normal = without[first];
  const auto same = [&](const TraceLine& line) { return line.is_same_fact(normal); };
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

std::string decision_text(const explore::Decision& decision, std::size_t number, const Effect* effect, const Places& places) {
  const auto end = places.end_of(decision);
  std::string text = "  " + std::to_string(number) + ". " + decision.actor + ", " + decision.site + " number " +
                     explore::number_of(decision) + (end ? ", until " : ", at ") +
                     time_text(end.value_or(decision.time_ps));
  if (const std::string place = places.of(decision); !place.empty()) text += ", at " + place;
  if (const explore::SiteText* site = explore::text_of(decision.site)) text += ": " + std::string(site->effect);
  text += "\n";
  if (effect != nullptr) text += "     " + effect->text + "\n";
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
  std::string text;
  for (const std::string& line : shrunk.report.cause) text += "  " + line + "\n";
  text += text_of_arguments(runs.plan(), shrunk);
  if (decisions.empty()) return text + "  it fails under every schedule, also with freedom friendly\n";
  text += "  " + std::to_string(found.decisions.size()) + (found.decisions.size() == 1 ? " decision differs" : " decisions differ") +
                     " from the default; " + std::to_string(decisions.size()) + (decisions.size() == 1 ? " is" : " are") +
                     " enough for the failure (found by " + std::to_string(shrunk.runs) + " runs" +
                     (!shrunk.ran_out_of_time     ? ""
                      : runs.is_interrupted() ? "; not minimal: then interrupted"
                                              : "; not minimal: then the time was up") + "):\n";
  // Traces of the failing run, and of one run without each decision.
  const TemporaryFolder folder(pattern_of_folder());
  const std::string prefix = folder.path() + "/";
  std::vector<std::optional<Trace>> traces;
  std::optional<Places> found_places;
  const std::size_t explained = std::min(decisions.size(), kMostExplained);
  if (!folder.path().empty() && !runs.is_interrupted()) {
    std::vector<explore::Schedule> schedules = {schedule_of(decisions)};
    schedules.front().wants_places = true;
    for (std::size_t i = 0; i < explained; ++i) {
      std::vector<explore::Decision> without = decisions;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      schedules.push_back(schedule_of(std::move(without)));
    }
    runs.set_deadline(shrunk.explain_until);
    std::vector<RunReport> reports = runs.run_all(schedules, prefix);
    runs.set_deadline(std::nullopt);
    if (!reports.empty()) found_places.emplace(std::move(reports.front().places));
    const auto is_over = [&] {
      return runs.is_interrupted() || (shrunk.explain_until && std::chrono::steady_clock::now() >= *shrunk.explain_until);
    };
    for (std::size_t i = 0; i < reports.size() && !is_over(); ++i) {
      InputFile file(prefix + std::to_string(i));
      traces.push_back(observe::read_trace(file));
    }
  }
  const Places places = found_places ? std::move(*found_places) : Places();
  std::vector<std::size_t> marked;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    std::optional<Effect> effect;
    const bool is_compared = i < explained && i + 1 < traces.size() && traces[0] && traces[i + 1];
    if (is_compared) effect = effect_of(*traces[0], *traces[i + 1], places);
    if (effect && effect->at) marked.push_back(*effect->at);
    text += decision_text(decisions[i], i + 1, effect ? &*effect : nullptr, places);
  }
  std::set<std::string_view> shown_rules;
  for (const explore::Decision& decision : decisions) {
    const explore::SiteText* site = explore::text_of(decision.site);
    if (site == nullptr || !shown_rules.insert(site->rule).second) continue;
    text += "  why it is allowed: " + std::string(site->rule) + "\n  why it is rarely seen: " + std::string(site->hidden) +
            "\n  what to do: " + std::string(site->remedy) + "\n";
  }
  std::ranges::sort(marked);
  if (!marked.empty()) text += indented(ladder_around(*traces[0], marked));
  return text;
}

}  // namespace verbatim::cli
