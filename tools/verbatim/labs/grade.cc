// `verbatim grade`: points for what somebody has made of a lab.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/config/quantity.h"
#include "sim/config/words.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/junit.h"
#include "tools/verbatim/labs/lab_folder.h"
#include "tools/verbatim/labs/submission.h"
#include "tools/verbatim/output.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Real time after which a run that does not end is ended: nothing but a submission that never waits comes near it.
constexpr unsigned kRunSeconds = 60;
constexpr std::size_t kLongestReason = 400;  // characters
// What a run may take of the machine before it is ended: processes at a time, and bytes of the disk that all runs share.
constexpr std::size_t kMostProcesses = 200;
constexpr std::uintmax_t kMostWritten = std::uintmax_t{1} << 30;
constexpr int kWatchMs = 200;  // real time from one look at that to the next

struct Grade {
  unsigned points = 0;
  std::string why;  // points are missing; empty: none are
};

// One run that a criterion asks for.
struct Task {
  std::size_t criterion = 0;
  std::string what;  // "with seed 7", "when packet 3 from client is lost"; empty: as the scenario says
  RunOptions options;
  std::string failure;  // set when it has ended and is not right
};

std::string shortened(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  if (text.size() > kLongestReason) text = text.substr(0, kLongestReason) + " …";
  return text;
}

// When the last program of the scenario starts, picoseconds.
std::int64_t last_start_ps(const fs::path& scenario) {
  std::int64_t last = 0;
  const auto json = Json::parse(std::ifstream(scenario), nullptr, false);
  if (!json.is_object()) return 0;
  for (const auto& program : json.value("programs", Json::array())) {
    std::string problem, hint;
    const auto start = config::parse_quantity(program.value("start", "0 s"), config::Dimension::kDuration, &problem, &hint);
    last = std::max(last, start.value_or(0));
  }
  return last;
}

// Processes that descend from this one, as far as they are worth counting.
std::size_t descendants_of(pid_t process) {
  std::vector<pid_t> open = {process};
  std::size_t count = 0;
  while (!open.empty() && count <= kMostProcesses) {
    const std::string folder = "/proc/" + std::to_string(open.back()) + "/task";
    open.pop_back();
    std::error_code error;
    for (const fs::directory_entry& task : fs::directory_iterator(folder, error)) {
      std::ifstream children(task.path() / "children");
      for (pid_t child; children >> child; ++count) open.push_back(child);
    }
  }
  return count;
}

std::uint64_t rnr_naks_in(const Json& run) {
  std::uint64_t naks = 0;
  for (const auto& queue : run.value("queues", Json::array())) naks += queue.value("rnr_naks", std::uint64_t{0});
  return naks;
}

class Grader {
 public:
  Grader(const Lab& lab, Submission& submission, std::vector<std::int64_t> seeds, bool call_by_call, bool shows_progress)
      : lab_(lab),
        submission_(submission),
        seeds_(std::move(seeds)),
        call_by_call_(call_by_call),
        progress_(shows_progress) {}

  // False: interrupted.
  bool run() {
    grades_.resize(lab_.criteria.size());
    progress_.show(lab_.name + ": compiles");
    const bool is_built = submission_.build();
    for (std::size_t i = 0; i < lab_.criteria.size(); ++i) {
      const Criterion& criterion = lab_.criteria[i];
      if (!is_built || (criterion.builds && !submission_.complaint().empty())) {
        grades_[i].why = shortened(submission_.complaint());
      } else if (criterion.builds) {
        grades_[i].points = criterion.points;
      } else {
        add_tasks(i);
      }
    }
    const bool has_run = run_tasks();
    clear_progress();
    if (!has_run) return false;
    count_points();
    return true;
  }

  const std::vector<Grade>& grades() const { return grades_; }

 private:
  void add_tasks(std::size_t index) {
    const Criterion& criterion = lab_.criteria[index];
    RunOptions usual;
    usual.style = {.quiet = true};
    usual.call_by_call = call_by_call_;
    usual.stuck_after = std::to_string(kRunSeconds / 3) + " s";
    usual.arguments = {submission_.folder() / criterion.scenario};
    if (criterion.has_no_findings) usual.checks = {"all=error"};
    const auto add = [&](std::string what, RunOptions options) {
      options.out = out_of(tasks_.size());
      tasks_.push_back({index, std::move(what), std::move(options), ""});
    };
    if (criterion.schedules > 0) {
      std::vector<std::int64_t> seeds = seeds_;
      for (std::int64_t seed = 1; seeds_.empty() && seed <= criterion.schedules; ++seed) seeds.push_back(seed);
      for (const std::int64_t seed : seeds) {
        RunOptions options = usual;
        options.freedom = "spec";
        options.seed = seed;
        add("with seed " + std::to_string(seed), std::move(options));
      }
    } else if (criterion.losses > 0) {
      for (const char* side : {"client", "server"}) {
        for (std::int64_t nth = 1; nth <= criterion.losses; ++nth) {
          RunOptions options = usual;
          options.faults = {Json{{"action", "drop"}, {"from", side}, {"nth", nth}}.dump()};
          add("when packet " + std::to_string(nth) + " from " + side + " is lost", std::move(options));
        }
      }
    } else {
      add("", usual);
    }
  }

  fs::path out_of(std::size_t task) const { return submission_.folder() / ("run-" + std::to_string(task)); }

  bool run_tasks() {
    WorkerPool pool(0, -1);
    std::size_t next = 0;
    while (next < tasks_.size() || !pool.is_idle()) {
      // Of a submission that takes too much nothing more is run.
      for (; next < tasks_.size() && !too_much_.empty(); ++next) tasks_[next].failure = too_much_.begin()->second;
      while (next < tasks_.size() && pool.has_room()) {
        const bool started = pool.start(static_cast<std::int64_t>(next), [&](int core, int output) {
          return start_child(ChildOutput::kFile, output, [&] {
            ::alarm(kRunSeconds);
            RunOptions options = tasks_[next].options;
            options.core = core;
            return cli::run(options);
          });
        });
        if (!started) tasks_[next].failure = "the machine has no room for another process";
        ++next;
      }
      for (const WorkerPool::Ended& ended : pool.await(kWatchMs)) {
        judge(static_cast<std::size_t>(ended.number), ended);
        ++judged_;
      }
      if (progress_.is_due()) {
        progress_.show(lab_.name + ": " + std::to_string(judged_) + " of " + std::to_string(tasks_.size()) + " runs" +
                       progress_.left(static_cast<double>(judged_) / static_cast<double>(tasks_.size())));
      }
      watch(pool);
      if (pool.is_interrupted()) return false;
    }
    return true;
  }

  // Ends runs that take more of the machine than a lab needs.
  void watch(const WorkerPool& pool) {
    std::error_code error;
    const std::uintmax_t free = fs::space(submission_.folder(), error).available;
    const bool is_filling = !error && free_before_ > free && free_before_ - free > kMostWritten;
    for (const auto& [number, process] : pool.running()) {
      const bool is_crowd = descendants_of(process) > kMostProcesses;
      if (!is_filling && !is_crowd) continue;
      too_much_[static_cast<std::size_t>(number)] = is_crowd ? "it has more than " + std::to_string(kMostProcesses) + " processes"
                                                             : "it writes more than 1 GiB to the disk";
      ::kill(process, SIGTERM);
    }
  }

  void judge(std::size_t number, const WorkerPool::Ended& ended) {
    Task& task = tasks_[number];
    const Criterion& criterion = lab_.criteria[task.criterion];
    const std::string said = first_sentence(ended.output);
    ::close(ended.output);
    const auto run = Json::parse(std::ifstream(out_of(number) / "run.json"), nullptr, false);
    if (const auto much = too_much_.find(number); much != too_much_.end()) {
      task.failure = much->second;
    } else if (WIFSIGNALED(ended.status)) {
      task.failure = "it did not come to an end within " + std::to_string(kRunSeconds) + " s";
    } else if (WEXITSTATUS(ended.status) != kAsExpected) {
      task.failure = said.empty() ? "exit code " + std::to_string(WEXITSTATUS(ended.status)) : said;
    } else if (!run.is_object()) {
      task.failure = "the run left no report";
    } else if (criterion.has_no_rnr_naks && rnr_naks_in(run) != 0) {
      task.failure = std::to_string(rnr_naks_in(run)) + " messages came when no receive was posted (RNR NAK)";
    } else if (criterion.most_packets != 0 && run.value("packets", std::uint64_t{0}) > criterion.most_packets) {
      task.failure = std::to_string(run.value("packets", std::uint64_t{0})) + " packets, more than " +
                     std::to_string(criterion.most_packets);
    } else if (criterion.most_us > 0) {
      const std::int64_t start = last_start_ps(submission_.folder() / criterion.scenario);
      const double us = static_cast<double>(run.value("virtual_time_ps", std::int64_t{0}) - start) / 1e6;
      if (us > criterion.most_us) {
        char text[96];
        std::snprintf(text, sizeof text, "%.3f us, longer than %.3f us", us, criterion.most_us);
        task.failure = text;
      }
    }
    std::error_code ignored;
    fs::remove_all(out_of(number), ignored);
  }

  // Of a criterion with many runs each that is right counts; parts of a point do not.
  void count_points() {
    std::map<std::size_t, std::pair<std::size_t, std::size_t>> right;  // by criterion: how many are, of how many
    for (const Task& task : tasks_) {
      auto& [good, all] = right[task.criterion];
      ++all;
      if (task.failure.empty()) {
        ++good;
        continue;
      }
      std::string& why = grades_[task.criterion].why;
      if (why.empty()) why = shortened(task.what + (task.what.empty() ? "" : ": ") + task.failure);
    }
    for (const auto& [criterion, of] : right) {
      grades_[criterion].points = static_cast<unsigned>(lab_.criteria[criterion].points * of.first / of.second);
      if (of.second > 1 && of.first != of.second)
        grades_[criterion].why = std::to_string(of.first) + " of " + std::to_string(of.second) + " runs are right; " +
                                 grades_[criterion].why;
    }
  }

  const Lab& lab_;
  Submission& submission_;
  const std::vector<std::int64_t> seeds_;
  const bool call_by_call_;
  Progress progress_;
  std::size_t judged_ = 0;  // runs
  std::vector<Grade> grades_;
  std::vector<Task> tasks_;
  std::uintmax_t free_before_ = fs::space(submission_.folder()).available;  // bytes of the disk, when the grading began
  std::map<std::size_t, std::string> too_much_;  // of runs that were ended: what they took
};

// Seeds that the submission's author does not know: numbers between anything that is none.
std::optional<std::vector<std::int64_t>> read_seeds(const std::string& file) {
  std::vector<std::int64_t> seeds;
  std::ifstream in(file);
  if (!in) {
    complain("cannot read " + config::in_quotes(file));
    return std::nullopt;
  }
  for (std::string word; in >> word;) {
    const bool is_number = word.size() < 19 && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) {
      complain(config::in_quotes(word) + " in " + config::in_quotes(file) +
               " is not a seed; write whole numbers with spaces between them");
      return std::nullopt;
    }
    seeds.push_back(std::stoll(word));
  }
  if (seeds.empty()) complain(config::in_quotes(file) + " has no seeds");
  return seeds.empty() ? std::nullopt : std::optional(seeds);
}

std::string gradescope_text(const Lab& lab, const std::vector<Grade>& grades) {
  Json tests = Json::array();
  for (std::size_t i = 0; i < grades.size(); ++i) {
    tests.push_back({{"name", lab.criteria[i].name},
                     {"score", grades[i].points},
                     {"max_score", lab.criteria[i].points},
                     {"output", grades[i].why.empty() ? "as it should be" : grades[i].why}});
  }
  return Json{{"tests", tests}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string junit_of(const Lab& lab, const std::vector<Grade>& grades) {
  std::vector<JunitCase> cases;
  for (std::size_t i = 0; i < grades.size(); ++i) cases.push_back({lab.criteria[i].name, grades[i].why});
  return junit_text(lab.name, cases);
}

// The lab that the folder was started from.
std::string marked_lab(const fs::path& folder) {
  const auto json = Json::parse(std::ifstream(folder / kLabMark), nullptr, false);
  return json.is_object() && json.contains("lab") && json["lab"].is_string() ? json["lab"].get<std::string>() : "";
}

}  // namespace

int grade(const GradeOptions& options) {
  const fs::path folder = options.folder;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    complain(config::in_quotes(options.folder) + " is not a folder");
    return kUsage;
  }
  const std::string name = options.lab.empty() ? marked_lab(folder) : options.lab;
  if (name.empty()) {
    complain(config::in_quotes(options.folder) + " does not say which lab it is of (" + kLabMark + "); name it with --lab");
    return kUsage;
  }
  const auto lab = find_lab(name);
  if (!lab) return kUsage;
  std::vector<std::int64_t> seeds;
  if (!options.seeds_file.empty()) {
    const auto read = read_seeds(options.seeds_file);
    if (!read) return kUsage;
    seeds = *read;
  }
  try {
    Submission submission(*lab, folder);
    Answer answer("grade", options.style);
    Grader grader(*lab, submission, std::move(seeds), options.call_by_call, answer.is_for_people());
    if (!grader.run()) return kInterrupted;
    unsigned points = 0, most = 0;
    answer.say("%s: %s\n", lab->name.c_str(), lab->title.c_str());
    Json criteria = Json::array();
    for (std::size_t i = 0; i < lab->criteria.size(); ++i) {
      const Grade& one = grader.grades()[i];
      points += one.points;
      most += lab->criteria[i].points;
      const std::string line = "  " + std::to_string(one.points) + " of " + std::to_string(lab->criteria[i].points) + "  " +
                               lab->criteria[i].name + (one.why.empty() ? "" : "\n          ") + one.why + "\n";
      if (one.why.empty()) answer.say("%s", line.c_str());
      if (!one.why.empty()) answer.say_wrong("%s", line.c_str());
      criteria.push_back(
          {{"name", lab->criteria[i].name}, {"points", one.points}, {"most", lab->criteria[i].points}, {"why", one.why}});
    }
    if (points == most) answer.say("%u of %u points\n", points, most);
    if (points != most) answer.say_wrong("%u of %u points\n", points, most);
    answer.document() = {
        {"lab", lab->name}, {"title", lab->title}, {"points", points}, {"most", most}, {"criteria", std::move(criteria)}};
    for (const auto& [path, text] : {std::pair(options.junit, junit_of(*lab, grader.grades())),
                                     std::pair(options.gradescope, gradescope_text(*lab, grader.grades()))}) {
      const std::string failure = path.empty() ? "" : write_whole_file(path, text);
      if (failure.empty()) continue;
      complain(failure);
      return kUsage;
    }
    return answer.end(points == most ? kAsExpected : kProgramFailed);
  } catch (const fs::filesystem_error& failure) {
    complain(failure.what());
    return kMachineFault;
  }
}

}  // namespace verbatim::cli
