#include "tools/verbatim/campaign/campaign.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "sim/core/words.h"
#include "tools/verbatim/campaign/campaign_page.h"
#include "tools/verbatim/campaign/failures.h"
#include "tools/verbatim/campaign/schedule_totals.h"
#include "tools/verbatim/output.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/process_pool.h"

namespace verbatim::cli {

namespace {

using CampaignClock = Exploration::Clock;

std::size_t parallel_units(const CampaignPlan& campaign) {
  return ProcessPool(campaign.options.run.jobs, campaign.options.run.core).slots();
}

// A lock on the folder, so that one campaign at a time writes there. It ends with the process.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : descriptor_(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    is_held_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool is_held() const { return is_held_; }

 private:
  int descriptor_;
  bool is_held_ = false;
};

// Makes all failures small that are not, unless the user interrupts.
void explain_all(const ScheduleTotals& totals, FailureWork& failures, Progress& progress, int jobs) {
  const std::vector<FailureKind> kinds = totals.kinds();
  for (std::size_t i = 0; i < kinds.size() && !ProcessPool::is_interrupted(); ++i) {
    if (!failures.start(kinds[i], jobs)) continue;
    while (!failures.await(progress.wait_ms())) {
      if (progress.is_due())
        progress.show(join("failure ", i + 1, " of ", kinds.size(), " is being made small"));
    }
  }
  clear_progress();
}

// Reports the totals and all failures as an undivided search does, and writes explore.json and the JUnit
// files.
int report_units(const CampaignPlan& campaign, const ScheduleTotals& totals, const FailureWork& failures,
                 std::size_t missing, Answer& answer) {
  std::string ignored;
  const auto strategy = explore::make_strategy("random", 1, {}, &ignored);
  Exploration exploration(campaign.plan, campaign.options, campaign.files, *strategy, campaign.shrink_time,
                          campaign.shrink_time, answer);
  return exploration.report(totals, failures, missing);
}

class Campaign {
 public:
  Campaign(const CampaignPlan& campaign, Answer& answer)
      : campaign_(campaign),
        options_(campaign.options),
        answer_(answer),
        failures_(campaign.plan, campaign.options, campaign.files, campaign.shrink_time) {}

  int run() {
    auto inputs = inputs_of_runs(campaign_.plan, options_.run, campaign_.files, {options_.focus});
    if (!inputs) return ProcessPool::is_interrupted() ? kInterrupted : kMachineFault;
    const Split split = split_of(options_.out, options_.split.words, 0, 1, std::move(*inputs));
    if (const std::string failure = write_split(split); !failure.empty()) {
      complain(failure);
      return kUsage;
    }
    const FolderLock lock(split.folder);
    if (!lock.is_held()) {
      complain(
          split.folder +
          ": another process searches in this folder; wait for its end, or name another folder with --out");
      return kUsage;
    }
    split_ = &split;
    const std::vector<ResultFile> files = read_result_files(split);
    results_ = merge(split, files);
    results_.attempts.clear();
    totals_ = totals_of(results_);
    times_ = times_of(files);
    for (const std::string& remark : results_.remarks) complain(remark);
    failures_.read();
    return search();
  }

 private:
  static std::int64_t now_s() { return static_cast<std::int64_t>(::time(nullptr)); }

  int search() {
    const std::chrono::seconds used(times_.empty() ? 0 : seconds_until(times_, now_s()));
    end_ = CampaignClock::now() + std::max(CampaignClock::duration(0), campaign_.until - used);
    if (totals_.runs() != 0)
      answer_.print("%lld schedules and %lld s of earlier searches\n", static_cast<long long>(totals_.runs()),
                    static_cast<long long>(used.count()));
    flush_standard_output();
    int code = kAsExpected;
    std::string stopped;
    if (CampaignClock::now() < end_) {
      if (const std::string failure = writer_.open(*split_, 0); !failure.empty()) {
        complain(failure);
        return kMachineFault;
      }
      times_.emplace_back(now_s(), now_s());
      ScheduleRuns runs(campaign_.plan, options_.run);
      ScheduleUnits units(runs, campaign_.search, parallel_units(campaign_));
      code = units.run(
          [this] { return next(); },
          [this](std::int64_t unit, const nlohmann::ordered_json& result) { return take(unit, result); },
          stopped, kTickMs, [this] { tick(); });
    }
    if (code != kAsExpected && !stopped.empty()) {
      clear_progress();
      complain(stopped);
      if (code != kInterrupted) writer_.stop(stopped);
    }
    if (!write_failure_.empty()) {
      complain(write_failure_ +
               "; the results written before it are whole, and the same command goes on from there");
      return kMachineFault;
    }
    // After an interruption the report comes first: little time is left.
    while (!failures_.is_idle() && !ProcessPool::is_interrupted()) {
      failures_.await(kTickMs);
      if (progress_.is_due()) progress_.show("a failure is being made small");
    }
    explain_all(totals_, failures_, progress_, options_.run.jobs);
    return finish(code);
  }

  // The least unit without a result.
  std::optional<std::int64_t> next() {
    if (CampaignClock::now() >= end_) return std::nullopt;
    while (results_.units.contains(next_)) ++next_;
    return next_++;
  }

  bool take(std::int64_t unit, const nlohmann::ordered_json& result) {
    write_failure_ = writer_.write(unit, result);
    if (!write_failure_.empty()) return false;
    times_.back().second = now_s();
    const std::size_t known = totals_.kinds_count();
    totals_.add(unit, {result, now_s()});
    if (totals_.kinds_count() != known) report_new_kinds();
    return true;
  }

  void report_new_kinds() {
    for (const FailureKind& kind : totals_.kinds()) {
      if (!reported_.insert(kind.signature).second || failures_.find(kind.signature) != nullptr) continue;
      answer_.print_failure("run %lld (%s): %s\n", static_cast<long long>(kind.first_run),
                            kind.strategy.c_str(), kind.summary.c_str());
    }
    flush_standard_output();
    is_page_due_ = true;
  }

  // Called at least every kTickMs.
  void tick() {
    if (failures_.is_idle()) {
      for (const FailureKind& kind : totals_.kinds()) {
        if (failures_.start(kind, 1)) break;
      }
    } else if (failures_.await(0)) {
      is_page_due_ = true;
    }
    const auto now = CampaignClock::now();
    if ((is_page_due_ && now - page_written_ > std::chrono::seconds(1)) ||
        now - page_written_ > std::chrono::minutes(1)) {
      write_page("the search goes on");
      page_written_ = now;
      is_page_due_ = false;
    }
    if (!progress_.is_due()) return;
    progress_.show(join(totals_.runs(), " runs, ", totals_.outcomes(), " different, ", totals_.kinds_count(),
                        " kinds of failure") +
                   time_left(std::max(0.0, std::chrono::duration<double>(end_ - now).count())));
  }

  std::string write_page(const std::string& state) {
    return write_document(split_->folder + "/index.html",
                          campaign_page({*split_, totals_, failures_, times_, state}));
  }

  int finish(int code) {
    clear_progress();
    const bool is_interrupted = ProcessPool::is_interrupted();
    const std::string failure = write_page(is_interrupted ? "interrupted" : "the search has ended");
    if (!failure.empty()) complain(failure);
    const int reported = report_units(campaign_, totals_, failures_, 0, answer_);
    answer_.print("page: %s/index.html\n", split_->folder.c_str());
    if (is_interrupted) return kInterrupted;
    if (code != kAsExpected) return code;
    return failure.empty() ? reported : static_cast<int>(kProgramFailed);
  }

  static constexpr int kTickMs = 200;

  const CampaignPlan& campaign_;
  const ExploreOptions& options_;
  Answer& answer_;
  Progress progress_{answer_.is_for_people()};
  FailureWork failures_;
  const Split* split_ = nullptr;
  MergedResults results_;  // of earlier processes
  ScheduleTotals totals_;
  std::vector<std::pair<std::int64_t, std::int64_t>> times_;
  ResultWriter writer_;
  std::string write_failure_;
  CampaignClock::time_point end_{}, page_written_{};
  bool is_page_due_ = true;
  std::int64_t next_ = 0;
  std::set<std::string> reported_;  // signatures
};

}  // namespace

int run_campaign(const CampaignPlan& campaign, Answer& answer) { return Campaign(campaign, answer).run(); }

int split_exploration(const CampaignPlan& campaign, Answer& answer) {
  const ExploreOptions& options = campaign.options;
  auto inputs = inputs_of_runs(campaign.plan, options.run, campaign.files, {options.focus});
  if (!inputs) return ProcessPool::is_interrupted() ? kInterrupted : kMachineFault;
  const std::int64_t units = campaign.search.units();
  return make_split(
      split_of(options.out, options.split.words, units, shares_of(options.split, units), std::move(*inputs)),
      options.split, answer);
}

int run_share_of_exploration(const CampaignPlan& campaign, Answer& answer) {
  return run_share(
      *campaign.options.split.task,
      [&](const NextUnit& next, const TakeUnit& take, std::string& stopped) {
        ScheduleRuns runs(campaign.plan, campaign.options.run);
        return ScheduleUnits(runs, campaign.search, parallel_units(campaign)).run(next, take, stopped);
      },
      answer);
}

int collect_exploration(const CampaignPlan& campaign, Answer& answer) {
  const SplitTask& task = *campaign.options.split.task;
  auto collected = collect_results(task.folder);
  if (!collected) return kUsage;
  const ScheduleTotals totals = totals_of(collected->results);
  FailureWork failures(campaign.plan, campaign.options, campaign.files, campaign.shrink_time);
  failures.read();
  if (const auto differences = differences_here(collected->split); differences.empty()) {
    Progress progress(answer.is_for_people());
    explain_all(totals, failures, progress, campaign.options.run.jobs);
  } else {
    complain("failures are not made small here: " + differences.front());
  }
  const std::size_t missing = collected->results.missing.size();
  const int code = report_units(campaign, totals, failures, missing, answer);
  const std::string failure = write_document(
      collected->split.folder + "/index.html",
      campaign_page({collected->split, totals, failures, times_of(collected->files),
                     missing == 0 ? "all units have results"
                                  : join(missing, " of ", collected->split.units, " units have no result")}));
  if (!failure.empty()) complain(failure);
  answer.print("page: %s/index.html\n", collected->split.folder.c_str());
  if (ProcessPool::is_interrupted()) return kInterrupted;
  return end_collection(*collected, task, answer, failure.empty() ? code : static_cast<int>(kProgramFailed));
}

}  // namespace verbatim::cli
