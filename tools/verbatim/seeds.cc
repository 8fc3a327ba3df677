// `run --seeds`: many runs, each in a process of its own, as many at a time as there are processors. What is
// printed depends on the runs alone: results come in the order of the seeds.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/config/words.h"
#include "tools/verbatim/output.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

// What the run complained about: the first sentence.
std::string first_sentence(int fd) {
  std::string text(4096, '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  std::istringstream lines(text);
  constexpr std::string_view kName = "verbatim: ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kName)) return line.substr(kName.size());
  }
  return text.substr(0, text.find('\n'));
}

class SeedRuns {
 public:
  SeedRuns(const SeedRange& seeds, const RunOptions& options) : seeds_(seeds), options_(options) {}

  int run() {
    const std::vector<int> cores = options_.core >= 0 ? std::vector<int>{options_.core} : allowed_cores();
    const std::size_t jobs =
        options_.jobs > 0 ? static_cast<std::size_t>(options_.jobs) : std::max<std::size_t>(cores.size(), 1);
    slots_.resize(jobs);
    block_signals();
    std::int64_t next = seeds_.first;
    bool more = true;
    while (more || !running_.empty()) {
      for (std::size_t slot = 0; more && slot < jobs; ++slot) {
        if (slots_[slot]) continue;
        if (!start(next, slot, cores.empty() ? -1 : cores[slot % cores.size()])) return kInternalError;
        more = next++ != seeds_.last;
      }
      await_signal();
      more = more && !interrupted_;
      collect();
      report();
      if (worst_ == kUsage) return kUsage;
    }
    return finish();
  }

 private:
  struct Run {
    std::int64_t seed = 0;
    std::size_t slot = 0;
    int output = -1;
  };
  struct Result {
    int code = 0;
    std::string sentence;
  };

  std::string folder_of(std::int64_t seed) const {
    return options_.out.empty() ? "" : options_.out + "/seed-" + std::to_string(seed);
  }

  bool start(std::int64_t seed, std::size_t slot, int core) {
    RunOptions one = options_;
    one.seed = seed;
    one.core = core;
    std::vector<std::string> words = {"--quiet", "--log", options_.log};
    if (options_.verify) words.push_back("--verify");
    if (!options_.out.empty()) words.insert(words.end(), {"--out", folder_of(seed)});
    const std::vector<std::string> rest = words_of(one);
    words.insert(words.end(), rest.begin(), rest.end());
    const int output = ::memfd_create("verbatim-seed", MFD_CLOEXEC);
    const pid_t child = output < 0 ? -1 : start_again(std::move(words), ChildOutput::kFile, output);
    if (child < 0) {
      complain("the run of seed " + std::to_string(seed) + " cannot be started");
      return false;
    }
    slots_[slot] = true;
    running_[child] = {seed, slot, output};
    return true;
  }

  // Those that end the runs, and that of a run which has ended. They come by await_signal() alone.
  void block_signals() {
    ::sigemptyset(&awaited_);
    ::sigaddset(&awaited_, SIGCHLD);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now {};
      // nohup and the like have it ignored, and mean it.
      if (signal == SIGHUP && ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
      ::sigaddset(&awaited_, signal);
    }
    ::sigprocmask(SIG_BLOCK, &awaited_, nullptr);
  }

  // Who interrupts has the runs under way end at once, and no more begin; asked again, they are killed.
  void await_signal() {
    int signal = 0;
    if (::sigwait(&awaited_, &signal) != 0 || signal == SIGCHLD) return;
    for (const auto& [child, run] : running_) ::kill(child, interrupted_ ? SIGKILL : SIGTERM);
    interrupted_ = true;
  }

  void collect() {
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto it = running_.find(ended);
      if (it == running_.end()) continue;
      Result result;
      result.code = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kInternalError);
      result.sentence = first_sentence(it->second.output);
      ::close(it->second.output);
      slots_[it->second.slot] = false;
      const bool cut_off = interrupted_ && (!WIFEXITED(status) || result.code == kInterrupted);
      if (!cut_off) waiting_.emplace(it->second.seed, std::move(result));
      running_.erase(it);
    }
  }

  // Results that are next in the order of the seeds.
  void report() {
    const bool all = interrupted_ && running_.empty();  // those in between never come
    for (auto it = waiting_.begin();
         it != waiting_.end() && (all || it->first == reported_ + seeds_.first); it = waiting_.erase(it)) {
      const auto& [seed, result] = *it;
      ++reported_;
      nlohmann::ordered_json entry = {{"seed", seed}, {"exit_code", result.code}};
      if (!options_.out.empty()) {
        std::ifstream file(folder_of(seed) + "/run.json");
        const auto run = nlohmann::json::parse(file, nullptr, false);
        if (run.is_object()) {
          for (const char* key : {"digest", "outcome", "virtual_time_ps"})
            entry[key] = run.value(key, nlohmann::json());
        }
      }
      if (result.code == kAsExpected) {
        std::error_code ignored;
        if (!options_.out.empty()) fs::remove_all(folder_of(seed), ignored);
      } else {
        entry["finding"] = result.sentence;
        std::printf("seed %lld: exit code %d: %s\n", static_cast<long long>(seed), result.code,
                    result.sentence.c_str());
        std::fflush(stdout);
        failed_.push_back(seed);
        // A bug of ours or a mistake of the user's is not to be taken for the program's.
        worst_ = result.code == kUsage || result.code == kInternalError
                     ? std::max(worst_, result.code)
                     : std::max<int>(worst_, kProgramFailed);
      }
      entries_.push_back(std::move(entry));
    }
  }

  int finish() {
    const std::int64_t count = seeds_.last - seeds_.first + 1;
    const long long as_expected = reported_ - static_cast<std::int64_t>(failed_.size()), left = count - reported_;
    std::printf("seeds %lld..%lld: %lld as expected, %zu failed", static_cast<long long>(seeds_.first),
                static_cast<long long>(seeds_.last), as_expected, failed_.size());
    if (interrupted_) std::printf(", %lld not run to the end: interrupted", left);
    std::printf("\n");
    std::string repeat;
    if (!failed_.empty()) {
      RunOptions one = options_;
      one.seed = failed_.front();
      std::vector<std::string> words = {::program_invocation_name, "run"};
      const std::vector<std::string> rest = words_of(one);
      words.insert(words.end(), rest.begin(), rest.end());
      repeat = config::join_words(words);
      std::printf("repeat: %s\n", repeat.c_str());
    }
    if (!options_.out.empty()) {
      nlohmann::ordered_json summary = {
          {"version", VERBATIM_VERSION}, {"seeds", entries_}, {"failed", failed_}, {"interrupted", interrupted_}};
      if (!repeat.empty()) summary["repeat"] = repeat;
      std::error_code ignored;
      fs::create_directories(options_.out, ignored);
      const std::string failure =
          write_whole_file(options_.out + "/seeds.json",
                           summary.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
      if (!failure.empty()) {
        complain(failure);
        if (worst_ == kAsExpected) worst_ = kProgramFailed;
      }
    }
    return interrupted_ && worst_ != kInternalError ? static_cast<int>(kInterrupted) : worst_;
  }

  const SeedRange seeds_;
  const RunOptions& options_;
  std::vector<bool> slots_;  // in use
  std::map<pid_t, Run> running_;
  std::map<std::int64_t, Result> waiting_;  // for those of smaller seeds
  std::int64_t reported_ = 0;
  std::vector<std::int64_t> failed_;
  nlohmann::ordered_json entries_ = nlohmann::ordered_json::array();
  int worst_ = kAsExpected;
  sigset_t awaited_;
  bool interrupted_ = false;
};

}  // namespace

int run_seeds(const SeedRange& seeds, const RunOptions& options) { return SeedRuns(seeds, options).run(); }

}  // namespace verbatim::cli
