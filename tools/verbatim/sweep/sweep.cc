// `verbatim sweep`: runs a scenario with every combination of values, each in a process of its own. All
// points are checked first. Results are listed in the order of the points, whatever the number of parallel
// runs.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "sim/config/file_kind.h"
#include "sim/config/words.h"
#include "sim/core/words.h"
#include "sim/observe/digest_sink.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/shares/share.h"
#include "tools/verbatim/sweep/axes.h"
#include "tools/verbatim/sweep/sweep_results.h"
#include "tools/verbatim/text_table.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using config::Json;

// Digest of all inputs of a result except the version of verbatim: 32 digits.
std::string inputs_of(const config::FileTexts& files, const RunPlan& plan) {
  std::vector<std::pair<std::string, std::string>> parts;
  const auto name_of = [](const std::string& path) { return fs::path(path).filename().string(); };
  for (const auto& [path, text] : files.texts) parts.emplace_back(name_of(path), text);
  std::vector<std::string> paths;
  for (const config::ProgramSpec& program : plan.scenario.programs) {
    std::error_code ignored;
    for (const std::string& word : program.command)
      if (word.find('/') != word.npos && fs::is_regular_file(word, ignored)) paths.push_back(word);
    for (const auto& [path, source] : program.files) paths.push_back(source);
  }
  for (const ReplayFile::Content& content : contents_of(std::move(paths)))
    parts.emplace_back(name_of(content.path), content.digest);
  std::ranges::sort(parts);
  observe::DigestSink digest;
  TraceRecord place{};
  for (const auto& [name, text] : parts) {
    ++place.number;
    digest.on_record(place, std::as_bytes(std::span(name)));
    digest.on_record(place, std::as_bytes(std::span(text)));
  }
  return digest.hex();
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, std::vector<SweepAxis> axes, Answer& answer)
      : options_(options), axes_(std::move(axes)), points_(points_of(axes_)), answer_(answer), pool_(options.jobs, -1) {}

  int run(Json scenario) {
    scenario_ = std::move(scenario);
    if (const int code = check(points_in_order()); code != kAsExpected) return code;
    if (is_divided(options_.split)) return divide();
    if (!keep_done_points()) return kUsage;
    run_points();
    return finish();
  }

  // Runs the points of units, as a UnitRunner. A point's result is in its folder, as that of an undivided sweep.
  int run_units(Json scenario, const NextUnit& next, const TakeUnit& take, std::string& stopped) {
    scenario_ = std::move(scenario);
    std::vector<std::size_t> points;
    while (const auto unit = next()) points.push_back(static_cast<std::size_t>(*unit));
    stopped = "some points cannot be run";
    if (const int code = check(points); code != kAsExpected) return code;
    if (!keep_done_points()) return kUsage;
    for (const std::size_t point : points) {
      if (results_[point] && !take(static_cast<std::int64_t>(point), {{"exit_code", results_[point]->exit_code}})) return kAsExpected;
    }
    take_unit_ = take;
    run_points();
    for (const std::size_t point : points) {
      if (!results_[point] || is_final(results_[point]->exit_code)) continue;
      stopped = join(label(point), ": exit code ", results_[point]->exit_code, ": ", results_[point]->finding);
      return results_[point]->exit_code;
    }
    if (pool_.is_interrupted()) stopped = "interrupted";
    return pool_.is_interrupted() ? static_cast<int>(kInterrupted) : worst_;
  }

  // Reports the results of points that have run, as run() does.
  int merge_units(Json scenario) {
    scenario_ = std::move(scenario);
    if (const int code = check(points_in_order()); code != kAsExpected) return code;
    return keep_done_points() ? finish() : static_cast<int>(kUsage);
  }

 private:
  std::string label(std::size_t i) const { return join("point ", i + 1, " (", text_of(axes_, points_[i]), ")"); }

  std::string folder_of(std::size_t i) const {
    const std::string number = std::to_string(i + 1);
    return options_.out + "/points/" + std::string(3 - std::min<std::size_t>(3, number.size()), '0') + number;
  }

  std::vector<std::size_t> points_in_order() const {
    std::vector<std::size_t> all(points_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
  // A machine fault or a bug of ours is no result of the point: it runs again next time.
  static bool is_final(int code) { return code != kInternalError && code != kMachineFault && code != kUsage; }

  // Returns kAsExpected if these points can be run, else the exit code, after a message.
  int check(const std::vector<std::size_t>& points) {
    if (!read_topologies() || !check_points(points)) return worst_ == kAsExpected ? static_cast<int>(kUsage) : worst_;
    if (!pool_.is_interrupted()) return kAsExpected;
    complain("interrupted before the first run");
    return kInterrupted;
  }

  int divide() {
    config::FileTexts files;
    std::vector<std::string> paths = {options_.scenario};
    for (std::size_t i = 0; i < points_.size(); ++i) {
      Json scenario = scenario_;
      set_values(scenario, i, false, nullptr);
      if (const std::string path = topology_of(scenario); !path.empty()) paths.push_back(path);
    }
    const auto units = static_cast<std::int64_t>(points_.size());
    return make_split(split_of(options_.out, options_.split.words, units, shares_of(options_.split, units),
                               inputs_of_files(files, std::move(paths))),
                      options_.split, answer_);
  }

  // Reads the topologies of all points. Returns false, after an error message, if one cannot be read or a
  // path of --vary does not exist.
  bool read_topologies() {
    config::Diagnostics diagnostics;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      Json scenario = scenario_;
      set_values(scenario, i, false, &diagnostics);
      const std::string path = topology_of(scenario);
      if (path.empty()) continue;
      protect_input(path);
      if (!varies_topology_ || topologies_.contains(path)) continue;
      std::optional<Json>& topology = topologies_[path];
      topology = config::read_json(path, diagnostics);
      for (std::size_t axis = 0; topology && axis < axes_.size(); ++axis) {
        if (!axes_[axis].is_of_topology) continue;
        Json changed = *topology;
        for (std::size_t value = 0; value < axes_[axis].values.size(); ++value)
          set(changed, axes_[axis], value, &diagnostics);
      }
    }
    if (!diagnostics.empty()) print(diagnostics);
    return diagnostics.empty();
  }

  // Path of the scenario's topology; empty if it names none.
  std::string topology_of(const Json& scenario) const {
    if (!scenario.contains("topology") || !scenario["topology"].is_string()) return "";
    return config::beside(options_.scenario, scenario["topology"].get<std::string>());
  }

  // Files that differ from those on the disk.
  config::FileTexts files_of(std::size_t point) const {
    const auto text_of_file = [](const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); };
    config::FileTexts files;
    files.keeper = label(point);
    Json scenario = scenario_;
    set_values(scenario, point, false, nullptr);
    if (const auto found = topologies_.find(topology_of(scenario)); found != topologies_.end() && found->second) {
      Json topology = *found->second;
      set_values(topology, point, true, nullptr);
      files.texts[found->first] = text_of_file(topology);
    }
    files.texts[options_.scenario] = text_of_file(scenario);
    return files;
  }

  void set_values(Json& document, std::size_t point, bool is_of_topology, config::Diagnostics* diagnostics) const {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (axes_[i].is_of_topology == is_of_topology) set(document, axes_[i], points_[point][i], diagnostics);
    }
  }
  // Reports each finding once.
  static void set(Json& document, const SweepAxis& axis, std::size_t value, config::Diagnostics* diagnostics) {
    const std::string problem = set_value(document, axis, value);
    if (problem.empty() || diagnostics == nullptr) return;
    const config::Finding finding{"--vary", "", config::in_quotes(axis.name) + " leads nowhere: " + problem, ""};
    if (std::ranges::find(diagnostics->findings(), finding) == diagnostics->findings().end()) diagnostics->add(finding);
  }

  // Called in the point's own process.
  std::optional<RunPlan> plan_of(std::size_t point, const RunOptions& options, config::FileTexts& files) const {
    files = files_of(point);
    auto plan = make_plan(options, {profile_folders(), &files, "sweep"});
    return plan && warn_of_topology(*plan, options) ? std::move(plan) : std::nullopt;
  }
  RunOptions run_options() const {
    RunOptions options;
    options.arguments = {options_.scenario};
    options.style = {.quiet = true};
    return options;
  }

  int check_point(std::size_t point) const {
    config::FileTexts files;
    const auto plan = plan_of(point, run_options(), files);
    if (!plan) return kUsage;
    std::printf("%s\n", inputs_of(files, *plan).c_str());
    return kAsExpected;
  }
  int run_point(std::size_t point, int core) const {
    RunOptions options = run_options();
    options.out = folder_of(point);
    options.core = core;
    config::FileTexts files;
    auto plan = plan_of(point, options, files);
    if (!plan) return kUsage;
    plan->views_working_folders = true;
    return run_once(*plan, options);
  }

  // Runs `body` for each of these points, as many in parallel as allowed. `take` gets each result and returns
  // whether to continue.
  template <class Body, class Take>
  void for_points(const std::vector<std::size_t>& points, const char* what, const Body& body, const Take& take) {
    std::size_t next = 0, done = 0;
    bool more = true;
    Progress progress(answer_.is_for_people());
    while ((more && next < points.size() && !pool_.is_interrupted()) || !pool_.is_idle()) {
      for (; more && next < points.size() && pool_.has_room(); ++next) {
        const std::size_t point = points[next];
        const bool is_started = pool_.start(static_cast<std::int64_t>(point), [&](int core, int output) {
          return start_child(ChildOutput::kFile, output, [&] { return body(point, core); });
        });
        if (is_started) continue;
        complain(label(point) + " could not be started");
        worst_ = kMachineFault;
        more = false;
      }
      for (const WorkerPool::Ended& ended : pool_.await(progress.wait_ms())) {
        ++done;
        more = take(static_cast<std::size_t>(ended.number), ended) && more;
        ::close(ended.output);
      }
      if (!progress.is_due()) continue;
      progress.show(join(what, " ", done, " of ", points.size(), " points",
                         failed_ == 0 ? "" : join(", ", failed_, " failed"),
                         progress.left(static_cast<double>(done) / static_cast<double>(points.size()))));
    }
  }

  // Returns false, after error messages about the first of them, if some points cannot be run.
  bool check_points(const std::vector<std::size_t>& points) {
    constexpr std::size_t kMostPrinted = 5;
    std::map<std::size_t, std::string> wrong;
    inputs_.resize(points_.size());
    for_points(
        points, "checked", [this](std::size_t point, int) { return check_point(point); },
        [&](std::size_t point, const WorkerPool::Ended& ended) {
          const std::string text = content_of(ended.output);
          if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == kAsExpected) {
            inputs_[point] = text.substr(0, text.find('\n'));
          } else if (!pool_.is_interrupted()) {
            wrong[point] = WIFEXITED(ended.status) ? text : label(point) + ": " + silence_of(ended.status).sentence + "\n";
          }
          return true;
        });
    clear_progress();
    std::size_t printed = 0;
    for (const auto& [point, text] : wrong) {
      if (++printed > kMostPrinted) break;
      std::fputs(text.c_str(), stderr);
    }
    if (wrong.size() > kMostPrinted) complain(join(wrong.size() - kMostPrinted, " more points cannot be run"));
    if (!wrong.empty()) complain(join("no point was run, since ", wrong.size(), " of ", points.size(), " cannot be"));
    return wrong.empty() && worst_ == kAsExpected;
  }

  // Uses existing results. Returns false, after an error message, if some belong to other inputs.
  bool keep_done_points() {
    results_.resize(points_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (inputs_[i].empty()) continue;  // not checked: a point of another share
      const std::string path = folder_of(i) + "/" + kPointFile;
      std::error_code ignored;
      if (!fs::exists(path, ignored)) continue;
      config::Diagnostics diagnostics;
      const auto kept = config::read_json(path, diagnostics);
      const std::string difference =
          kept ? difference_of(*kept, i) : "cannot be read: " + diagnostics.findings().front().text;
      if (!difference.empty()) {
        complain(folder_of(i) + " " + difference +
                 "; name another folder with --out, or remove this one to run its point again");
        return false;
      }
      results_[i] =
          PointResult{i + 1, points_[i], kept->value("exit_code", 0), kept->value("finding", std::string()), std::nullopt};
      ++kept_;
    }
    return true;
  }

  // Half a sentence; empty if this sweep would produce the same result.
  std::string difference_of(const Json& kept, std::size_t point) const {
    const auto text = [&](const char* key) {
      return kept.is_object() && kept.contains(key) && kept[key].is_string() ? kept[key].get<std::string>() : std::string();
    };
    const bool is_whole = kept.is_object() && kept.contains("settings") && kept.contains("exit_code") &&
                          kept["exit_code"].is_number_integer() &&
                          (!kept.contains("finding") || kept["finding"].is_string());
    if (!is_whole || text("inputs").empty()) return "has a " + std::string(kPointFile) + " that no sweep has written";
    if (text("version") != VERBATIM_VERSION)
      return "was run by version " + text("version") + ", and this is " VERBATIM_VERSION;
    if (kept["settings"] != settings_of(axes_, points_[point]))
      return "is the point " + kept["settings"].dump() + " of another sweep, not " +
             settings_of(axes_, points_[point]).dump();
    if (text("inputs") != inputs_[point])
      return "was run with other files: the scenario, its topology, a profile or a program has changed since";
    return "";
  }

  void run_points() {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (results_[i] || inputs_[i].empty()) continue;
      std::error_code ignored;
      fs::remove(folder_of(i) + "/run.json", ignored);  // of an interrupted run
      left.push_back(i);
    }
    for_points(
        left, "ran", [this](std::size_t point, int core) { return run_point(point, core); },
        [&](std::size_t point, const WorkerPool::Ended& ended) { return take(point, ended); });
  }

  // Returns false if continuing makes no sense.
  bool take(std::size_t point, const WorkerPool::Ended& ended) {
    PointResult result{point + 1, points_[point], 0, "", std::nullopt};
    result.exit_code = WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : silence_of(ended.status).code;
    if (pool_.is_interrupted() && (!WIFEXITED(ended.status) || result.exit_code == kInterrupted)) return false;
    if (result.exit_code != kAsExpected) {
      result.finding = first_sentence(ended.output);
      if (result.finding.empty()) result.finding = silence_of(ended.status).sentence;
      ++failed_;
    }
    if (is_final(result.exit_code) && !write_point(point, result)) return false;
    const int result_code = result.exit_code;
    results_[point] = std::move(result);
    if (take_unit_ && is_final(result_code) && !take_unit_(static_cast<std::int64_t>(point), {{"exit_code", result_code}})) return false;
    return result_code != kUsage;
  }

  bool write_point(std::size_t point, const PointResult& result) {
    Json json = {{"version", VERBATIM_VERSION},
                 {"inputs", inputs_[point]},
                 {"settings", settings_of(axes_, points_[point])},
                 {"exit_code", result.exit_code}};
    if (!result.finding.empty()) json["finding"] = result.finding;
    return wrote(folder_of(point) + "/" + kPointFile, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  // Returns false, after an error message, on failure.
  bool wrote(const std::string& path, const std::string& text) {
    const std::string failure = write_document(path, text);
    if (failure.empty()) return true;
    complain(failure);
    if (worst_ == kAsExpected) worst_ = kProgramFailed;
    return false;
  }

  int finish() {
    std::vector<PointResult> results;
    std::string lines;
    Json list = Json::array();
    std::size_t failed = 0;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i]) continue;
      PointResult& result = results.emplace_back(std::move(*results_[i]));
      std::string ignored;  // a run that failed early has no folder
      result.run = read_summary(folder_of(i), &ignored);
      if (result.exit_code != kAsExpected) {
        ++failed;
        const bool is_ours =
            result.exit_code == kUsage || result.exit_code == kInternalError || result.exit_code == kMachineFault;
        worst_ = std::max(worst_, is_ours ? result.exit_code : static_cast<int>(kProgramFailed));
        answer_.print_failure("%s: exit code %d: %s\n", label(i).c_str(), result.exit_code, result.finding.c_str());
      }
      list.push_back(to_json(axes_, result));
      lines += list.back().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    if (!results.empty()) {
      wrote(options_.out + "/results.jsonl", lines);
      wrote(options_.out + "/results.csv", csv_of(axes_, results));
      if (!options_.html.empty())
        wrote(options_.html, sweep_page(fs::path(options_.scenario).filename().string(), axes_, results));
      TextTable table(axes_.size() + 2);
      for (auto& row : table_of(axes_, results)) table.row(std::move(row));
      answer_.print("%s", table.text().c_str());
    }
    const std::size_t left = points_.size() - results.size();
    std::string summary = join(results.size(), " of ", points_.size(), points_.size() == 1 ? " point" : " points");
    if (kept_ != 0) summary += join(", ", kept_, " of them from before");
    summary += join(", ", failed, " failed");
    if (left != 0)
      summary += std::string(pool_.is_interrupted() ? "; interrupted" : "") + ": the same command runs those that are left";
    if (!results.empty()) summary += "; " + options_.out + "/results.csv";
    if (failed == 0 && left == 0)
      answer_.print("%s\n", summary.c_str());
    else
      answer_.print_failure("%s\n", summary.c_str());
    answer_.document()["out"] = options_.out;
    answer_.document()["points"] = std::move(list);
    answer_.document()["kept"] = kept_;
    answer_.document()["left"] = left;
    answer_.document()["interrupted"] = pool_.is_interrupted();
    return pool_.is_interrupted() && worst_ < kInternalError ? static_cast<int>(kInterrupted) : worst_;
  }

  const SweepOptions& options_;
  const std::vector<SweepAxis> axes_;
  const std::vector<SweepPoint> points_;
  Answer& answer_;
  Json scenario_;
  const bool varies_topology_ = std::ranges::any_of(axes_, &SweepAxis::is_of_topology);
  std::map<std::string, std::optional<Json>> topologies_;  // by path, if they are varied
  std::vector<std::string> inputs_;                        // of each point
  std::vector<std::optional<PointResult>> results_;        // by point; nullopt: not ended
  WorkerPool pool_;
  TakeUnit take_unit_;  // of a share; empty: none
  std::size_t kept_ = 0, failed_ = 0;
  int worst_ = kAsExpected;
};

}  // namespace

int sweep(const SweepOptions& options) {
  config::Diagnostics diagnostics;
  std::vector<SweepAxis> axes = parse_axes(options.vary, diagnostics);
  protect_input(options.scenario);
  const config::FileRequest request{config::WantedFile::kScenario, "sweep"};
  std::optional<Json> scenario;
  const auto text = config::read_file(options.scenario, diagnostics);
  if (text && !config::refuse_foreign_text(options.scenario, *text, request, diagnostics))
    scenario = config::parse_json(*text, options.scenario, diagnostics);
  if (scenario) config::refuse_other_kind(options.scenario, *scenario, request, diagnostics);
  if (!diagnostics.empty()) {
    print(diagnostics);
    return kUsage;
  }
  // The sweep's own folder is created later.
  if (!options.html.starts_with(options.out + "/") && !can_write(options.html)) return kUsage;
  Answer answer("sweep", options.style);
  if (!options.split.task) return answer.end(Sweep(options, std::move(axes), answer).run(std::move(*scenario)));
  if (options.split.task->role == SplitTask::Role::kShare) {
    const UnitRunner run = [&](const NextUnit& next, const TakeUnit& take, std::string& stopped) {
      return Sweep(options, axes, answer).run_units(*scenario, next, take, stopped);
    };
    return answer.end(run_share(*options.split.task, run, answer));
  }
  const auto collected = collect_results(options.split.task->folder);
  if (!collected) return kUsage;
  const int code = Sweep(options, std::move(axes), answer).merge_units(std::move(*scenario));
  return answer.end(end_collection(*collected, *options.split.task, answer, code));
}

}  // namespace verbatim::cli
