#include "tools/verbatim/schedule_workers.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/supervisor/run_after_run.h"
#include "tools/verbatim/decision_json.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string to_bytes(const explore::Schedule& schedule, const RunWish& wish) {
  Json json = to_json(schedule);
  json["arguments"] = wish.arguments;
  json["trace"] = wish.files.trace;
  json["record"] = wish.files.record;
  json["calls"] = wish.files.calls;
  json["facts"] = wish.files.facts;
  json["until_ps"] = wish.files.until_ps;
  std::string bytes;
  Json::to_msgpack(json, bytes);
  return bytes;
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

Json to_json(const explore::Schedule& schedule) {
  return {{"kind", schedule.kind},
          {"seed", schedule.seed},
          {"site", schedule.site},
          {"decisions", to_json(schedule.decisions)},
          {"always", schedule.always},
          {"name", schedule.name},
          {"has_accesses", schedule.has_accesses},
          {"wants_places", schedule.wants_places},
          {"wants_points", schedule.wants_points}};
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

ScheduleWorkers::ScheduleWorkers(const RunPlan& plan, const RunOptions& options)
    : plan_(plan), options_(options), pool_(options.jobs, options.core), workers_(pool_.slots()) {}

bool ScheduleWorkers::make(std::size_t slot) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  workers_[slot] = {};
  const pid_t process = start_child(ChildOutput::kNone, -1, [&] {
    // Otherwise the parent's end would go unnoticed while another worker exists.
    ::close(ends[0]);
    for (const Worker& other : workers_) {
      if (other.socket >= 0) ::close(other.socket);
    }
    return serve(ends[1], pool_.core_of(slot));
  });
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    return false;
  }
  pool_.put(slot, process);
  workers_[slot].socket = ends[0];
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
    json.at("calls").get_to(options.calls);
    json.at("facts").get_to(options.facts);
    if (const auto until_ps = json.at("until_ps").get<std::int64_t>(); until_ps > 0) plan.scenario.until = Duration(until_ps);
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
  const std::size_t slot = pool_.free_slot().value();
  Worker& worker = workers_[slot];
  if (worker.socket >= 0 && worker.runs >= (options_.afresh ? 1 : kMostRuns)) end(slot);
  const std::string request = to_bytes(schedule, wish);
  if (worker.socket >= 0 && !send_message(worker.socket, request)) end(slot);  // killed from outside
  if (worker.socket < 0) {
    if (!make(slot)) return false;
    // If the worker is killed before it takes its first schedule, await() reports it like one that is killed
    // later.
    if (!send_message(worker.socket, request)) ::shutdown(worker.socket, SHUT_RDWR);
  }
  pool_.set_busy(slot, true);
  worker.number = number;
  ++worker.runs;
  return true;
}

// The worker gets the end of its requests, also while another child of this process has the socket, such as one that
// makes a failure small.
void ScheduleWorkers::close_socket(Worker& worker) {
  if (worker.socket >= 0) {
    ::shutdown(worker.socket, SHUT_RDWR);
    ::close(worker.socket);
  }
  worker = {};
}

// Closes the socket and waits for the process, which exits by itself or is dead. Returns its status.
int ScheduleWorkers::end(std::size_t slot) {
  close_socket(workers_[slot]);
  return pool_.await_end(slot);
}

ScheduleWorkers::Ended ScheduleWorkers::take(std::size_t slot) {
  Ended ended{workers_[slot].number, std::nullopt, 0};
  if (const auto message = next_message(workers_[slot].socket)) {
    ended.report = report_of(*message);
    pool_.set_busy(slot, false);
  } else {
    ended.status = end(slot);
  }
  return ended;
}

std::vector<ScheduleWorkers::Ended> ScheduleWorkers::await(int wall_ms) {
  std::vector<int> sockets;
  for (std::size_t slot = 0; slot < workers_.size(); ++slot) {
    if (pool_.is_busy(slot)) sockets.push_back(workers_[slot].socket);
  }
  const std::vector<int> readable = pool_.wait(sockets, wall_ms);
  std::vector<Ended> ended;
  for (std::size_t slot = 0; slot < workers_.size(); ++slot) {
    if (pool_.is_busy(slot) && std::ranges::find(readable, workers_[slot].socket) != readable.end()) ended.push_back(take(slot));
  }
  return ended;
}

void ScheduleWorkers::abandon() {
  // Workers without a run exit by themselves when their socket is closed.
  for (Worker& worker : workers_) close_socket(worker);
  pool_.abandon();
}

}  // namespace verbatim::cli
