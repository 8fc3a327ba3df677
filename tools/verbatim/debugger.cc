#include "tools/verbatim/debugger.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "verbs_shim/protocol/region.h"

namespace verbatim::cli {

namespace {

// Whether a debugger holds the process.
bool is_held(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("TracerPid:", 0) == 0) return std::atoi(line.c_str() + 10) != 0;
  }
  return false;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

}  // namespace

Debugger::~Debugger() {
  if (gdb_ <= 0) return;
  ::waitpid(gdb_, nullptr, 0);
  if (::isatty(STDIN_FILENO) == 0) return;
  ::signal(SIGTTOU, SIG_IGN);
  ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  ::signal(SIGTTOU, SIG_DFL);
}

void Debugger::on_start(std::size_t program, pid_t native_pid, Instant now) {
  if (program != spec_.program || program_) return;
  program_ = native_pid;
  if (now >= spec_.from) attach();
}

void Debugger::on_record(const TraceRecord& record, std::span<const std::byte>) {
  if (gdb_ == 0 && program_ && record.time_ps >= to_ps(spec_.from)) attach();
}

void Debugger::attach() {
  std::fflush(nullptr);
  gdb_ = ::fork();
  if (gdb_ == 0) {
    const std::string pid = std::to_string(*program_);
    // Signals by which the simulator's part of the process works go there without a word.
    const std::string quiet = "handle SIGSYS SIGILL SIG" + std::to_string(protocol::kPokeSignal) + " nostop noprint pass";
    // What is typed, an interrupt above all, is for gdb.
    ::setpgid(0, 0);
    if (::isatty(STDIN_FILENO) != 0) {
      ::signal(SIGTTOU, SIG_IGN);
      ::tcsetpgrp(STDIN_FILENO, ::getpid());
      ::signal(SIGTTOU, SIG_DFL);
    }
    ::signal(SIGPIPE, SIG_DFL);
    const std::string libraries = "set solib-search-path " + spec_.libraries;
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execlp("gdb", "gdb", "-q", "-iex", "set debuginfod enabled off", "-iex", libraries.c_str(), "-ex", quiet.c_str(), "-p", pid.c_str(), nullptr);
    ::_exit(127);
  }
  // No record goes on before the program is held, so the moment is the one that was asked for.
  while (gdb_ > 0 && !held_ && !has_ended(gdb_)) {
    held_ = is_held(*program_);
    const timespec pause = {0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

std::string Debugger::failure() const {
  if (held_) return "";
  if (gdb_ == 0) return program_ ? "gdb was not started: the run ended before its time" : "gdb was not started: its program was not";
  return "gdb did not get hold of the program; it has to be installed, and allowed to attach to processes of yours";
}

}  // namespace verbatim::cli
