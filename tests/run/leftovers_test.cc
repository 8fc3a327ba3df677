// `kill -9` of verbatim at any moment leaves nothing behind: no process, no shared memory, no file.
#include "tests/support/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "sim/core/sanitizer.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::marked_processes;
using support::names_in;

// A run whose programs have the mark in their environment. It does not end by itself, because the last one
// does not.
std::string scenario_in(const std::string& folder, const std::string& mark) {
  nlohmann::json programs;
  const std::string stuck = support::quoted(PROCESS_FOLDER "/stuck") + " thread";
  for (const std::string& command : std::initializer_list<std::string>{
           "ibv_rc_pingpong -n 100000", "ibv_rc_pingpong -n 100000 server", stuck}) {
    programs.push_back({{"host", programs.empty() ? "server" : "client"},
                        {"command", command},
                        {"start", std::to_string(100 * programs.size()) + " ms"},
                        {"env", {{"MARK", mark}}}});
  }
  std::string path = folder + "/scenario.json";
  std::ofstream(path) << nlohmann::json{{"topology", support::topology("two_hosts")}, {"programs", programs}};
  return path;
}

// Verbatim as a child of ours, its temporary files in `folder`.
pid_t start(const std::string& scenario, const std::string& folder, bool verify) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  ::setenv("TMPDIR", folder.c_str(), 1);
  const std::string program = support::verbatim_program();
  ::execl(program.c_str(), program.c_str(), "run", verify ? "--verify" : "--quiet", scenario.c_str(),
          nullptr);
  ::_exit(127);
}

TEST(Leftovers, killed_at_random_moments) {
  const support::TemporaryFolder folder, files;
  const std::string mark = "verbatim-leftovers-" + std::to_string(::getpid());
  const std::string scenario = scenario_in(files.path(), mark);
  const auto shared_before = names_in("/dev/shm");
  std::mt19937 random(20);  // the moments are of wall-clock time; the seed only spreads them
  constexpr int kLongestUs = kHasAddressSanitizer ? 3'000'000 : 300'000;  // it starts ten times as slowly then
  int alive_at_kill = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = start(scenario, folder.path(), round % 2 == 1);
    ASSERT_GT(child, 0);
    const int wait_us = static_cast<int>(random() % kLongestUs);
    ::usleep(static_cast<useconds_t>(wait_us));
    alive_at_kill += !marked_processes(mark).empty();
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "verbatim ended by itself with " << WEXITSTATUS(status);
    // Death by PR_SET_PDEATHSIG is immediate, but a loaded machine needs a moment to carry it out.
    std::set<pid_t> left;
    for (int tries = 0; tries < 500; ++tries) {
      left = marked_processes(mark);
      if (left.empty()) break;
      ::usleep(10'000);
    }
    EXPECT_TRUE(left.empty()) << "process " << *left.begin() << " lives on after " << wait_us << " us";
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    for (int tries = 0; tries < 500 && !names_in(folder.path()).empty(); ++tries) ::usleep(10'000);
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{}) << "files left after " << wait_us << " us";
  }
  EXPECT_EQ(names_in("/dev/shm"), shared_before);
  EXPECT_GE(alive_at_kill, 10) << "most kills should hit a run under way";
}

// Regular signals to stop a run: it ends at once with a sentence and leaves nothing behind.
TEST(Leftovers, interrupted_runs_end_all_their_programs) {
  ::signal(SIGHUP, SIG_DFL);  // the caller may have it ignored
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const support::TemporaryFolder folder, files;
    const std::string mark = "verbatim-interrupted-" + std::to_string(::getpid());
    const pid_t child = start(scenario_in(files.path(), mark), folder.path(), signal == SIGINT);
    ASSERT_GT(child, 0);
    for (int tries = 0; tries < 500 && marked_processes(mark).size() < 2; ++tries) ::usleep(10'000);
    ::usleep(100'000);
    ASSERT_EQ(::kill(child, signal), 0);
    int status = 0;
    pid_t ended = 0;
    for (int tries = 0; tries < 1000 && ended == 0; ++tries, ::usleep(10'000))
      ended = ::waitpid(child, &status, WNOHANG);
    EXPECT_EQ(ended, child) << "signal " << signal << " does not stop a run";
    if (ended == 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << "signal " << signal << ", status " << status;
    std::set<pid_t> left;
    for (int tries = 0; tries < 500; ++tries, ::usleep(10'000)) {
      left = marked_processes(mark);
      if (left.empty()) break;
    }
    EXPECT_TRUE(left.empty()) << "after signal " << signal;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    for (int tries = 0; tries < 500 && !names_in(folder.path()).empty(); ++tries) ::usleep(10'000);
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{});
  }
}

TEST(Leftovers, an_ordinary_run_leaves_only_its_results) {
  const support::TemporaryFolder folder;
  const auto shared_before = names_in("/dev/shm");
  const support::RunReport run =
      support::run({.commands = {"server=ibv_rc_pingpong -n 10", "client=ibv_rc_pingpong -n 10 server"},
                    .working_directory = folder.path(),
                    .environment = {{"TMPDIR", folder.path()}}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{});
  EXPECT_EQ(names_in("/dev/shm"), shared_before);
}

}  // namespace
}  // namespace verbatim
