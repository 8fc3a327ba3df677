#include "tools/verbatim/worker_pool.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "tools/verbatim/cli.h"

namespace verbatim::cli {

namespace {

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

std::vector<int> cores_of_runs(int core) { return core >= 0 ? std::vector<int>{core} : allowed_cores(); }

std::size_t jobs_of_runs(int jobs, const std::vector<int>& cores) {
  return jobs > 0 ? static_cast<std::size_t>(jobs) : std::max<std::size_t>(cores.size(), 1);
}

int RunsEnd::next_signal() {
  using Clock = std::chrono::steady_clock;
  const int interruptions = Interruption::count();
  const bool is_asked_again = step_ == Step::kAsked && interruptions > seen_ && !is_wanted_;
  seen_ = interruptions;
  if (step_ == Step::kNone && (is_wanted_ || interruptions != 0)) {
    step_ = Step::kAsked;
    kill_at_ = Clock::now() + std::chrono::milliseconds(supervisor::kKillAfterMs);
    return SIGTERM;
  }
  if (step_ != Step::kAsked || (!is_asked_again && Clock::now() < kill_at_)) return 0;
  step_ = Step::kKilled;
  return SIGKILL;
}

int RunsEnd::wait_ms(int wall_ms) const {
  if (step_ != Step::kAsked) return wall_ms;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(kill_at_ - std::chrono::steady_clock::now()).count();
  const int until_kill = static_cast<int>(std::max<std::int64_t>(left, 0));
  return wall_ms < 0 ? until_kill : std::min(wall_ms, until_kill);
}

WorkerPool::WorkerPool(int jobs, int core) : cores_(cores_of_runs(core)), slots_(jobs_of_runs(jobs, cores_)) {
  ::prctl(PR_SET_DUMPABLE, 0);  // like the workers, which are forked from it: run_once()
}

WorkerPool::~WorkerPool() { abandon(); }

bool WorkerPool::start(std::int64_t number, const std::function<pid_t(int core, int output)>& start) {
  const auto free = static_cast<std::size_t>(std::ranges::find(slots_, false) - slots_.begin());
  const int output = ::memfd_create("verbatim-run", MFD_CLOEXEC);
  const pid_t child = output < 0 ? -1 : start(cores_.empty() ? -1 : cores_[free % cores_.size()], output);
  if (child < 0) {
    if (output >= 0) ::close(output);
    return false;
  }
  slots_[free] = true;
  running_[child] = {number, free, output};
  return true;
}

std::vector<WorkerPool::Ended> WorkerPool::await(int wall_ms) {
  waiting_.wait({}, end_.wait_ms(wall_ms));
  if (const int signal = end_.next_signal(); signal != 0) signal_all(signal);
  std::vector<Ended> ended;
  int status = 0;
  for (pid_t child; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto it = running_.find(child);
    if (it == running_.end()) continue;
    slots_[it->second.slot] = false;
    ended.push_back({it->second.number, status, it->second.output});
    running_.erase(it);
  }
  return ended;
}

std::vector<std::pair<std::int64_t, pid_t>> WorkerPool::running() const {
  std::vector<std::pair<std::int64_t, pid_t>> all;
  for (const auto& [child, run] : running_) all.emplace_back(run.number, child);
  return all;
}

void WorkerPool::signal_all(int signal) {
  for (const auto& [child, run] : running_) ::kill(child, signal);
}

void WorkerPool::abandon() {
  if (running_.empty()) return;
  // The supervisor ends its programs when it is asked to end, and they die with it otherwise.
  end_.begin();
  if (const int signal = end_.next_signal(); signal != 0) signal_all(signal);
  while (!running_.empty()) {
    for (const Ended& ended : await()) ::close(ended.output);
  }
  end_ = {};
}

Silence silence_of(int status) {
  // No code here kills a run whose result is wanted.
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return {kMachineFault, "the run's process was killed from outside (signal 9, SIGKILL), as the machine does when memory runs out"};
  if (WIFSIGNALED(status))
    return {kInternalError, "the run's process was ended by signal " + std::to_string(WTERMSIG(status))};
  const bool has_code = WIFEXITED(status) && WEXITSTATUS(status) != kAsExpected;
  return {has_code ? WEXITSTATUS(status) : static_cast<int>(kInternalError), "the run's process ended without a report"};
}

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

std::string content_of(int fd) {
  std::string text;
  char buffer[65536];
  off_t at = 0;
  for (ssize_t n; (n = ::pread(fd, buffer, sizeof buffer, at)) > 0; at += n) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

bool write_all(int fd, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace verbatim::cli
