// A program is killed at any point of its run: its peer gets a retry error, its posted requests are flushed,
// the run ends and nothing is left.
#include <unistd.h>

#include <fstream>

#include "tests/support/leftovers.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::loss {
namespace {

using support::RunReport;

RunReport run_killed(const std::string& folder, int victim, std::int64_t when_us, const std::string& mark,
                     bool call_by_call = false) {
  nlohmann::json programs = {
      {{"host", "server"}, {"command", support::quoted(TRAFFIC_PROGRAM)}},
      {{"host", "client"}, {"command", support::quoted(TRAFFIC_PROGRAM) + " server"}, {"start", "1 ms"}}};
  for (auto& program : programs) program["env"] = {{"MARK", mark}};
  if (victim >= 0) programs[victim]["kill"] = std::to_string(when_us) + " us";
  const std::string path = folder + "/scenario.json";
  std::ofstream(path) << nlohmann::json{{"topology", support::topology("two_hosts")}, {"programs", programs}};
  support::RunRequest request;
  request.scenario = path;
  if (call_by_call) request.options = {"--call-by-call"};
  return support::run(request);
}

TEST(Kill, at_each_of_fifty_points) {
  const support::TemporaryFolder folder;
  const std::string mark = "verbatim-kill-" + std::to_string(::getpid());
  const auto shared_before = support::names_in("/dev/shm");
  const RunReport whole = run_killed(folder.path(), -1, 0, mark);
  ASSERT_EQ(whole.code, 0) << whole.story();
  ASSERT_EQ(whole.output("server"), "all sent and received\n");
  const auto end_us = whole.report["virtual_time_ps"].get<std::int64_t>() / 1'000'000;
  int timed_out = 0, gone = 0;
  for (int point = 0; point < 50; ++point) {
    const int victim = point % 2;
    const std::int64_t start_us = victim == 0 ? 0 : 1'000;
    const std::int64_t from = victim == 0 ? 900 : 1'000;  // before that the server only waits
    const std::int64_t when = std::max(start_us + 1, from + (end_us - from) * point / 50);
    const RunReport run = run_killed(folder.path(), victim, when, mark);
    SCOPED_TRACE("program " + std::to_string(victim) + " killed at " + std::to_string(when) + " us" +
                 run.story());
    EXPECT_EQ(run.code, 0);
    ASSERT_TRUE(run.report.is_object());
    EXPECT_EQ(run.report["outcome"], "finished");
    EXPECT_EQ(run.report["programs"][victim]["signal"], SIGKILL);
    EXPECT_EQ(run.report["programs"][1 - victim]["exit_code"], 0);
    const std::string& said = run.output(victim == 0 ? "client" : "server");
    const bool timeout = said.find("transport retry counter exceeded; ") == 0;
    const bool went = said.find("the other end went away") != std::string::npos;
    EXPECT_TRUE(timeout || went || said == "all sent and received\n") << said;
    timed_out += timeout;
    gone += went;
    EXPECT_TRUE(support::marked_processes(mark).empty());
  }
  EXPECT_EQ(support::names_in("/dev/shm"), shared_before);
  EXPECT_GT(timed_out, 10);
  EXPECT_GT(gone, 10);
}

TEST(Kill, at_the_same_instant_in_slices_and_call_by_call) {
  const support::TemporaryFolder folder;
  const std::pair<int, std::int64_t> kills[] = {{0, 1'350}, {1, 1'250}, {1, 1'400}};
  for (const auto& [victim, when] : kills) {
    const RunReport slices = run_killed(folder.path(), victim, when, "x");
    const RunReport oracle = run_killed(folder.path(), victim, when, "x", true);
    EXPECT_EQ(slices.code, 0) << slices.story();
    EXPECT_EQ(slices.digest(), oracle.digest())
        << victim << " at " << when << slices.story() << oracle.story();
  }
}

// One polls for ever, one sleeps and has a handler, which must run once.
TEST(Kill, background_programs_are_ended_whatever_they_do_when_the_others_have_ended) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no python3";
  const std::string sleeper =
      "import signal, sys, time\n"
      "def on_signal(number, frame):\n"
      "    print('got', number, flush=True)\n"
      "    time.sleep(0.001)\n"
      "    sys.exit(0)\n"
      "signal.signal(signal.SIGTERM, on_signal)\n"
      "while True: time.sleep(1)\n";
  const support::TemporaryFolder folder;
  const std::string path = folder.path() + "/scenario.json";
  std::ofstream(path) << nlohmann::json{
      {"topology", support::topology("two_hosts")},
      {"programs",
       {{{"host", "server"}, {"command", "ibv_rc_pingpong -n 1000"}, {"background", true}},
        {{"host", "server"}, {"command", {"/usr/bin/python3", "-c", sleeper}}, {"background", true}},
        {{"host", "client"},
         {"command", "ibv_rc_pingpong -n 1000 server"},
         {"start", "30 ms"},
         {"kill", "32.5 ms"}}}}};
  support::RunRequest request;
  request.scenario = path;
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  ASSERT_TRUE(run.report.is_object());
  EXPECT_EQ(run.report["programs"][0]["signal"], SIGTERM);
  EXPECT_EQ(run.report["programs"][1]["exit_code"], 0);
  EXPECT_EQ(run.report["programs"][2]["signal"], SIGKILL);
  EXPECT_EQ(run.output("server.2"), "got 15\n");
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

TEST(Kill, a_kill_that_comes_too_late_is_a_warning) {
  const support::TemporaryFolder folder;
  const RunReport run = run_killed(folder.path(), 0, 9'000'000, "x");
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.err.find("warning: on host server, "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(" was not killed, since it had already ended"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace verbatim::loss
