#include "tools/verbatim/labs/grader.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "sim/bundle/bundle_index.h"
#include "sim/config/json_text.h"
#include "sim/config/quantity.h"
#include "sim/core/input_file.h"
#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/labs/arming_order.h"
#include "tools/verbatim/labs/disk_use.h"
#include "tools/verbatim/labs/run_cause.h"
#include "tools/verbatim/run_json.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Real time after which a run is killed; only a program that never waits takes nearly as long.
constexpr unsigned kRunSeconds = 60;
// Limits: processes of a run, and disk space of all runs together.
constexpr std::size_t kMostProcesses = 200;
constexpr std::uintmax_t kMostWritten = std::uintmax_t{1} << 30;
constexpr int kWatchMs = 200;  // real time between checks of these limits
constexpr const char* kOrderFile = "arming_order.json";
const std::string kLooksFile = "looks-";  // with the number of the process

// Start time of the scenario's last program, in ps.
std::int64_t last_start_ps(const fs::path& scenario) {
  std::int64_t last = 0;
  config::Diagnostics ignored;  // its run has reported the findings
  const auto json = config::read_json(scenario, ignored);
  if (!json || !json->is_object()) return 0;
  for (const auto& program : json->value("programs", Json::array())) {
    std::string problem, hint;
    const auto start = config::parse_quantity(program.value("start", "0 s"), config::Dimension::kDuration, &problem, &hint);
    last = std::max(last, start.value_or(0));
  }
  return last;
}

// The process and its descendants; the list ends a few above kMostProcesses.
std::vector<pid_t> family_of(pid_t process) {
  std::vector<pid_t> family = {process};
  for (std::size_t i = 0; i < family.size() && family.size() <= kMostProcesses; ++i) {
    std::error_code error;
    for (const fs::directory_entry& task : fs::directory_iterator("/proc/" + std::to_string(family[i]) + "/task", error)) {
      std::ifstream children(task.path() / "children");
      for (pid_t child; children >> child;) family.push_back(child);
    }
  }
  return family;
}

std::uint64_t rnr_naks_in(const nlohmann::json& run) {
  std::uint64_t naks = 0;
  for (const auto& queue : run.value("queues", nlohmann::json::array())) naks += queue.value("rnr_naks", std::uint64_t{0});
  return naks;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') lines.emplace_back();
    else lines.back() += c;
  }
  return lines;
}

}  // namespace

Grader::Grader(const Lab& lab, Submission& submission, GraderOptions options)
    : lab_(lab),
      submission_(submission),
      options_(std::move(options)),
      progress_(options_.shows_progress),
      free_before_(fs::space(submission.folder()).available) {}

bool Grader::run() {
  grades_.resize(lab_.criteria.size());
  progress_.show(lab_.name + ": compiles");
  const bool is_built = submission_.build();
  if (submission_.is_interrupted()) return false;
  bool is_reported = false;  // the compiler's output has been reported
  for (std::size_t i = 0; i < lab_.criteria.size(); ++i) {
    const Criterion& criterion = lab_.criteria[i];
    if (!is_built || (criterion.builds && !submission_.complaint().empty())) {
      grades_[i].why = is_reported ? std::vector<std::string>{"not run: the program does not compile"}
                                   : lines_of(submission_.complaint());
      is_reported = true;
    } else if (criterion.builds) {
      grades_[i].points = criterion.points;
    } else {
      ask(i);
    }
  }
  const bool has_run = run_all();
  clear_progress();
  if (has_run) count_points();
  return has_run;
}

void Grader::ask(std::size_t index) {
  const Criterion& criterion = lab_.criteria[index];
  RunOptions usual;
  usual.style = {.quiet = true};
  usual.call_by_call = options_.call_by_call;
  usual.stuck_after = std::to_string(kRunSeconds / 3) + " s";
  usual.arguments = {submission_.folder() / criterion.scenario};
  if (criterion.has_no_findings) usual.checks = {"all=error"};
  if (criterion.schedules > 0) {
    std::vector<std::int64_t> seeds = options_.seeds;
    if (seeds.empty()) {
      seeds.resize(criterion.schedules);
      std::iota(seeds.begin(), seeds.end(), std::int64_t{1});
    }
    for (const std::int64_t seed : seeds) {
      RunOptions options = usual;
      options.freedom = "spec";
      options.seed = seed;
      add(index, "with seed " + std::to_string(seed), std::move(options));
    }
  } else if (criterion.losses > 0) {
    for (const char* side : {"client", "server"}) {
      for (unsigned nth = 1; nth <= criterion.losses; ++nth) {
        RunOptions options = usual;
        options.faults = {Json{{"action", "drop"}, {"from", side}, {"nth", nth}}.dump()};
        add(index, "when packet " + std::to_string(nth) + " from " + side + " is lost", std::move(options));
      }
    }
  } else {
    add(index, "", usual);
  }
}

void Grader::add(std::size_t index, std::string words, RunOptions options) {
  const bool watches_order = lab_.criteria[index].polls_after_arming;
  std::string key = options.arguments.front() + "\n" + options.freedom + "\n" + std::to_string(options.seed.value_or(0)) + "\n" +
                    (options.checks.empty() ? "" : options.checks.front()) + "\n" +
                    (options.faults.empty() ? "" : options.faults.front());
  auto same = std::ranges::find(runs_, key, &Run::key);
  if (same == runs_.end()) {
    options.out = out_of(runs_.size());
    runs_.push_back({.key = std::move(key), .options = std::move(options)});
    same = runs_.end() - 1;
  }
  same->watches_order |= watches_order;
  questions_.push_back({index, static_cast<std::size_t>(same - runs_.begin()), std::move(words)});
}

fs::path Grader::out_of(std::size_t run) const { return submission_.folder() / ("run-" + std::to_string(run)); }

bool Grader::run_all() {
  WorkerPool pool(0, -1);
  std::size_t next = 0;
  while (next < runs_.size() || !pool.is_idle()) {
    // After a run has exceeded a limit, no other is started.
    for (; next < runs_.size() && !too_much_.empty(); ++next) runs_[next].failure = {too_much_.begin()->second};
    while (next < runs_.size() && pool.has_room()) {
      const bool started = pool.start(static_cast<std::int64_t>(next), [&](int core, int output) {
        return start_child(ChildOutput::kFile, output, [&] { return run_one(next, core); });
      });
      if (!started) runs_[next].failure = {"the machine has no room for another process"};
      ++next;
    }
    for (const WorkerPool::Ended& ended : pool.await(kWatchMs)) {
      collect(ended);
      ++ended_;
    }
    if (progress_.is_due()) {
      progress_.show(lab_.name + ": " + std::to_string(ended_) + " of " + std::to_string(runs_.size()) + " runs" +
                     progress_.left(static_cast<double>(ended_) / static_cast<double>(runs_.size())));
    }
    watch(pool);
    if (pool.is_interrupted()) return false;
  }
  return true;
}

// Runs in a process of its own.
int Grader::run_one(std::size_t number, int core) {
  ::alarm(kRunSeconds);
  RunOptions options = runs_[number].options;
  options.core = core;
  if (!runs_[number].watches_order) return run_recorded(number, std::move(options));
  ArmingOrder order;
  options.on_call = [&order](const supervisor::ProgramCall& call) { order.on_call(call); };
  const int code = run_recorded(number, std::move(options));
  order.finish();
  if (code == kAsExpected)
    write_document(out_of(number) / kOrderFile, Json{{"sleeps", order.sleeps()}, {"mistake", order.mistake().value_or("")}}.dump());
  return code;
}

// Runs with the grader's files, and writes what the programs have seen to a file of this process.
int Grader::run_recorded(std::size_t number, RunOptions options) {
  if (options_.files == nullptr && !options_.keeps_looks) return cli::run(std::move(options));
  supervisor::RecordedFiles recorder(options_.files != nullptr ? *options_.files : supervisor::real_files());
  options.recorder = &recorder;
  const int code = cli::run(std::move(options));
  if (!options_.keeps_looks) return code;
  bundle::BundleIndex index;
  index.manifest = "{}";
  index.looks = recorder.looks();
  for (auto& [path, look] : index.looks) {
    if (std::exchange(look.has_content, false)) index.looks_contents[path] = 0;
  }
  Json json = Json::object();
  for (const auto& [path, content] : index.looks_contents) json["opened"].push_back(path);
  index.looks_contents.clear();
  index.manifest = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  write_document(out_of(number) / (kLooksFile + std::to_string(::getpid())), bundle::index_bytes(index));
  return code;
}

void Grader::collect_looks(const fs::path& out) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(out, error)) {
    if (!entry.path().filename().string().starts_with(kLooksFile)) continue;
    const std::string bytes = InputFile(entry.path()).rest().value_or("");
    bundle::BundleIndex index;
    if (!bundle::parse_index(bytes, &index).empty()) continue;
    const Json json = Json::parse(index.manifest, nullptr, false);
    if (json.is_object() && json.contains("opened")) {
      for (const auto& path : json["opened"]) index.looks[path.get<std::string>()].has_content = true;
    }
    supervisor::add_looks(index.looks, looks_);
  }
}

// Kills runs that exceed the limits of a lab. Others may write to the same disk, so files are counted when it has lost space.
void Grader::watch(const WorkerPool& pool) {
  std::error_code error;
  const std::uintmax_t free = fs::space(submission_.folder(), error).available;
  bool is_filling = !error && free_before_ > free && free_before_ - free > kMostWritten;
  if (is_filling) {
    std::uintmax_t written = bytes_below(submission_.folder());
    for (const auto& [number, process] : pool.running()) written += bytes_of_run(family_of(process));
    is_filling = written > kMostWritten;
    if (!is_filling) free_before_ = free;
  }
  for (const auto& [number, process] : pool.running()) {
    const bool is_crowd = family_of(process).size() > kMostProcesses;
    if (!is_filling && !is_crowd) continue;
    too_much_[static_cast<std::size_t>(number)] = is_crowd
                                                      ? "the program has more than " + std::to_string(kMostProcesses) + " processes"
                                                      : "the program writes more than 1 GiB to the disk";
    ::kill(process, SIGTERM);
  }
}

void Grader::collect(const WorkerPool::Ended& ended) {
  const auto number = static_cast<std::size_t>(ended.number);
  Run& run = runs_[number];
  const std::string output = content_of(ended.output);
  ::close(ended.output);
  const fs::path out = out_of(number);
  std::string why_none;
  const auto json = read_run_json(out / "run.json", &why_none);
  if (const auto much = too_much_.find(number); much != too_much_.end()) {
    run.failure = {much->second};
  } else if (WIFSIGNALED(ended.status)) {
    run.failure = {"the run did not end within " + std::to_string(kRunSeconds) +
                   " s of real time"};
  } else if (WEXITSTATUS(ended.status) != kAsExpected) {
    run.failure = cause_of_run(output, out, submission_.folder());
  } else if (!json) {
    run.failure = {"the run has left no run.json that can be read: " + why_none};
  } else {
    run.rnr_naks = rnr_naks_in(*json);
    run.packets = json->value("packets", std::uint64_t{0});
    run.pauses = json->value("congestion", Json::object()).value("pauses", std::uint64_t{0});
    run.end_ps = json->value("virtual_time_ps", std::int64_t{0});
  }
  config::Diagnostics has_none;
  if (const auto order = config::read_json(out / kOrderFile, has_none)) {
    run.sleeps = order->value("sleeps", std::uint64_t{0});
    run.order_mistake = order->value("mistake", "");
  }
  if (options_.keeps_looks) collect_looks(out);
  std::error_code ignored;
  fs::remove_all(out, ignored);
}

std::vector<std::string> Grader::judge(const Criterion& criterion, const Run& run, bool ever_sleeps) const {
  if (!run.failure.empty()) return run.failure;
  if (criterion.polls_after_arming && !run.order_mistake.empty())
    return {run.order_mistake, "what to do: after ibv_req_notify_cq poll until the CQ is empty, and only then sleep"};
  if (criterion.polls_after_arming && !ever_sleeps)
    return {"the program never sleeps for a completion event (ibv_get_cq_event)"};
  if (criterion.has_no_rnr_naks && run.rnr_naks != 0)
    return {std::to_string(run.rnr_naks) + " times a message arrived without a posted receive (RNR NAK)"};
  if (criterion.most_packets != 0 && run.packets > criterion.most_packets)
    return {std::to_string(run.packets) + " packets were sent; the limit is " + std::to_string(criterion.most_packets)};
  if (criterion.most_pauses && run.pauses > *criterion.most_pauses)
    return {std::to_string(run.pauses) + " pauses were sent (PFC); the limit is " + std::to_string(*criterion.most_pauses)};
  const std::int64_t taken_ps = run.end_ps - last_start_ps(submission_.folder() / criterion.scenario);
  if (criterion.most_time.count() != 0 && taken_ps > criterion.most_time.count()) {
    char text[128];
    std::snprintf(text, sizeof text, "it takes %.3f us from the start of the last program; the limit is %.3f us",
                  static_cast<double>(taken_ps) / 1e6, static_cast<double>(criterion.most_time.count()) / 1e6);
    return {text};
  }
  return {};
}

// A criterion with many runs gives a share of its points for each correct run, rounded down.
void Grader::count_points() {
  Causes causes;
  for (std::size_t i = 0; i < lab_.criteria.size(); ++i) {
    const Criterion& criterion = lab_.criteria[i];
    std::vector<Causes::Failure> failures;
    std::size_t all = 0;
    const bool ever_sleeps = std::ranges::any_of(
        questions_, [&](const Question& question) { return question.criterion == i && runs_[question.run].sleeps > 0; });
    for (const Question& question : questions_) {
      if (question.criterion != i) continue;
      ++all;
      auto lines = judge(criterion, runs_[question.run], ever_sleeps);
      if (!lines.empty()) failures.push_back({question.words, std::move(lines)});
    }
    if (all == 0) continue;
    Grade& grade = grades_[i];
    grade.points = static_cast<unsigned>(criterion.points * (all - failures.size()) / all);
    if (failures.empty()) continue;
    if (criterion.hint.empty()) {
      grade.why = causes.text_for(criterion.name, all, failures);
    } else {
      grade.why = {(all > 1 ? "in " + std::to_string(failures.size()) + " of " + std::to_string(all) + " runs: " : "") + criterion.hint};
    }
  }
}

}  // namespace verbatim::cli
