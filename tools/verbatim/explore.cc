// `verbatim explore`: checks the options and searches (Exploration).
#include <chrono>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "sim/config/freedom.h"
#include "sim/explore/strategy.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/bundle_run.h"
#include "tools/verbatim/exploration.h"
#include "tools/verbatim/fail_pattern.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output.h"
#include "tools/verbatim/replay_file.h"

namespace verbatim::cli {

int explore(ExploreOptions options) {
  if (!take_bundle(options.run)) return kUsage;
  config::Diagnostics diagnostics;
  const auto time = parse_limit("--time", options.time, diagnostics);
  const auto shrink_time = parse_limit("--shrink-time", options.shrink_time, diagnostics);
  if (!diagnostics.empty()) {
    print(diagnostics);
    return kUsage;
  }
  try {
    fail_pattern(options.fail_on);
  } catch (const std::regex_error& e) {
    complain("--fail-on: " + config::in_quotes(options.fail_on) + " is not a regular expression: " + e.what());
    return kUsage;
  }
  std::string failure;
  std::vector<explore::Decision> focus;
  if (!options.focus.empty()) {
    const auto file = read_replay(options.focus, &failure);
    if (!file) {
      complain(failure);
      return kUsage;
    }
    focus = file->decisions;
    if (focus.empty()) {
      complain(options.focus + " has no decisions: it fails under every schedule, so there are no similar schedules to try");
      return kUsage;
    }
  }
  const std::unique_ptr<explore::Strategy> strategy = explore::make_strategy(
      options.strategy, options.run.seed ? static_cast<std::uint64_t>(*options.run.seed) : 1, focus, &failure);
  if (strategy == nullptr) {
    complain("--strategy: " + failure);
    return kUsage;
  }
  config::FileTexts files;
  std::optional<RunPlan> plan = make_plan(options.run, {profile_folders(), &files, "explore"});
  if (!plan) return kUsage;
  plan->fail_on = options.fail_on;
  if (!config::is_free(plan->scenario.freedom)) plan->scenario.freedom = "spec";
  Answer answer("explore", options.run.style);
  return answer.end(Exploration(*plan, options, files, *strategy, std::chrono::duration_cast<Exploration::Clock::duration>(*time),
                                std::chrono::duration_cast<Exploration::Clock::duration>(*shrink_time), answer)
                        .run());
}

}  // namespace verbatim::cli
