#include "tools/verbatim/schedule_runs.h"

#include <algorithm>
#include <utility>

#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

namespace {

RunReport without_report(int status) {
  RunReport report;
  Silence silence = silence_of(status);
  report.code = silence.code;
  report.sentences.push_back(std::move(silence.sentence));
  return report;
}

}  // namespace

ScheduleRuns::ScheduleRuns(const RunPlan& plan, const RunOptions& options) : plan_(plan), workers_(plan, options) {}

bool ScheduleRuns::start(const explore::Schedule& schedule, const RunFiles& files) {
  if (!workers_.start(started_, schedule, {files, arguments_})) {
    if (machine_fault_.empty()) machine_fault_ = "another run could not be started: this machine has no room for its process";
    return false;
  }
  under_way_.emplace(started_++, schedule);
  return true;
}

void ScheduleRuns::await(int wall_ms) {
  for (ScheduleWorkers::Ended& ended : workers_.await(wall_ms)) {
    auto schedule = under_way_.extract(ended.number);
    std::optional<RunReport>& report = ended.report;
    const bool cut_off = workers_.is_interrupted() && (!report || report->code == kInterrupted);
    if (cut_off) continue;
    if (!report) report = without_report(ended.status);
    if (report->code == kMachineFault && machine_fault_.empty()) machine_fault_ = report->summary();
    done_[ended.number] = {std::move(schedule.mapped()), std::move(*report)};
  }
}

std::optional<ScheduleRuns::Done> ScheduleRuns::next_done() {
  // Interrupted runs have no results; results of later runs are returned anyway.
  const bool all = workers_.is_interrupted() && workers_.is_idle();
  const auto it = done_.begin();
  if (it == done_.end() || (it->first != next_returned_ && !all)) return std::nullopt;
  next_returned_ = it->first + 1;
  Done done = std::move(it->second);
  done_.erase(it);
  return done;
}

// Time until the deadline, or until the next call of on_wait_; negative: unlimited.
int ScheduleRuns::wait_ms() const {
  if (!deadline_) return wait_ms_;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - std::chrono::steady_clock::now()).count();
  const auto until_deadline = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
  return wait_ms_ < 0 ? until_deadline : std::min(wait_ms_, until_deadline);
}

std::vector<RunReport> ScheduleRuns::run_all(const std::vector<explore::Schedule>& schedules,
                                             const std::vector<RunFiles>& files) {
  std::vector<RunReport> reports;
  std::size_t next = 0;
  while (!is_interrupted() && reports.size() < schedules.size()) {
    while (next < schedules.size() && has_room()) {
      const RunFiles& of_run = next < files.size() ? files[next] : RunFiles();
      if (!start(schedules[next++], of_run)) return reports;
    }
    await(wait_ms());
    if (wait_ms_ >= 0) on_wait_();
    while (auto done = next_done()) reports.push_back(std::move(done->report));
    if (deadline_ && std::chrono::steady_clock::now() >= *deadline_ && reports.size() < schedules.size()) {
      abandon();
      break;
    }
  }
  return reports;
}

std::optional<RunReport> ScheduleRuns::run(const explore::Schedule& schedule, const RunFiles& files) {
  if (!start(schedule, files)) return std::nullopt;
  while (!is_idle()) await(wait_ms_);
  auto done = next_done();
  return done ? std::optional(std::move(done->report)) : std::nullopt;
}

void ScheduleRuns::abandon() {
  workers_.abandon();
  under_way_.clear();
  done_.clear();
  next_returned_ = started_;
}

}  // namespace verbatim::cli
