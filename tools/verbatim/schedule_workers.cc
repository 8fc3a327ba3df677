#include "tools/verbatim/schedule_workers.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/supervisor/run_after_run.h"
#include "tools/verbatim/decision_json.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string to_bytes(const explore::Schedule& schedule, const RunWish& wish) {
  const Json json = {{"kind", schedule.kind},
                     {"seed", schedule.seed},
                     {"site", schedule.site},
                     {"decisions", to_json(schedule.decisions)},
                     {"always", schedule.always},
                     {"name", schedule.name},
                     {"has_accesses", schedule.has_accesses},
                     {"wants_places", schedule.wants_places},
                     {"wants_points", schedule.wants_points},
                     {"arguments", wish.arguments},
                     {"trace", wish.files.trace},
                     {"record", wish.files.record}};
  std::string bytes;
  Json::to_msgpack(json, bytes);
  return bytes;
}

explore::Schedule schedule_of(const Json& json) {
  explore::Schedule schedule;
  json.at("kind").get_to(schedule.kind);
  json.at("seed").get_to(schedule.seed);
  json.at("site").get_to(schedule.site);
  schedule.decisions = decisions_of(json.at("decisions"));
  json.at("always").get_to(schedule.always);
  json.at("name").get_to(schedule.name);
  json.at("has_accesses").get_to(schedule.has_accesses);
  json.at("wants_places").get_to(schedule.wants_places);
  json.at("wants_points").get_to(schedule.wants_points);
  return schedule;
}

// A message is its length and its bytes. It is always sent completely, because the receiver waits for all of
// it.
bool send_message(int socket, const std::string& bytes) {
  const std::uint64_t length = bytes.size();
  const std::string whole = std::string(reinterpret_cast<const char*>(&length), sizeof length) + bytes;
  for (std::size_t at = 0; at < whole.size();) {
    const ssize_t n = ::send(socket, whole.data() + at, whole.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

bool read_exactly(int socket, char* to, std::size_t length) {
  for (std::size_t at = 0; at < length;) {
    const ssize_t n = ::read(socket, to + at, length - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

// nullopt if the socket is closed.
std::optional<std::string> next_message(int socket) {
  std::uint64_t length = 0;
  if (!read_exactly(socket, reinterpret_cast<char*>(&length), sizeof length)) return std::nullopt;
  std::string bytes(length, '\0');
  if (!read_exactly(socket, bytes.data(), bytes.size())) return std::nullopt;
  return bytes;
}

}  // namespace

ScheduleWorkers::ScheduleWorkers(const RunPlan& plan, const RunOptions& options)
    : plan_(plan),
      options_(options),
      cores_(cores_of_runs(options.core)),
      workers_(jobs_of_runs(options.jobs, cores_)) {}

ScheduleWorkers::~ScheduleWorkers() { abandon(); }

bool ScheduleWorkers::make(Worker& worker, int core) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  worker = {};
  worker.process = start_child(ChildOutput::kNone, -1, [&] {
    // Otherwise the parent's end would go unnoticed while another worker exists.
    ::close(ends[0]);
    for (const Worker& other : workers_) {
      if (other.socket >= 0) ::close(other.socket);
    }
    return serve(ends[1], core);
  });
  ::close(ends[1]);
  if (worker.process < 0) {
    ::close(ends[0]);
    return false;
  }
  worker.socket = ends[0];
  return true;
}

// The main loop of a worker process.
int ScheduleWorkers::serve(int socket, int core) {
  supervisor::RunAfterRun kept(plan_.shim_directory);
  while (const auto request = next_message(socket)) {
    const Json json = Json::from_msgpack(*request);
    RunPlan plan = plan_;
    plan.schedule = schedule_of(json);
    plan.views_working_folders = true;
    set_arguments(plan, json.at("arguments").get<config::ArgumentValues>());
    plan.run_after_run = options_.afresh ? nullptr : &kept;
    RunOptions options = options_;
    options.style = {.quiet = true};
    options.core = core;
    json.at("trace").get_to(options.trace);
    json.at("record").get_to(options.record);
    options.out.clear();
    RunReport report;
    report.wants_points = plan.schedule->wants_points;
    report.wants_places = plan.schedule->wants_places;
    const int code = run_once(plan, options, &report);
    if (report.outcome.empty()) return code;  // nothing was started
    if (!send_message(socket, to_bytes(report))) break;
  }
  return kAsExpected;
}

bool ScheduleWorkers::start(std::int64_t number, const explore::Schedule& schedule, const RunWish& wish) {
  const std::size_t free =
      static_cast<std::size_t>(std::ranges::find(workers_, false, &Worker::is_busy) - workers_.begin());
  Worker& worker = workers_.at(free);
  if (worker.process >= 0 && worker.runs >= (options_.afresh ? 1 : kMostRuns)) end(worker);
  const int core = cores_.empty() ? -1 : cores_[free % cores_.size()];
  const std::string request = to_bytes(schedule, wish);
  if (worker.process >= 0 && !send_message(worker.socket, request)) end(worker);  // the worker was killed from outside
  if (worker.process < 0) {
    if (!make(worker, core)) return false;
    // If the worker is killed before it takes its first schedule, await() reports it like one that is killed
    // later.
    if (!send_message(worker.socket, request)) ::shutdown(worker.socket, SHUT_RDWR);
  }
  worker.is_busy = true;
  worker.number = number;
  ++worker.runs;
  ++busy_;
  return true;
}

// Closes the socket and waits for the process, which exits by itself or is dead. Returns its status.
int ScheduleWorkers::end(Worker& worker) {
  if (worker.socket >= 0) ::close(std::exchange(worker.socket, -1));
  return forget(worker, worker.process < 0 ? 0 : supervisor::await_child(worker.process).status);
}

int ScheduleWorkers::forget(Worker& worker, int status) {
  if (worker.socket >= 0) ::close(worker.socket);
  if (worker.is_busy) --busy_;
  worker = {};
  return status;
}

ScheduleWorkers::Ended ScheduleWorkers::take(Worker& worker) {
  Ended ended{worker.number, std::nullopt, 0};
  if (const auto message = next_message(worker.socket)) {
    ended.report = report_of(*message);
    worker.is_busy = false;
    --busy_;
  } else {
    ended.status = end(worker);
  }
  return ended;
}

void ScheduleWorkers::signal_busy(int signal) {
  for (const Worker& worker : workers_) {
    if (worker.is_busy) ::kill(worker.process, signal);
  }
}

std::vector<ScheduleWorkers::Ended> ScheduleWorkers::await(int wall_ms) {
  std::vector<int> sockets;
  for (const Worker& worker : workers_) {
    if (worker.is_busy) sockets.push_back(worker.socket);
  }
  const std::vector<int> readable = waiting_.wait(sockets, end_.wait_ms(wall_ms));
  if (const int signal = end_.next_signal(); signal != 0) signal_busy(signal);
  std::vector<Ended> ended;
  for (Worker& worker : workers_) {
    if (worker.is_busy && std::ranges::find(readable, worker.socket) != readable.end()) ended.push_back(take(worker));
  }
  return ended;
}

void ScheduleWorkers::abandon() {
  // The supervisor ends its programs when it is asked to end, and they die with it otherwise. Workers without
  // a run exit by themselves.
  end_.begin();
  if (end_.next_signal() == SIGTERM) signal_busy(SIGTERM);
  for (Worker& worker : workers_) {
    if (worker.socket >= 0) ::close(std::exchange(worker.socket, -1));
  }
  const auto is_there = [](const Worker& worker) { return worker.process >= 0; };
  while (std::ranges::any_of(workers_, is_there)) {
    for (Worker& worker : workers_) {
      int status = 0;
      if (is_there(worker) && ::waitpid(worker.process, &status, WNOHANG) == worker.process) forget(worker, status);
    }
    if (std::ranges::none_of(workers_, is_there)) break;
    waiting_.wait({}, end_.wait_ms(-1));
    if (end_.next_signal() != SIGKILL) continue;
    for (const Worker& worker : workers_) {
      if (is_there(worker)) ::kill(worker.process, SIGKILL);
    }
  }
  end_ = {};
}

}  // namespace verbatim::cli
