#include "tools/verbatim/debugger.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/cli.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::cli {

namespace {

// Whether a debugger has attached to the process.
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

Debugger::~Debugger() { await_gdb(); }

void Debugger::await_gdb() {
  if (gdb_ <= 0) return;
  ::waitpid(gdb_, nullptr, 0);
  gdb_ = -1;
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

void Debugger::on_record(const TraceRecord& record, std::span<const std::byte> bytes) {
  monitor_.on_record(record, bytes);
  if (gdb_ == 0 && program_ && record.time_ps >= to_ps(spec_.from)) attach();
}

void Debugger::attach() {
  std::fflush(nullptr);
  if (!monitor_.begin()) {
    gdb_ = -1;
    return;
  }
  gdb_ = supervisor::fork_process();
  if (gdb_ == 0) {
    const std::string pid = std::to_string(*program_);
    // gdb passes on the signals that the simulator uses in the process without reporting them. A fault of the
    // program itself that raises one of them ends the program, and gdb reports that.
    const std::string quiet = "handle SIGSYS SIGILL " + std::string(spec_.traps_accesses ? "SIGSEGV " : "") + "SIG" +
                              std::to_string(protocol::kPokeSignal) + " nostop noprint pass";
    // Keyboard input, above all Ctrl-C, goes to gdb.
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
    const std::string monitor = "source " + monitor_.hand_to_gdb(), commands = "source " + spec_.commands;
    std::vector<const char*> words = {"gdb", "-q", "-iex", "set debuginfod enabled off", "-iex", libraries.c_str(),
                                      "-iex", monitor.c_str(), "-ex", quiet.c_str(), "-p", pid.c_str()};
    if (!spec_.commands.empty()) words.insert(words.end(), {"-ex", commands.c_str()});
    words.push_back(nullptr);
    ::execvp("gdb", const_cast<char* const*>(words.data()));
    ::_exit(127);
  }
  monitor_.leave_to_gdb();
  // No record is processed until gdb has attached, so the program stops at the requested time.
  while (gdb_ > 0 && !held_ && !has_ended(gdb_)) {
    held_ = is_held(*program_);
    const timespec pause = {0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

std::string Debugger::begin_anew() {
  await_gdb();
  std::ifstream own("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> given;
  for (std::string word; std::getline(own, word, '\0');) given.push_back(word);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& word = given[i];
    const auto is_option = [&word](std::string_view option) { return word == option || word.starts_with(std::string(option) + "="); };
    if (is_option("--gdb-at") || is_option("--gdb-commands")) {
      if (word.find('=') == std::string::npos) ++i;  // the option's value is the next word
    } else {
      words.push_back(word);
    }
    if (i != 1) continue;  // word 1 is the verb; the options follow it
    words.insert(words.end(), {"--gdb-at", std::to_string(to_ps(*monitor_.goes_back_to())) + " ps", "--gdb-commands", monitor_.breakpoints()});
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  monitor_.keep_breakpoints();
  std::fflush(nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const std::string& folder = first_folder();
  if (::chdir(folder.c_str()) == 0) ::execv("/proc/self/exe", arguments.data());
  return std::string("the run cannot be begun again: ") + std::strerror(errno);
}

std::string Debugger::failure() const {
  if (held_) return "";
  if (gdb_ == 0) return program_ ? "gdb was not started: the run ended before its time" : "gdb was not started: its program was not";
  return "gdb did not get hold of the program; it has to be installed, and allowed to attach to processes of yours";
}

}  // namespace verbatim::cli
