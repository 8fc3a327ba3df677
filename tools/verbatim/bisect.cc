// `verbatim bisect GOOD BAD`: finds the decision that makes the difference between two runs of one plan.
#include <algorithm>
#include <cstdio>

#include "sim/core/time_text.h"
#include "sim/explore/site_texts.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/decision_json.h"
#include "tools/verbatim/schedule_runs.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/shrink.h"

namespace verbatim::cli {

namespace {

bool is_same_question(const explore::Decision& a, const explore::Decision& b) {
  return a.site == b.site && a.actor == b.actor && a.occurrence == b.occurrence;
}

// Both runs use the decisions of their files and the seed of the bad one.
std::vector<std::string> without_seed(std::vector<std::string> words) {
  const auto seed = std::ranges::find(words, "--seed");
  if (seed != words.end()) words.erase(seed, std::min(seed + 2, words.end()));
  return words;
}

std::string sentence_of_decision(const explore::Decision& decision) {
  std::string text = decision.actor + ", " + decision.site + " number " + explore::number_of(decision) + ", at " +
                     time_text(decision.time_ps) + ", choice " + std::to_string(decision.answer) + " of " +
                     std::to_string(decision.alternatives);
  if (const explore::SiteText* site = explore::text_of(decision.site)) text += ": " + std::string(site->effect);
  return text;
}

}  // namespace

int bisect(const std::string& good_path, const std::string& bad_path, AnswerStyle style) {
  std::string failure;
  const auto good = read_replay(good_path, &failure);
  auto bad = good ? read_replay(bad_path, &failure) : std::nullopt;
  if (!bad) {
    complain(failure);
    return kUsage;
  }
  if (without_seed(good->words) != without_seed(bad->words)) {
    complain(good_path + " and " + bad_path + " belong to different runs; bisect compares two schedules of the same run");
    return kUsage;
  }
  if (bad->signature.empty()) {
    complain(bad_path + " is a run that does not fail; name the failing one second");
    return kUsage;
  }
  auto prepared = plan_of(*bad);
  if (!prepared) return kUsage;
  Answer answer("bisect", style);
  Progress progress(answer.is_for_people());
  ScheduleRuns runs(prepared->first, prepared->second);
  // Steps from the good run to the bad one: decisions of the good one only are removed, those of the bad one
  // are added.
  struct Step {
    explore::Decision decision;
    bool is_added;
  };
  std::vector<Step> steps;
  for (const explore::Decision& decision : good->decisions) {
    const auto kept = std::ranges::find_if(bad->decisions, [&](const auto& d) { return is_same_question(d, decision); });
    if (kept == bad->decisions.end()) steps.push_back({decision, false});
  }
  for (const explore::Decision& decision : bad->decisions) {
    const auto kept = std::ranges::find_if(good->decisions, [&](const auto& d) { return is_same_question(d, decision); });
    if (kept == good->decisions.end() || kept->answer != decision.answer) steps.push_back({decision, true});
  }
  const auto after = [&](std::size_t count) {
    std::vector<explore::Decision> decisions = good->decisions;
    for (std::size_t i = 0; i < count; ++i) {
      std::erase_if(decisions, [&](const auto& d) { return is_same_question(d, steps[i].decision); });
      if (steps[i].is_added) decisions.push_back(steps[i].decision);
    }
    return decisions;
  };
  const auto fails = [&](std::size_t count) -> std::optional<bool> {
    const std::vector<RunReport> reports = runs.run_all({schedule_of(after(count))});
    if (reports.empty() || !runs.machine_fault().empty()) return std::nullopt;
    return reports.front().signature() == bad->signature;
  };
  const auto cut_off = [&]() -> int {
    if (runs.machine_fault().empty()) {
      complain("interrupted");
      return kInterrupted;
    }
    complain(runs.machine_fault());
    return kMachineFault;
  };
  std::size_t passes = 0, fails_at = steps.size();  // numbers of steps
  runs.set_wait_callback(progress.wait_ms(), [&] {
    if (progress.is_due()) progress.show("bisect: " + std::to_string(fails_at - passes) + " decisions left");
  });
  const auto first = fails(0), last = fails(steps.size());
  if (!first || !last) return cut_off();
  if (*first || !*last) {
    complain(*first ? good_path + " fails like " + bad_path : bad_path + " no longer fails as recorded");
    return kUsage;
  }
  while (fails_at - passes > 1) {
    const std::size_t middle = passes + (fails_at - passes) / 2;
    const auto failed = fails(middle);
    if (!failed) return cut_off();
    (*failed ? fails_at : passes) = middle;
  }
  const Step& step = steps[passes];
  answer.print("%zu decisions differ between %s and %s; applied one after the other, number %zu makes the run fail: %s this decision\n  %s\n", steps.size(), good_path.c_str(),
             bad_path.c_str(), fails_at, step.is_added ? "with" : "without", sentence_of_decision(step.decision).c_str());
  answer.document() = {{"steps", steps.size()},
                       {"number", fails_at},
                       {"with", step.is_added},
                       {"decision", to_json({step.decision}).front()},
                       {"text", sentence_of_decision(step.decision)}};
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
