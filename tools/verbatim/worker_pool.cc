#include "tools/verbatim/worker_pool.h"

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

WorkerPool::WorkerPool(int jobs, int core) : pool_(jobs, core), runs_(pool_.slots()) {
  ::prctl(PR_SET_DUMPABLE, 0);  // like the workers, which are forked from it: run_once()
}

WorkerPool::~WorkerPool() { abandon(); }

bool WorkerPool::start(std::int64_t number, const std::function<pid_t(int core, int output)>& start) {
  const std::size_t slot = pool_.free_slot().value();
  const int output = ::memfd_create("verbatim-run", MFD_CLOEXEC);
  const pid_t child = output < 0 ? -1 : start(pool_.core_of(slot), output);
  if (child < 0) {
    if (output >= 0) ::close(output);
    return false;
  }
  pool_.put(slot, child);
  pool_.set_busy(slot, true);
  runs_[slot] = {number, output};
  return true;
}

std::vector<WorkerPool::Ended> WorkerPool::await(int wall_ms) {
  pool_.wait({}, wall_ms);
  std::vector<Ended> ended;
  for (const auto& [slot, status] : pool_.reap()) ended.push_back({runs_[slot].number, status, runs_[slot].output});
  return ended;
}

std::vector<std::pair<std::int64_t, pid_t>> WorkerPool::running() const {
  std::vector<std::pair<std::int64_t, pid_t>> all;
  for (std::size_t slot = 0; slot < runs_.size(); ++slot) {
    if (pool_.is_busy(slot)) all.emplace_back(runs_[slot].number, pool_.process(slot));
  }
  return all;
}

void WorkerPool::abandon() {
  for (std::size_t slot = 0; slot < runs_.size(); ++slot) {
    if (pool_.is_busy(slot)) ::close(runs_[slot].output);
  }
  pool_.abandon();
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
