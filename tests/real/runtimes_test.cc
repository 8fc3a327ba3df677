// Programs whose language or library has its own threads, signals, memory and waits. Tests of software that
// is not installed are skipped.
#include <filesystem>

#include "tests/cli/command.h"
#include "tests/equality/both_modes.h"

namespace verbatim::real {
namespace {

using support::RunReport;
using support::RunRequest;

// Returns the result in slices, after checking that both modes and a second run are equal.
RunReport run_thrice(const RunRequest& request) {
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
  EXPECT_TRUE(equality::is_as_exact_as_the_machine_allows(runs.slices)) << runs.slices.story();
  EXPECT_EQ(support::run(request).digest(), runs.slices.digest());
  return runs.slices;
}

bool is_there(const std::string& check) { return cli::run_command({"sh", "-c", check}).code == 0; }

// cgo, goroutines on several threads that the runtime interrupts by signals, timers, the garbage collector.
TEST(Runtimes, go_calls_verbs) {
  if (!is_there("command -v go && command -v gcc")) GTEST_SKIP() << "go is not installed (golang-go)";
  const support::TemporaryFolder folder;
  const std::string program = folder.path() + "/verbs";
  const cli::Finished built = cli::run_command({"env", "GOCACHE=" + folder.path() + "/cache", "GO111MODULE=off", "go", "build",
                                                "-o", program, REAL_FOLDER "/verbs.go"});
  ASSERT_EQ(built.code, 0) << built.err;
  const RunReport run = run_thrice({.commands = {"server=" + support::quoted(program)}});
  EXPECT_EQ(run.output("server"), "sum 40398190\ntime is up\ndone\n");
}

// Tasks await completions and pauses; one scheduler polls, reads the clock and resumes them.
TEST(Runtimes, coroutines_serve_verbs) {
  const RunReport run = run_thrice({.commands = {"server=" + support::quoted(REAL_PROGRAMS "/coroutines")}});
  EXPECT_EQ(run.output("server"), "80 of 80 exchanges, caught 1\n");
}

// Fibers on stacks of their own, on both hosts; if all wait, the scheduler sleeps in epoll for a completion
// channel.
TEST(Runtimes, fibers_serve_verbs) {
  const std::string fibers = support::quoted(REAL_PROGRAMS "/fibers");
  const RunReport run = run_thrice({.commands = {"server=" + fibers, "client=" + fibers + " server"}});
  EXPECT_EQ(run.output("server"), "served: 180 of 180\n");
  EXPECT_EQ(run.output("client"), "answered: 180 of 180\n");
}

// Devices, channels and sockets with descriptor numbers above thousands of others.
TEST(Runtimes, verbs_work_behind_many_descriptors) {
  const std::string fibers = "=env DESCRIPTORS=5000 " + support::quoted(REAL_PROGRAMS "/fibers");
  const RunReport run = run_thrice({.commands = {"server" + fibers, "client" + fibers + " server"}});
  EXPECT_EQ(run.output("client"), "answered: 180 of 180\n");
}

// A class that calls verbs through JNI, beside a pool of threads, timers and the garbage collector, which
// stops threads by making a page unreadable. The code of interpreter and compiler is generated at run time.
class Java : public ::testing::TestWithParam<const char*> {};

TEST_P(Java, calls_verbs) {
  if (!is_there("command -v javac && command -v gcc")) GTEST_SKIP() << "no Java compiler is installed (openjdk-17-jdk-headless)";
  const support::TemporaryFolder folder;
  const std::string library = folder.path() + "/libverbs_jni.so";
  const cli::Finished built = cli::run_command(
      {"sh", "-c",
       "LC_ALL=C.UTF-8 javac -d " + support::quoted(folder.path()) + " " + support::quoted(REAL_FOLDER "/Verbs.java") +
           " && home=$(dirname $(dirname $(readlink -f $(command -v javac)))) && gcc -shared -fPIC -O2 -I$home/include "
           "-I$home/include/linux " +
           support::quoted(REAL_FOLDER "/verbs_jni.c") + " -libverbs -o " + support::quoted(library)});
  ASSERT_EQ(built.code, 0) << built.err;
  const RunReport run = run_thrice({.commands = {"server=java " + std::string(GetParam()) + " -cp " +
                                                 support::quoted(folder.path()) + " Verbs " + support::quoted(library)}});
  EXPECT_EQ(run.output("server"), "echoed 20, sum 81996120, ended true\nclosed 0\ncaught\n");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Java, ::testing::Values("-XX:+UseSerialGC", "-XX:+UseG1GC"),
                         [](const auto& info) { return std::string(info.param).substr(8); });

class Allocator : public ::testing::TestWithParam<const char*> {};

TEST_P(Allocator, serves_a_verbs_program) {
  const std::string library = std::string("/usr/lib/x86_64-linux-gnu/") + GetParam();
  if (!std::filesystem::exists(library)) GTEST_SKIP() << library << " is not installed";
  const std::string command = "=env LD_PRELOAD=" + library + " ibv_rc_pingpong -n 100";
  const RunReport run = run_thrice({.commands = {"server" + command, "client" + command + " server"}});
  EXPECT_NE(run.output("client").find("100 iters"), std::string::npos) << run.story();
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Allocator, ::testing::Values("libjemalloc.so.2", "libtcmalloc_minimal.so.4"),
                         [](const auto& info) { return std::string(info.param[3] == 'j' ? "jemalloc" : "tcmalloc"); });

// An interpreter executes thousands of instructions between polls, in newly allocated memory. Without a
// proof, two polling programs of one host would hand over to each other at every poll.
TEST(Runtimes, python_polls_beside_another) {
  if (!is_there("/usr/bin/python3 -c 'import pyverbs'")) GTEST_SKIP() << "pyverbs is not installed (python3-pyverbs)";
  const auto poll_for = [](const std::string& milliseconds) {
    const std::string program = "server=python3 " + support::quoted(REAL_FOLDER "/polling.py") + " " + milliseconds;
    return RunRequest{.commands = {program, program}, .options = {"--stagger", "0 s"}};
  };
  run_thrice(poll_for("1"));
  const RunReport run = support::run(poll_for("100"));
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), run.output("server.2"));
  EXPECT_LT(run.report["hand_overs"], 200'000) << "most of four million polls are not executed";
}

// Programs that load libibverbs with dlopen() use its development name (brpc) or a path.
TEST(Runtimes, a_library_opened_by_any_of_its_names_has_adapters) {
  const std::string real = cli::run_command({"sh", "-c", "ls /usr/lib/*/libibverbs.so /lib64/libibverbs.so 2>/dev/null | head -1"}).out;
  if (real.empty()) GTEST_SKIP() << "libibverbs.so is not installed (libibverbs-dev)";
  const std::string path = real.substr(0, real.find('\n'));
  const RunReport run = run_thrice({.commands = {"server=" + support::quoted(REAL_PROGRAMS "/opens_library") + " libibverbs.so libibverbs.so.1 " + path + " " +
                                                 path + ".1 libbeside.so libibverbs.so.2 libibverbs.sox"}});
  EXPECT_EQ(run.output("server"),
            "libibverbs.so: 1 adapter\nlibibverbs.so.1: 1 adapter\n" + path + ": 1 adapter\n" + path +
                ".1: 1 adapter\nlibbeside.so: no ibv_get_device_list\n"
                "libibverbs.so.2: cannot open shared object file: No such file or directory\n"
                "libibverbs.sox: cannot open shared object file: No such file or directory\n");
}

TEST(Runtimes, python_talks_over_zeromq) {
  if (!is_there("/usr/bin/python3 -c 'import zmq'")) GTEST_SKIP() << "ZeroMQ for Python is not installed (python3-zmq)";
  const std::string folder = support::quoted(REAL_FOLDER);
  const RunReport run = run_thrice({.commands = {"server=/usr/bin/python3 " + folder + "/zeromq_server.py",
                                                 "client=/usr/bin/python3 " + folder + "/zeromq_client.py"}});
  EXPECT_EQ(run.output("server"), "served 20\n");
  EXPECT_EQ(run.output("client"), "message 19\n");
}

}  // namespace
}  // namespace verbatim::real
