// SIGINT and SIGTERM end every verb with exit code 5 at any moment: no processes or temporary files remain,
// and files are complete or unchanged.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"
#include "tests/support/processes.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using support::descendants_of;
using support::open_in;
using support::Process;
using support::process_of;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Limits for operations that take milliseconds on an idle machine.
constexpr int kPatienceMs = 120'000, kLookMs = 10;

bool comes_true(const std::function<bool()>& condition) {
  for (int waited = 0; waited < kPatienceMs; waited += kLookMs) {
    if (condition()) return true;
    ::usleep(kLookMs * 1000);
  }
  return false;
}

bool is_there(const Process& process) {
  const Process now = process_of(process.pid);
  return now.pid != 0 && now.started == process.started && now.state != 'Z';
}

// `verbatim WORDS` in folder(), with a temporary folder of its own.
class Interrupted : public ::testing::Test {
 protected:
  ~Interrupted() override {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  const std::string& folder() const { return folder_.path(); }
  std::string temporary() const { return folder() + "/tmp"; }
  std::string out() const { return text_of(folder() + "/stdout"); }
  std::string err() const { return text_of(folder() + "/stderr"); }

  // `path`: prepended to PATH; empty: none.
  void start(std::vector<std::string> words, const std::string& path = "") {
    fs::create_directory(temporary());
    words.insert(words.begin(), VERBATIM_PROGRAM);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    child_ = ::fork();
    if (child_ != 0) return;
    ::signal(SIGINT, SIG_DFL);
    if (::chdir(folder().c_str()) != 0) ::_exit(126);
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(::open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    ::dup2(::open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    ::setenv("TMPDIR", temporary().c_str(), 1);
    if (!path.empty()) ::setenv("PATH", (path + ":" + std::getenv("PATH")).c_str(), 1);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }

  // Whether a program has created the file `runs`, in the folder or in a run's copy of it.
  bool has_begun() const {
    std::error_code error;
    for (fs::directory_iterator run(temporary(), error), end; !error && run != end; run.increment(error)) {
      if (fs::exists(run->path() / "views/0/runs", error)) return true;
    }
    return fs::exists(folder() + "/runs");
  }

  // Waits until a simulated program is running that never ends by itself.
  void await_program() {
    ASSERT_TRUE(comes_true([&] {
      if (process_of(child_).state == 'Z') return true;  // reported below
      programs_.clear();
      for (const Process& process : descendants_of(child_)) {
        if (process.name == "sh" && has_begun()) programs_.push_back(process);
      }
      return !programs_.empty();
    }));
    ASSERT_FALSE(programs_.empty()) << out() << err();
  }
  // Child processes of verbatim that execute runs ("exe" is one that has executed itself again).
  std::vector<Process> workers() const {
    std::vector<Process> found;
    for (const Process& process : descendants_of(child_)) {
      if (process.parent == child_ && (process.name == "verbatim" || process.name == "exe")) found.push_back(process);
    }
    return found;
  }
  static void stop(const std::vector<Process>& processes) {
    for (const Process& process : processes) {
      ::kill(process.pid, SIGSTOP);
      ASSERT_TRUE(comes_true([&] { return process_of(process.pid).state == 'T'; }));
    }
  }

  // Checks the exit code and that nothing is left. The duration depends on the machine and is not checked.
  void expect_end_by(int signal) {
    const std::vector<Process> before = descendants_of(child_);
    ASSERT_EQ(::kill(child_, signal), 0);
    int status = 0;
    ASSERT_TRUE(comes_true([&] { return ::waitpid(child_, &status, WNOHANG) == child_; })) << "signal " << signal;
    child_ = 0;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << "status " << status << "\n" << out() << err();
    EXPECT_NE((out() + err()).find("interrupted"), std::string::npos) << out() << err();
    for (const Process& process : before) EXPECT_TRUE(comes_true([&] { return !is_there(process); })) << process.name;
    EXPECT_TRUE(comes_true([&] { return fs::is_empty(temporary()); })) << fs::directory_iterator(temporary())->path();
    for (const auto& entry : fs::recursive_directory_iterator(folder())) EXPECT_NE(entry.path().extension(), ".part") << entry.path();
  }

  // Words for a run on one host whose program creates the file `runs` and never ends, or fails at once if the
  // file `hangs` does not exist.
  std::vector<std::string> words_of(const std::string& verb, std::vector<std::string> options) const {
    std::vector<std::string> words = {verb};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--stuck-after", "10000 s", "--topology", std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology,
                               "server=sh -c 'test -e hangs || exit 3; echo > runs; i=0; while :; do i=$((i+1)); done'"});
    return words;
  }
  void hang() const { std::ofstream(folder() + "/hangs") << "\n"; }

  // A replay file of a failure of that program, recorded while it did not hang.
  std::string replay_file() {
    std::vector<std::string> words = words_of("explore", {"--runs", "1", "--out", folder() + "/found"});
    const Finished run = verbatim(words, folder());
    EXPECT_EQ(run.code, 1) << run.out << run.err;
    return folder() + "/found/failure-1.replay";
  }
  std::string replay_without_decisions(const std::string& of) const {
    auto json = nlohmann::json::parse(text_of(of));
    json["decisions"] = nlohmann::json::array();
    const std::string path = folder() + "/none.replay";
    std::ofstream(path) << json;
    return path;
  }
  // A replay file of the same run with one more decision.
  std::string replay_with_decision(const std::string& of) const {
    auto json = nlohmann::json::parse(text_of(of));
    json["decisions"] = {{{"site", "ack-delay"}, {"actor", "hca/server"}, {"occurrence", 1}, {"answer", 1}, {"of", 145}, {"time_ps", 0}}};
    const std::string path = folder() + "/more.replay";
    std::ofstream(path) << json;
    return path;
  }

  config::Folder folder_;
  std::vector<Process> programs_;
  pid_t child_ = 0;
};

// Processes that are stopped, as by a debugger or a terminal, when the signal arrives.
enum class Stopped { kNothing, kWorkers, kPrograms };

struct Case {
  const char* name;
  int signal;
  Stopped stopped;
};

class InterruptedRuns : public Interrupted, public ::testing::WithParamInterface<Case> {
 protected:
  void expect_end() {
    await_program();
    if (GetParam().stopped == Stopped::kWorkers) stop(workers());
    if (GetParam().stopped == Stopped::kPrograms) stop(programs_);
    expect_end_by(GetParam().signal);
  }
};

TEST_P(InterruptedRuns, run) {
  hang();
  start(words_of("run", {"--out", "out"}));
  expect_end();
  EXPECT_EQ(nlohmann::json::parse(text_of(folder() + "/out/run.json"))["outcome"], "interrupted");
}

TEST_P(InterruptedRuns, seeds) {
  hang();
  start(words_of("run", {"--seeds", "1..100", "--jobs", "2", "--out", "out"}));
  expect_end();
  EXPECT_EQ(nlohmann::json::parse(text_of(folder() + "/out/seeds.json"))["interrupted"], true);
}

// An interrupted point runs again.
TEST_P(InterruptedRuns, sweep) {
  hang();
  nlohmann::json scenario = {{"topology", std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology}};
  scenario["programs"] = {{{"host", "server"}, {"command", words_of("", {}).back().substr(sizeof "server=" - 1)}}};
  std::ofstream(folder() + "/s.json") << scenario;
  start({"sweep", "s.json", "--vary", "seed=1..100", "--jobs", "2", "--out", "out"});
  expect_end();
  EXPECT_NE(out().find("0 of 100 points, 0 failed; interrupted: the same command runs those that are left\n"), std::string::npos) << out();
  EXPECT_FALSE(fs::exists(folder() + "/out/points/001/point.json"));
}

TEST_P(InterruptedRuns, verify) {
  hang();
  start(words_of("run", {"--verify"}));
  expect_end();
}

TEST_P(InterruptedRuns, explore) {
  hang();
  start(words_of("explore", {"--jobs", "2", "--out", "out"}));
  expect_end();
  EXPECT_EQ(nlohmann::json::parse(text_of(folder() + "/out/explore.json"))["interrupted"], true);
}

TEST_P(InterruptedRuns, shrink) {
  const std::string file = replay_file(), before = text_of(file);
  hang();
  start({"shrink", file});
  expect_end();
  EXPECT_EQ(text_of(file), before);
}

TEST_P(InterruptedRuns, bisect) {
  const std::string file = replay_file();
  hang();
  start({"bisect", replay_without_decisions(file), replay_with_decision(file)});
  expect_end();
}

TEST_P(InterruptedRuns, replay) {
  const std::string file = replay_file();
  hang();
  start({"replay", "--out", "out", file});
  expect_end();
}

INSTANTIATE_TEST_SUITE_P(By, InterruptedRuns,
                         ::testing::Values(Case{"SIGINT", SIGINT, Stopped::kNothing}, Case{"SIGTERM", SIGTERM, Stopped::kNothing},
                                           Case{"SIGINT_with_stopped_workers", SIGINT, Stopped::kWorkers},
                                           Case{"SIGTERM_with_stopped_programs", SIGTERM, Stopped::kPrograms}),
                         [](const auto& one) { return std::string(one.param.name); });

// The process that waits has an epoll instance, a timer, an eventfd and a pipe for signals. Neither child
// processes that execute runs nor programs inherit them.
TEST_F(Interrupted, descriptors_by_which_verbatim_waits_reach_nobody_else) {
  hang();
  for (const std::vector<std::string>& words : {words_of("run", {"--seeds", "1..9", "--jobs", "2"}), words_of("explore", {"--jobs", "2"})}) {
    fs::remove(folder() + "/runs");
    start(words);
    await_program();
    std::set<std::string> own;
    for (const auto& [descriptor, name] : open_in(child_)) own.insert(name);
    for (const auto& [descriptor, inherited] : open_in(::getpid())) own.erase(inherited);  // inherited from the test's caller
    EXPECT_TRUE(own.contains("anon_inode:[eventpoll]"));
    std::vector<Process> others = workers();
    EXPECT_FALSE(others.empty());
    others.insert(others.end(), programs_.begin(), programs_.end());
    for (const Process& process : others) {
      for (const auto& [descriptor, name] : open_in(process.pid)) {
        // The launcher's eventfd reserves descriptor numbers of programs.
        EXPECT_FALSE(name == "anon_inode:[eventpoll]" || name == "anon_inode:[timerfd]") << process.name << ": " << name;
        EXPECT_FALSE(name.starts_with("pipe:") && own.contains(name)) << process.name << ": " << name;
      }
    }
    expect_end_by(SIGTERM);
  }
}

// The first run fails at once and creates the file that makes the second run hang.
TEST_F(Interrupted, the_second_run_of_verify) {
  std::vector<std::string> words = words_of("run", {"--verify"});
  words.back() = "server=sh -c 'test -e hangs || { echo > hangs; exit 3; }; echo > runs; i=0; while :; do i=$((i+1)); done'";
  start(words);
  await_program();
  expect_end_by(SIGTERM);
  EXPECT_NE(err().find("verbatim: verify: interrupted in the second run; the first ended with exit code 1\n"), std::string::npos) << err();
}

// The run waits for the reader of its output, so it cannot end by itself when its limit is reached.
TEST_F(Interrupted, a_run_at_its_wall_limit_whose_output_nobody_reads) {
  ASSERT_EQ(::mkfifo((folder() + "/stdout").c_str(), 0600), 0);
  const int reader = ::open((folder() + "/stdout").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  start({"run", "--wall-limit", "100 ms", "--topology", std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology, "server=yes"});
  int status = 0;
  ASSERT_TRUE(comes_true([&] { return ::waitpid(child_, &status, WNOHANG) == child_; }));
  child_ = 0;
  ::close(reader);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 4) << "status " << status << "\n" << err();
  EXPECT_EQ(err(), "verbatim: the limit of wall time was reached; the work in progress did not end by itself and was stopped\n");
  EXPECT_TRUE(comes_true([&] { return fs::is_empty(temporary()); }));
}

// A debugger keeps the program stopped, so only SIGKILL ends it.
TEST_F(Interrupted, a_run_whose_program_is_held_by_a_debugger) {
  hang();
  start(words_of("run", {"--seeds", "1..10", "--jobs", "1"}));
  await_program();
  const pid_t program = programs_.front().pid;
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, program, nullptr, nullptr), 0);
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, program, nullptr, nullptr), 0);
  ASSERT_TRUE(comes_true([&] { return process_of(program).state == 't'; }));
  // The debugger is notified of its end first.
  ASSERT_EQ(::kill(child_, SIGTERM), 0);
  int status = 0;
  ASSERT_TRUE(comes_true([&] {
    ::waitpid(program, nullptr, WNOHANG | __WALL);
    return ::waitpid(child_, &status, WNOHANG) == child_;
  }));
  child_ = 0;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status << out() << err();
  EXPECT_TRUE(comes_true([&] { return ::waitpid(program, nullptr, WNOHANG | __WALL), !is_there(programs_.front()); }));
}

// Probe processes of `check --host` end with it, including the one that stops itself.
TEST_F(Interrupted, check_of_the_machine_leaves_no_process) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const auto is_stopped = [](const Process& process) { return process.state == 'T'; };
  bool was_stopped = false;
  constexpr int kMostTurns = 2000, kStepUs = 50, kSteps = 300;
  for (int turn = 0; turn < kMostTurns && !was_stopped; ++turn) {
    child_ = ::fork();
    if (child_ == 0) {
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, 1);
      ::dup2(null, 2);
      ::execl(VERBATIM_PROGRAM, VERBATIM_PROGRAM, "check", "--host", nullptr);
      ::_exit(127);
    }
    ::usleep(static_cast<useconds_t>(turn % kSteps * kStepUs));
    // A probe process runs until it stops itself.
    ::kill(child_, SIGSTOP);
    ::usleep(1000);
    was_stopped = std::ranges::any_of(descendants_of(child_), is_stopped);
    ::kill(child_, SIGKILL);
    child_ = 0;
    // Orphaned processes become children of this process.
    ASSERT_TRUE(comes_true([] {
      pid_t ended;
      while ((ended = ::waitpid(-1, nullptr, WNOHANG | __WALL)) > 0) {
      }
      return ended < 0 && errno == ECHILD;
    }));
  }
  EXPECT_TRUE(was_stopped);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// After the results of the search, explore reduces tens of thousands of decisions.
TEST_F(Interrupted, explore_that_makes_a_failure_small) {
  start({"explore", "--runs", "4", "--strategy", "random", "--seed", "3", "--shrink-time", "1000 s", "--topology",
         std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology, "--fail-on", "([7-9]|[0-9][0-9])\\.[0-9]* usec/iter", "--out", "out",
         "server=ibv_rc_pingpong -n 2000", "client=ibv_rc_pingpong -n 2000 server"});
  ASSERT_TRUE(comes_true([&] { return err().find(" at a time\n") != std::string::npos; })) << out() << err();
  ::usleep(500'000);  // at any point of the reduction
  expect_end_by(SIGINT);
  EXPECT_TRUE(nlohmann::json::parse(text_of(folder() + "/out/explore.json"))["interrupted"]) << out();
}

// Verbs that only read and compute. They read from a pipe that is never closed, so they never end.
class InterruptedReaders : public Interrupted {
 protected:
  void expect_end(std::vector<std::string> words, int signal) {
    const std::string pipe = folder() + "/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    words.push_back(pipe);
    start(words);
    int writer = -1;
    // open(2) for writing without blocking succeeds when there is a reader.
    ASSERT_TRUE(comes_true([&] { return (writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK)) >= 0; }));
    expect_end_by(signal);
    ::close(writer);
  }
};

TEST_F(InterruptedReaders, report_leaves_the_page_that_was_there) {
  std::ofstream(folder() + "/page.html") << "earlier";
  for (const int signal : {SIGINT, SIGTERM}) {
    expect_end({"report", "-o", "page.html"}, signal);
    fs::remove(folder() + "/pipe");
    EXPECT_EQ(text_of(folder() + "/page.html"), "earlier");
  }
}

TEST_F(InterruptedReaders, ladder) {
  for (const int signal : {SIGINT, SIGTERM}) {
    expect_end({"ladder"}, signal);
    fs::remove(folder() + "/pipe");
  }
}

class InterruptedGrade : public Interrupted {
 protected:
  void make_lab(const std::string& source) {
    ASSERT_EQ(verbatim({"lab", "start", "01-first-pingpong", folder() + "/lab"}).code, 0);
    std::ofstream(folder() + "/lab/lab.c") << source;
  }
};

TEST_F(InterruptedGrade, while_it_compiles) {
  make_lab("int main(void) { return 0; }\n");
  fs::create_directory(folder() + "/programs");
  std::ofstream(folder() + "/programs/make") << "#!/bin/sh\necho > " << folder() << "/runs\nsleep 10000\n";
  ASSERT_EQ(::chmod((folder() + "/programs/make").c_str(), 0755), 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove(folder() + "/runs");
    start({"grade", "lab"}, folder() + "/programs");
    ASSERT_TRUE(comes_true([&] { return fs::exists(folder() + "/runs"); }));
    expect_end_by(signal);
  }
}

TEST_F(InterruptedGrade, while_programs_run) {
  make_lab("int main(void) { volatile unsigned i = 0; for (;;) i = i * 3 + 1; }\n");
  for (const int signal : {SIGINT, SIGTERM}) {
    start({"grade", "lab"});
    ASSERT_TRUE(comes_true([&] {
      for (const Process& process : descendants_of(child_)) {
        if (process.name == "lab") return true;
      }
      return false;
    })) << err();
    expect_end_by(signal);
  }
}

}  // namespace
}  // namespace verbatim::cli
