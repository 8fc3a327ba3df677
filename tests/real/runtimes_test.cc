// Programs whose language or library brings its own threads, signals, memory and waiting: what is not installed is skipped.
#include <filesystem>

#include "tests/cli/command.h"
#include "tests/equality/both_modes.h"

namespace verbatim::real {
namespace {

using support::RunReport;
using support::RunRequest;

// Equal in both modes and in a second run; what the slices said.
RunReport run_thrice(const RunRequest& request) {
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
  EXPECT_EQ(runs.slices.report["determinism"], "exact") << runs.slices.story();
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
