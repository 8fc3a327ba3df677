// Events of the machine are not events of the run: the run ends as a fault of the machine, or is weak.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "sim/core/sanitizer.h"
#include "tests/cli/command.h"
#include "tests/golden/surroundings.h"
#include "tests/process/programs.h"

namespace verbatim::process {
namespace {

namespace fs = std::filesystem;
using support::RunReport;
using testing::HasSubstr;

constexpr int kMachineFault = 71;

// A run during which another process sends `signal` to the program, found by `mark` in its command line. The
// signal is sent when the program has created the file `<its script>.ready`; then `<its script>.sent` is
// created.
RunReport run_and_send(int signal, const std::string& program, const std::string& mark) {
  const support::TemporaryFolder folder;
  const std::string script = folder.path() + "/" + mark;
  std::ofstream(script) << program;
  const pid_t sender = fork();
  if (sender == 0) {
    const std::string file = support::quoted(script);
    const std::string find = "for i in $(seq 1000); do [ -e " + file + ".ready ] && p=$(pgrep -xf 'python3 '" + file +
                             ") && kill -" + std::to_string(signal) + " $p && sleep 0.1 && touch " + file +
                             ".sent && exit; sleep 0.03; done";
    execl("/bin/sh", "sh", "-c", find.c_str(), nullptr);
    _exit(127);
  }
  const RunReport run = support::run({.commands = {"server=python3 " + script}});
  kill(sender, SIGKILL);
  waitpid(sender, nullptr, 0);
  return run;
}

// Each loop is a call, so that it is not taken for one that gives no sign of life.
constexpr const char* kUntilKilled = "import os, sys\nopen(sys.argv[0] + '.ready', 'w')\nwhile True: os.getppid()\n";
constexpr const char* kUntilSent = "import os, signal, sys\n"
                                   "signal.signal(signal.SIGUSR1, lambda *a: print('got it'))\n"
                                   "open(sys.argv[0] + '.ready', 'w')\n"
                                   "while not os.path.exists(sys.argv[0] + '.sent'): os.getppid()\n"
                                   "print('done')\n";
// The child computes under another name; the parent waits for ever, and is the process that is found.
constexpr const char* kBusyParentOfSleeper =
    "import os, sys\nends = os.pipe()\nif os.fork() == 0:\n  os.close(ends[1])\n"
    "  os.execvp('python3', ['busy', '-c', 'import os, sys\\nopen(sys.argv[1] + \".ready\", \"w\")\\n'\n"
    "    'while not os.path.exists(sys.argv[1] + \".sent\"): os.getppid()', sys.argv[0]])\n"
    "os.read(ends[0], 1)\n";

TEST(Machine, ends_a_program_from_outside) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    const RunReport run = run_and_send(signal, kUntilKilled, "busy_until_killed");
    EXPECT_EQ(run.code, kMachineFault) << run.story();
    EXPECT_THAT(run.err, HasSubstr("was ended by signal " + std::to_string(signal)));
    EXPECT_THAT(run.err, HasSubstr("verbatim: this machine (no simulated host) ended the run at "));
    EXPECT_EQ(run.report["outcome"], "machine");
  }
}

// One that none of its threads was to run when it happened.
TEST(Machine, ends_a_program_that_sleeps) {
  const RunReport run = run_and_send(SIGKILL, kBusyParentOfSleeper, "sleeper");
  EXPECT_EQ(run.code, kMachineFault) << run.story();
  EXPECT_THAT(run.err, HasSubstr("was ended by signal 9"));
}

TEST(Machine, sends_a_signal) {
  const RunReport run = run_and_send(SIGUSR1, kUntilSent, "handles_a_signal");
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "done\n");
  EXPECT_EQ(run.report["determinism"], "weak");
  EXPECT_THAT(run.report["weak"].dump(), HasSubstr("signal 10 (User defined signal 1) came from outside of the simulation"));
}

// The same signals within the simulation are the simulation's.
TEST(Machine, is_not_blamed_for_what_programs_do) {
  const RunReport run = support::run({.commands = {
      "server=sh -c 'sleep 9 & kill -9 $!; wait $!; echo $?; sleep 9 & kill $!; wait $!; echo $?; trap \"echo caught\" USR1; "
      "kill -USR1 $$; sh -c \"kill -QUIT \\$\\$\"; echo $?; kill -TERM $$'"}});
  EXPECT_EQ(run.output("server"), "137\n143\ncaught\n131\n") << run.story();
  EXPECT_EQ(run.report["determinism"], "exact") << run.story();
  EXPECT_EQ(run.report["programs"][0]["signal"], SIGTERM);
}

RunReport run_limited(const std::string& limit, const std::string& program, std::size_t programs = 1) {
  static const golden::Unprivileged kUser;
  if (!kUser.reason().empty()) return {};
  const support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/program.py") << program;
  fs::permissions(folder.path(), fs::perms::all);
  support::RunRequest request = kUser.setting().request;
  request.wrapper = {"prlimit", limit};
  request.wrapper.insert(request.wrapper.end(), kUser.setting().request.wrapper.begin(),
                         kUser.setting().request.wrapper.end());
  // A user of whom there are no other processes, not even of another test's run.
  static int runs = 0;
  const int user = 66'000 + (getpid() * 16 + runs++) % 1'000'000;
  for (std::string& word : request.wrapper) {
    if (word == "--reuid=65534") word = "--reuid=" + std::to_string(user);
  }
  request.commands.assign(programs, "server=python3 " + folder.path() + "/program.py");
  return support::run(request);
}

TEST(Machine, refuses_a_thread) {
  const RunReport run = run_limited("--nproc=20", "import threading\nend = threading.Event()\n"
                                                  "for i in range(30): threading.Thread(target=end.wait).start()\nend.set()\n");
  if (run.code == -1) GTEST_SKIP() << "needs root, to play another user";
  EXPECT_EQ(run.code, kMachineFault) << run.story();
  EXPECT_THAT(run.err, HasSubstr("got no new thread: the machine refused one"));
}

TEST(Machine, refuses_a_process) {
  const RunReport run = run_limited("--nproc=20", "import os, time\nfor i in range(30):\n  if os.fork() == 0:\n    "
                                                  "time.sleep(100)\n    os._exit(0)\n");
  if (run.code == -1) GTEST_SKIP() << "needs root, to play another user";
  EXPECT_EQ(run.code, kMachineFault) << run.story();
  EXPECT_THAT(run.err, HasSubstr("could not fork: the machine refused a new process"));
}

// Six are the simulator and at most five programs, none of which ends before all are started.
TEST(Machine, refuses_to_start_a_program) {
  const RunReport run = run_limited("--nproc=6", "import time\ntime.sleep(1)\n", 8);
  if (run.code == -1) GTEST_SKIP() << "needs root, to play another user";
  EXPECT_EQ(run.code, kMachineFault) << run.story();
  EXPECT_THAT(run.err, HasSubstr("cannot start a process: Resource temporarily unavailable"));
  EXPECT_THAT(run.err, HasSubstr("raise the limit on processes (ulimit -u)"));
}

// One process is the simulator: the limit is checked before anything is started.
TEST(Machine, has_no_room_for_a_program) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer starts a process of its own when it ends";
  const RunReport run = run_limited("--nproc=1", "print('started')\n");
  if (run.code == -1) GTEST_SKIP() << "needs root, to play another user";
  EXPECT_EQ(run.code, 2) << run.story();
  EXPECT_THAT(run.err, HasSubstr("raise the limit on processes (ulimit -u); nothing was started"));
}

// Small allocations do not reach the simulator, but their failure is reported.
TEST(Machine, has_no_more_memory_in_small_pieces) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer needs more address space than this limit leaves";
  const std::string take = "import mmap\nall = [mmap.mmap(-1, size << 30, mmap.MAP_PRIVATE | 0x4000) for size in (100, 60)]\n"
                           "try:\n  while True: all.append(mmap.mmap(-1, 512 << 10, mmap.MAP_PRIVATE | 0x4000))\n"
                           "except OSError as e: print(e.errno)\n";
  const RunReport run = run_limited("--as=250000000000:250000000000", take);
  if (run.code == -1) GTEST_SKIP() << "needs root, to play another user";
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "12\n");
  EXPECT_EQ(run.report["determinism"], "weak") << run.story();
  EXPECT_THAT(run.report["weak"].dump(), HasSubstr("so small pieces may have been refused"));
  const RunReport free = run_limited("--as=20000000000000:20000000000000", "print('little')\n");
  EXPECT_EQ(free.report["determinism"], "exact") << free.story();
}

// All addresses up to the stack's are taken where a program's libraries are to lie lower.
TEST(Machine, has_too_little_address_space_to_decide_where_libraries_lie) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer needs more address space than this limit leaves";
  const std::string look = "print([line[:4] for line in open('/proc/self/maps') if 'libc.so' in line][0])\n";
  const RunReport run = run_limited("--as=250000000000:250000000000", look);
  if (run.code == -1) GTEST_SKIP() << "needs root, to play another user";
  EXPECT_EQ(run.output("server"), "7fff\n") << run.story();
  EXPECT_EQ(run.report["determinism"], "weak");
  EXPECT_THAT(run.report["weak"].dump(), HasSubstr("has its libraries at other addresses than on other machines"));
  const RunReport free = run_limited("--as=20000000000000:20000000000000", look);
  EXPECT_EQ(free.output("server"), "6eff\n") << free.story();
  EXPECT_EQ(free.report["determinism"], "exact") << free.story();
}

TEST(Machine, refuses_memory) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer needs more address space than this limit leaves";
  const std::string take = "import mmap\nfor i in range(3):\n  try: m = mmap.mmap(-1, 100 << 30, mmap.MAP_PRIVATE | 0x4000)\n"
                           "  except OSError as e: print(e.errno)\n";
  const RunReport run = run_limited("--as=250000000000:250000000000", take);
  if (run.code == -1) GTEST_SKIP() << "needs root, to play another user";
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_THAT(run.output("server"), HasSubstr("12\n"));
  EXPECT_EQ(run.report["determinism"], "weak") << run.story();
  EXPECT_THAT(run.report["weak"].dump(), HasSubstr("the machine refused mmap of 107374182400 bytes: Cannot allocate memory"));
  // A limit of the program's own is its own.
  const RunReport own = run_limited("--nofile=4096", "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36))\n" + take);
  EXPECT_EQ(own.output("server"), "12\n12\n12\n") << own.story();
  EXPECT_EQ(own.report["determinism"], "exact") << own.story();
}

TEST(Machine, has_no_room_for_a_file) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to mount a small file system";
  const support::TemporaryFolder folder;
  support::RunRequest request;
  request.commands = {"server=sh -c 'head -c 3000000 /dev/zero > /tmp/large; echo $?; ls -l /tmp | wc -l'"};
  request.wrapper = {"unshare", "--mount", "sh", "-c",
                     "mount -t tmpfs -o size=2m small " + support::quoted(folder.path()) + " && TMPDIR=" +
                         support::quoted(folder.path()) + " exec \"$@\"", "sh"};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.report["determinism"], "weak") << run.story();
  EXPECT_THAT(run.report["weak"].dump(), HasSubstr("the machine refused write: No space left on device"));
}

// A name space of users has limits of its own.
TEST(Machine, watches_no_files) {
  support::RunRequest request;
  request.commands = {"server=python3 -c 'import ctypes; libc = ctypes.CDLL(None, use_errno=True); fd = libc.inotify_init(); "
                      "print(libc.inotify_add_watch(fd, b\"/usr\", 2), libc.inotify_add_watch(fd, b\"/tmp\", 2), "
                      "ctypes.get_errno())'"};
  request.wrapper = {"unshare", "-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\"", "sh"};
  std::vector<std::string> alone = request.wrapper;
  alone.push_back("true");
  if (cli::run_command(alone).code != 0) GTEST_SKIP() << "this machine makes no name spaces of users";
  const RunReport run = support::run(request);
  EXPECT_EQ(run.output("server"), "1 -1 24\n") << run.story();
  EXPECT_EQ(run.report["determinism"], "weak");
  EXPECT_THAT(run.report["weak"].dump(), HasSubstr("the machine refused inotify_add_watch: Too many open files"));
}

// Calls that are answered before their time are hand-overs as others are: the simulator takes a processor of its own for them.
TEST(Machine, calls_answered_ahead_have_the_second_processor) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "this machine has one processor";
  const RunReport run = support::run({.commands = {"server=sh -c 'for i in $(seq 2000); do [ -e /proc/version ]; done'"},
                                      .options = {"--second-core", "always", "--log", "debug"}});
  ASSERT_EQ(run.code, 0) << run.story();
  std::smatch found;
  ASSERT_TRUE(std::regex_search(run.err, found, std::regex("; ([0-9]+) answered before their time"))) << run.err;
  EXPECT_GE(std::stoi(found[1]), 2000);
  ASSERT_TRUE(std::regex_search(run.err, found, std::regex("about ([0-9]+) hand-overs with a second processor"))) << run.err;
  EXPECT_GE(std::stoi(found[1]), 1500);
}

}  // namespace
}  // namespace verbatim::process
