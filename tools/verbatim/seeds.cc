// `run --seeds`: many runs, each in a process of its own, on all processors. The output depends on the runs
// only: results are reported in the order of the seeds. With shares (shares/split.h), a unit is a seed.
#include <errno.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/config/words.h"
#include "sim/core/time_text.h"
#include "sim/explore/signature.h"
#include "sim/supervisor/code/code_files.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/junit.h"
#include "tools/verbatim/output.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/run_json.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_report.h"
#include "tools/verbatim/shares/share.h"
#include "tools/verbatim/whole_number.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFlowTimes[] = {"mean_ps", "p50_ps", "p99_ps", "longest_ps"};  // keys of run.json's flow_times
constexpr const char* kNamesOfFlowTimes[] = {"mean", "median", "p99", "longest"};

class SeedRuns {
 public:
  SeedRuns(const RunPlan& plan, const RunOptions& options, Answer& answer)
      : plan_(plan), seeds_(*plan.seeds), options_(options), answer_(answer), pool_(options.jobs, options.core) {}
  ~SeedRuns() {
    if (first_report_ >= 0) ::close(first_report_);
  }
  SeedRuns(const SeedRuns&) = delete;
  SeedRuns& operator=(const SeedRuns&) = delete;

  using Json = nlohmann::ordered_json;

  int run() {
    std::int64_t next = seeds_.first;
    bool more = true;
    while (more || !pool_.is_idle()) {
      while (more && pool_.has_room()) {
        if (!start(next)) return kInternalError;
        more = next++ != seeds_.last;
      }
      for (const WorkerPool::Ended& ended : pool_.await(progress_.wait_ms())) collect(ended);
      report();
      if (progress_.is_due()) show_progress();
      // A usage error concerns all runs.
      more = more && !pool_.is_interrupted() && worst_ != kUsage;
    }
    if (!options_.record.empty() && worst_ < kInternalError && worst_ != kUsage) record();
    return finish();
  }

  // Runs the seeds of units, as a UnitRunner.
  int run_units(const NextUnit& next, const TakeUnit& take, std::string& stopped) {
    bool more = true;
    while (true) {
      while (more && pool_.has_room()) {
        const auto unit = next();
        more = unit.has_value();
        if (unit && !start(seeds_.first + *unit)) return kInternalError;
      }
      if (pool_.is_idle()) break;
      for (const WorkerPool::Ended& ended : pool_.await()) collect(ended);
      for (auto it = waiting_.begin(); it != waiting_.end(); it = waiting_.erase(it)) {
        const auto& [seed, result] = *it;
        if (!is_of_program(result.code)) {
          stopped = "seed " + std::to_string(seed) + ": exit code " + std::to_string(result.code) + ": " + result.sentence;
          return result.code;
        }
        if (!take(seed - seeds_.first, {{"code", result.code}, {"sentence", result.sentence}, {"entry", result.entry}})) return kAsExpected;
      }
      if (!pool_.is_interrupted()) continue;
      stopped = "interrupted";
      return kInterrupted;
    }
    return kAsExpected;
  }

  // Reports results of units as run() does.
  int merge_units(MergedResults& results) {
    for (auto it = results.units.begin(); it != results.units.end();) {
      const Json& json = it->second.result;
      try {
        waiting_[seeds_.first + it->first] = {whole_number<int>(json.at("code"), 0, 255), json.at("sentence"), json.at("entry")};
        ++it;
      } catch (const std::exception& e) {
        results.remarks.push_back("unit " + std::to_string(it->first) + " is damaged and is not counted: " + e.what());
        results.missing.insert(std::ranges::lower_bound(results.missing, it->first), it->first);
        it = results.units.erase(it);
      }
    }
    is_merged_ = true;
    report();
    if (!options_.record.empty() && worst_ < kInternalError) record();
    return finish();
  }

 private:
  void show_progress() {
    const std::int64_t count = seeds_.last - seeds_.first + 1;
    progress_.show(std::to_string(reported_) + " of " + std::to_string(count) + " runs, " + std::to_string(failed_.size()) +
                   " failed" + progress_.left(static_cast<double>(reported_) / static_cast<double>(count)));
  }

  struct Result {
    int code = 0;
    std::string sentence;
    Json entry = Json::object();  // of run.json: for seeds.json
  };
  // Whether the result is one of the program, not of the machine, of a usage error or of ours.
  static bool is_of_program(int code) {
    return code != kUsage && code != kInternalError && code != kMachineFault && code != kInterrupted;
  }

  std::string folder_of(std::int64_t seed) const {
    return options_.out.empty() ? "" : options_.out + "/seed-" + std::to_string(seed);
  }

  bool start(std::int64_t seed) {
    const bool is_first = first_seed_ < 0;
    if (is_first) first_seed_ = seed;
    if (is_first) first_report_ = ::memfd_create("verbatim-report", MFD_CLOEXEC);
    const bool started = pool_.start(seed, [&](int core, int output) {
      return start_child(ChildOutput::kFile, output, [&] { return run_one(seed, core, is_first ? first_report_ : -1, ""); });
    });
    if (!started) complain("the run of seed " + std::to_string(seed) + " could not be started");
    return started;
  }

  // Repeats the first failure of each kind with a recording.
  void record() {
    std::error_code error;
    fs::create_directories(options_.record, error);
    std::size_t next = 0;
    while (next < kinds_.size() || !pool_.is_idle()) {
      for (; next < kinds_.size() && pool_.has_room(); ++next) {
        const std::int64_t seed = kinds_[next].first;
        const std::string path = options_.record + "/seed-" + std::to_string(seed) + ".rec";
        const bool started = pool_.start(static_cast<std::int64_t>(next), [&](int core, int output) {
          return start_child(ChildOutput::kFile, output, [&] { return run_one(seed, core, -1, path); });
        });
        if (!started) return complain("the run that records seed " + std::to_string(seed) + " could not be started");
        kinds_[next].recording = path;
      }
      for (const WorkerPool::Ended& ended : pool_.await(progress_.wait_ms())) {
        Kind& kind = kinds_[static_cast<std::size_t>(ended.number)];
        const std::string again = first_sentence(ended.output);
        ::close(ended.output);
        if (WIFEXITED(ended.status) && kind_of(WEXITSTATUS(ended.status), again) == kind.text) continue;
        fs::remove(kind.recording, error);
        kind.recording.clear();
        if (!pool_.is_interrupted())
          complain("seed " + std::to_string(kind.first) + " has no recording, since it ended differently when it was run again: " + again);
      }
      if (pool_.is_interrupted()) next = kinds_.size();
      if (progress_.is_due()) progress_.show("recording the first failure of each kind");
    }
  }

  // Failures of one kind have the same message except for numbers.
  static std::string kind_of(int code, const std::string& sentence) {
    return std::to_string(code) + explore::without_numbers(sentence);
  }

  // Runs in a process of its own. `report` is a descriptor for the run's report, negative: none; `recording`
  // a file, empty: none.
  int run_one(std::int64_t seed, int core, int report, const std::string& recording) {
    RunOptions one = options_;
    one.record = recording;
    one.junit.clear();
    one.seeds.clear();
    one.seed = seed;
    one.core = core;
    one.out = recording.empty() ? folder_of(seed) : "";
    one.style = {.quiet = true};
    if (one.log == "warn") spdlog::default_logger()->set_level(spdlog::level::err);
    RunPlan plan = plan_;
    plan.seeds.reset();
    if (plan.wall_limit.count() == 0) plan.wall_limit = kWallLimitOfSeed;
    plan.views_working_folders = !one.verify;
    plan.scenario.seed = seed;
    config::draw_traffic(plan.scenario);
    plan.code_files = &code_files_;
    if (one.verify && recording.empty()) return run_verify(plan, one);
    if (report < 0) return run_once(plan, one);
    RunReport run_report;
    const int code = run_once(plan, one, &run_report);
    // If this fails, only the other runs take longer.
    if (!run_report.outcome.empty()) write_all(report, to_bytes(run_report));
    return code;
  }

  void search_code_of_first() {
    const std::optional<RunReport> report = report_of(content_of(first_report_));
    ::close(std::exchange(first_report_, -1));
    if (!report) return;
    for (const std::string& path : report->code_files) code_files_.prepare(path);
  }

  void collect(const WorkerPool::Ended& ended) {
    if (ended.number == first_seed_ && first_report_ >= 0) search_code_of_first();
    Result result;
    result.code = WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : silence_of(ended.status).code;
    result.sentence = first_sentence(ended.output);
    ::close(ended.output);
    if (result.sentence.empty() && !WIFEXITED(ended.status)) result.sentence = silence_of(ended.status).sentence;
    if (!options_.out.empty()) {
      std::string ignored;  // a run that failed early has no recording
      if (const auto run = read_run_json(folder_of(ended.number) + "/run.json", &ignored)) {
        for (const char* key : {"digest", "outcome", "virtual_time_ps"}) result.entry[key] = run->value(key, nlohmann::json());
        add_flow_times(*run, result.entry);
      }
      std::error_code error;
      if (result.code == kAsExpected) fs::remove_all(folder_of(ended.number), error);
    }
    const bool cut_off = pool_.is_interrupted() && (!WIFEXITED(ended.status) || result.code == kInterrupted);
    if (!cut_off) waiting_.emplace(ended.number, std::move(result));
  }

  // Reports results that are next in the order of the seeds.
  void report() {
    const bool all = is_merged_ || (pool_.is_interrupted() && pool_.is_idle());  // missing results will never arrive
    for (auto it = waiting_.begin();
         it != waiting_.end() && (all || it->first == reported_ + seeds_.first); it = waiting_.erase(it)) {
      const auto& [seed, result] = *it;
      ++reported_;
      nlohmann::ordered_json entry = {{"seed", seed}, {"exit_code", result.code}};
      entry.update(result.entry);
      if (result.code != kAsExpected) {
        entry["finding"] = result.sentence;
        const std::string kind = kind_of(result.code, result.sentence);
        auto like = std::ranges::find(kinds_, kind, &Kind::text);
        if (like == kinds_.end()) {
          kinds_.push_back({kind, seed, 1, ""});
          answer_.print_failure("seed %lld: exit code %d: %s\n", static_cast<long long>(seed), result.code, result.sentence.c_str());
        } else {
          ++like->count;
          answer_.print_failure("seed %lld: exit code %d, same failure as seed %lld\n", static_cast<long long>(seed), result.code,
                            static_cast<long long>(like->first));
        }
        flush_standard_output();
        failed_.push_back(seed);
        // A bug of ours, a usage error or a machine fault must not be attributed to the program.
        worst_ = result.code == kUsage || result.code == kInternalError || result.code == kMachineFault
                     ? std::max(worst_, result.code)
                     : std::max<int>(worst_, kProgramFailed);
      }
      entries_.push_back(std::move(entry));
    }
  }

  // Completion times of all flows of the run.
  static void add_flow_times(const nlohmann::json& run, Json& entry) {
    const auto rows = run.find("flow_times");
    if (rows == run.end() || !rows->is_array() || rows->empty() || !rows->back().is_object()) return;
    for (const char* key : kFlowTimes) {
      const auto value = rows->back().find(key);
      if (value != rows->back().end() && value->is_number_unsigned()) entry[key] = *value;
    }
  }

  // Least and greatest value over all seeds, of runs with flows.
  void print_ranges() {
    struct Range {
      std::uint64_t least = 0, most = 0;
      std::int64_t least_seed = 0, most_seed = 0;
    };
    for (std::size_t i = 0; i < std::size(kFlowTimes); ++i) {
      std::optional<Range> range;
      for (const auto& entry : entries_) {
        const auto found = entry.find(kFlowTimes[i]);
        if (found == entry.end()) continue;
        const std::uint64_t value = *found;
        const std::int64_t seed = entry["seed"];
        if (!range) range = Range{value, value, seed, seed};
        if (value < range->least) range->least = value, range->least_seed = seed;
        if (value > range->most) range->most = value, range->most_seed = seed;
      }
      if (!range) continue;
      const auto text = [](std::uint64_t ps) { return time_text(instant_from_ps(static_cast<std::int64_t>(ps))); };
      answer_.print("  %s completion time: %s (seed %lld) to %s (seed %lld)\n", kNamesOfFlowTimes[i], text(range->least).c_str(),
                    static_cast<long long>(range->least_seed), text(range->most).c_str(),
                    static_cast<long long>(range->most_seed));
    }
  }

  int finish() {
    const std::int64_t count = seeds_.last - seeds_.first + 1;
    const long long as_expected = reported_ - static_cast<std::int64_t>(failed_.size()), left = count - reported_;
    std::string all = "seeds " + std::to_string(seeds_.first) + ".." + std::to_string(seeds_.last) + ": " +
                      std::to_string(as_expected) + " as expected, " + std::to_string(failed_.size()) + " failed";
    if (left != 0) all += ", " + std::to_string(left) + " did not finish" + (pool_.is_interrupted() ? ": interrupted" : "");
    if (failed_.empty() && left == 0) answer_.print("%s\n", all.c_str());
    if (!failed_.empty() || left != 0) answer_.print_failure("%s\n", all.c_str());
    print_ranges();
    if (options_.out.empty() && !plan_.scenario.traffic.flows.empty() && failed_.empty() && left == 0) {
      answer_.print("  completion times: with --out FOLDER, or as a table by `verbatim sweep %s --vary seed=%lld..%lld`\n",
                    config::shell_word(plan_.scenario.file).c_str(), static_cast<long long>(seeds_.first),
                    static_cast<long long>(seeds_.last));
    }
    for (const Kind& kind : kinds_) {
      if (kinds_.size() > 1)
        answer_.print_failure("same failure as seed %lld: %lld runs\n", static_cast<long long>(kind.first), static_cast<long long>(kind.count));
    }
    auto recordings = Answer::Json::array();
    for (const Kind& kind : kinds_) {
      if (kind.recording.empty()) continue;
      answer_.print_failure("recording: %s\n", kind.recording.c_str());
      recordings.push_back(kind.recording);
    }
    std::string repeat;
    if (!failed_.empty()) {
      RunOptions one = options_;
      one.seed = failed_.front();
      std::vector<std::string> words = {::program_invocation_name, "run"};
      const std::vector<std::string> rest = words_of(one);
      words.insert(words.end(), rest.begin(), rest.end());
      repeat = config::join_words(words);
      answer_.print_failure("repeat: %s\n", repeat.c_str());
    }
    nlohmann::ordered_json summary = {
        {"version", VERBATIM_VERSION}, {"seeds", entries_}, {"failed", failed_}, {"interrupted", pool_.is_interrupted()}};
    if (is_merged_ && left != 0) summary["missing"] = left;
    if (!repeat.empty()) summary["repeat"] = repeat;
    if (!recordings.empty()) summary["recordings"] = std::move(recordings);
    answer_.document() = summary;
    if (!options_.out.empty()) {
      std::error_code ignored;
      fs::create_directories(options_.out, ignored);
      const std::string failure =
          write_document(options_.out + "/seeds.json",
                           summary.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
      if (!failure.empty()) {
        complain(failure);
        if (worst_ == kAsExpected) worst_ = kProgramFailed;
      }
    }
    if (const std::string failure = write_junit(); !failure.empty()) {
      complain(failure);
      if (worst_ == kAsExpected) worst_ = kProgramFailed;
    }
    return pool_.is_interrupted() && worst_ < kInternalError ? static_cast<int>(kInterrupted) : worst_;
  }

  // Writes a test case for each seed, with --junit. Returns a sentence on failure, else "".
  std::string write_junit() const {
    if (options_.junit.empty()) return "";
    std::vector<JunitCase> cases;
    for (const auto& entry : entries_)
      cases.push_back({"seed " + entry["seed"].dump(), entry["exit_code"] == static_cast<int>(kAsExpected) ? "" : entry.value("finding", "it has failed")});
    const std::int64_t left = seeds_.last - seeds_.first + 1 - reported_;
    if (is_merged_ && left != 0) cases.push_back({"all seeds have results", std::to_string(left) + " seeds have no result"});
    return write_document(options_.junit, junit_text(plan_.scenario.name.empty() ? "verbatim run" : plan_.scenario.name, cases));
  }

  const RunPlan& plan_;
  const SeedRange seeds_;
  const RunOptions& options_;
  Answer& answer_;
  Progress progress_{options_.style.is_for_people()};
  WorkerPool pool_;
  std::map<std::int64_t, Result> waiting_;  // for results of smaller seeds
  std::int64_t reported_ = 0;
  code::CodeFiles code_files_;  // code of the first run, analysed once for all others
  int first_report_ = -1;
  std::int64_t first_seed_ = -1;  // that was started
  bool is_merged_ = false;        // the results are those of units
  std::vector<std::int64_t> failed_;
  struct Kind {
    std::string text;
    std::int64_t first, count;
    std::string recording;  // of the first failure; empty: none
  };
  std::vector<Kind> kinds_;
  nlohmann::ordered_json entries_ = nlohmann::ordered_json::array();
  int worst_ = kAsExpected;
};

}  // namespace

int run_seeds(const RunPlan& plan, const RunOptions& options, const config::FileTexts& files, Answer& answer) {
  const std::int64_t units = plan.seeds->last - plan.seeds->first + 1;
  if (is_divided(options.split)) {
    auto inputs = inputs_of_runs(plan, options, files);
    if (!inputs) return ProcessPool::is_interrupted() ? kInterrupted : kMachineFault;
    return make_split(
        split_of(options.out, options.split.words, units, shares_of(options.split, units), std::move(*inputs)),
        options.split, answer);
  }
  if (!options.split.task) return SeedRuns(plan, options, answer).run();
  if (options.split.task->role == SplitTask::Role::kShare) {
    const UnitRunner run = [&](const NextUnit& next, const TakeUnit& take, std::string& stopped) {
      return SeedRuns(plan, options, answer).run_units(next, take, stopped);
    };
    return run_share(*options.split.task, run, answer);
  }
  auto collected = collect_results(options.split.task->folder);
  if (!collected) return kUsage;
  const int code = SeedRuns(plan, options, answer).merge_units(collected->results);
  return end_collection(*collected, *options.split.task, answer, code);
}

}  // namespace verbatim::cli
