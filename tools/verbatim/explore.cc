// `verbatim explore`: checks the options and searches (Exploration).
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "sim/config/freedom.h"
#include "sim/explore/strategy.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/bundle_run.h"
#include "tools/verbatim/campaign/campaign.h"
#include "tools/verbatim/exploration.h"
#include "tools/verbatim/fail_pattern.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/shares/share.h"

namespace verbatim::cli {

namespace {

// As parse_limit(), also in hours and minutes: "8h", "30 min", "30m".
std::optional<Duration> parse_wall_time(const char* option, const std::string& text, config::Diagnostics& diagnostics) {
  std::smatch parts;
  static const std::regex kLong("([0-9]{1,5}) ?(h|min|m)");
  if (!std::regex_match(text, parts, kLong)) return parse_limit(option, text, diagnostics);
  const int seconds = std::stoi(parts[1]) * (parts[2] == "h" ? 3600 : 60);
  return parse_limit(option, std::to_string(seconds) + " s", diagnostics);
}

}  // namespace

int explore(ExploreOptions options) {
  if (!take_bundle(options.run)) return kUsage;
  config::Diagnostics diagnostics;
  const auto time = parse_wall_time("--time", options.time, diagnostics);
  const auto shrink_time = parse_limit("--shrink-time", options.shrink_time, diagnostics);
  const auto until = parse_wall_time("--until", options.until, diagnostics);
  const bool is_in_units = is_divided(options.split) || options.split.task || until;
  if (const std::string why = is_in_units ? why_not_divisible(options.strategy) : ""; !why.empty()) diagnostics.add("--strategy", "", why);
  if (is_divided(options.split) && options.runs == 0)
    diagnostics.add(options.split.slurm.empty() ? "--shares" : "--slurm", "", "needs --runs, the number of schedules of all shares");
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
      complain(options.focus + " has no decisions: it fails without any, so there are no similar schedules to try");
      return kUsage;
    }
  }
  if (!options.junit.empty() && !options.split.task && !can_write(options.junit)) return kUsage;
  const std::uint64_t seed = options.run.seed ? static_cast<std::uint64_t>(*options.run.seed) : 1;
  const std::unique_ptr<explore::Strategy> strategy = explore::make_strategy(options.strategy, seed, focus, &failure);
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
  if (is_in_units) {
    const auto of_clock = [](const std::optional<Duration>& time) {
      return std::chrono::duration_cast<Exploration::Clock::duration>(time.value_or(Duration(0)));
    };
    ExploreOptions own = options;
    std::error_code error;
    own.out = std::filesystem::absolute(options.out, error).lexically_normal().string();  // paths in index.html are absolute
    const UnitSearch search{options.strategy, seed, focus, options.runs};
    const CampaignPlan campaign{*plan, own, files, search, of_clock(shrink_time), of_clock(until)};
    if (is_divided(options.split)) return answer.end(split_exploration(campaign, answer));
    if (!options.split.task) return answer.end(run_campaign(campaign, answer));
    const bool is_share = options.split.task->role == SplitTask::Role::kShare;
    return answer.end(is_share ? run_share_of_exploration(campaign, answer) : collect_exploration(campaign, answer));
  }
  return answer.end(Exploration(*plan, options, files, *strategy, std::chrono::duration_cast<Exploration::Clock::duration>(*time),
                                std::chrono::duration_cast<Exploration::Clock::duration>(*shrink_time), answer)
                        .run());
}

}  // namespace verbatim::cli
