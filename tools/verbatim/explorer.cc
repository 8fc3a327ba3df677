#include "tools/verbatim/explorer.h"

#include <unistd.h>

#include <utility>

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

ScheduleRuns::ScheduleRuns(const RunPlan& plan, const RunOptions& options)
    : plan_(plan), options_(options), pool_(options.jobs, options.core) {}

pid_t ScheduleRuns::start_process(const explore::Schedule& schedule, const std::string& trace, int core, int output) {
  return start_child(ChildOutput::kNone, -1, [&] {
    RunPlan plan = plan_;
    plan.schedule = schedule;
    plan.code_files = &code_files_;
    RunOptions options = options_;
    options.quiet = true;
    options.core = core;
    options.trace = trace;
    options.out.clear();
    RunReport report;
    report.wants_points = schedule.wants_points;
    report.wants_places = schedule.wants_places;
    const int code = run_once(plan, options, &report);
    if (report.outcome.empty()) return code;  // nothing was started
    return write_all(output, to_bytes(report)) ? code : static_cast<int>(kInternalError);
  });
}

bool ScheduleRuns::start(const explore::Schedule& schedule, const std::string& trace) {
  const bool started = pool_.start(started_, [&](int core, int output) {
    return start_process(schedule, trace, core, output);
  });
  if (!started) {
    complain("another run cannot be started: the machine has no room for its process");
    return false;
  }
  under_way_.emplace(started_++, schedule);
  return true;
}

void ScheduleRuns::await(int wall_ms) {
  for (const WorkerPool::Ended& ended : pool_.await(wall_ms)) {
    auto schedule = under_way_.extract(ended.number);
    std::optional<RunReport> report = report_of(content_of(ended.output));
    ::close(ended.output);
    const bool cut_off = pool_.is_interrupted() && (!report || report->code == kInterrupted);
    if (cut_off) continue;
    if (report && !has_code_files_) {
      has_code_files_ = true;
      for (const std::string& path : report->code_files) code_files_.prepare(path);
    }
    if (!report) report = without_report(ended.status);
    if (report->code == kMachineFault && machine_fault_.empty()) machine_fault_ = report->summary();
    done_[ended.number] = {std::move(schedule.mapped()), std::move(*report)};
  }
}

std::optional<ScheduleRuns::Done> ScheduleRuns::next_done() {
  // Of those that were cut off nobody hears; what comes after them is given all the same.
  const bool all = pool_.is_interrupted() && pool_.is_idle();
  const auto it = done_.begin();
  if (it == done_.end() || (it->first != given_ && !all)) return std::nullopt;
  given_ = it->first + 1;
  Done done = std::move(it->second);
  done_.erase(it);
  return done;
}

std::vector<RunReport> ScheduleRuns::run_all(const std::vector<explore::Schedule>& schedules,
                                             const std::string& trace_prefix) {
  std::vector<RunReport> reports;
  std::size_t next = 0;
  while (!is_interrupted() && reports.size() < schedules.size()) {
    while (next < schedules.size() && has_room()) {
      const std::string trace = trace_prefix.empty() ? "" : trace_prefix + std::to_string(next);
      if (!start(schedules[next++], trace)) return reports;
    }
    await(-1);
    while (auto done = next_done()) reports.push_back(std::move(done->report));
  }
  return reports;
}

void ScheduleRuns::abandon() {
  pool_.abandon();
  under_way_.clear();
  done_.clear();
  given_ = started_;
}

}  // namespace verbatim::cli
