#include "tools/verbatim/interrupted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "sim/core/check.h"
#include "sim/core/interruption.h"
#include "tools/verbatim/exit_codes.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/wall_limit.h"

namespace verbatim::cli {

namespace {

// Read by a signal handler; the arrays are large enough for all users.
std::array<const char* volatile, 8> temporary_paths{};
std::array<void (*volatile)(), 4> actions{};
char keeper[4096];  // program that removes a folder; empty: none
bool is_silent = false;

// Removes the folder by another program: the handler may have interrupted functions that a folder walk needs.
void remove_folder(const char* path) {
  const auto remover = static_cast<pid_t>(::syscall(SYS_fork));  // without the C library's fork handlers
  if (remover == 0) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
    ::execl(keeper, "verbatim-keeper", path, static_cast<char*>(nullptr));
    ::_exit(kInternalError);
  }
  while (remover > 0 && ::waitpid(remover, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void end(bool was_slow) {
  for (void (*volatile action)() : actions) {
    if (action != nullptr) action();
  }
  for (const char* volatile path : temporary_paths) {
    if (path != nullptr && ::unlink(path) != 0 && errno == EISDIR && keeper[0] != '\0') remove_folder(path);
  }
  const bool was_limit = WallLimit::is_reached();
  const std::string_view cause = was_limit ? "verbatim: the limit of wall time was reached" : "verbatim: interrupted";
  const std::string_view rest = was_slow ? "; the work in progress did not end by itself and was stopped\n" : "\n";
  for (const std::string_view part : {cause, rest}) {
    if (!is_silent && ::write(STDERR_FILENO, part.data(), part.size()) < 0) is_silent = true;
  }
  ::_exit(was_limit ? kLimit : kInterrupted);
}

}  // namespace

void end_when_interrupted() { Interruption::end_by(end); }

void end_silently_when_interrupted() {
  is_silent = true;
  for (auto& path : temporary_paths) path = nullptr;
  for (auto& action : actions) action = nullptr;
}

void at_interrupted_end(void (*action)()) {
  for (auto& place : actions) {
    if (place != nullptr && place != action) continue;
    place = action;
    return;
  }
  CHECK(false);
}

TemporaryPath::TemporaryPath(std::string path) : path_(std::move(path)) {
  struct stat status;
  if (keeper[0] == '\0' && ::stat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    (shim_directory() + "/keeper").copy(keeper, sizeof keeper - 1);
  for (auto& place : temporary_paths) {
    if (place != nullptr) continue;
    place = path_.c_str();
    return;
  }
  CHECK(false);
}

TemporaryPath::~TemporaryPath() {
  for (auto& place : temporary_paths) {
    if (place == path_.c_str()) place = nullptr;
  }
}

TemporaryFolder::TemporaryFolder(std::string pattern) : path_(std::move(pattern)) {
  // Signals are blocked from the creation of the folder until it is noted.
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const bool is_made = ::mkdtemp(path_.data()) != nullptr;
  const int error = errno;
  if (is_made) removed_.emplace(path_);
  if (!is_made) path_.clear();
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace verbatim::cli
