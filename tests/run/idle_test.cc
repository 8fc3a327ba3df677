// Runs that would never end: programs whose timers fire for ever, and background programs that do not end at SIGTERM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using ::testing::HasSubstr;
using ::testing::Not;

std::string which(const std::string& name) { return support::quoted(TIMERS_ONLY) + " " + name; }

RunReport run(const std::string& name, std::vector<std::string> options = {}) {
  return support::run({.commands = {"server=" + which(name)}, .options = std::move(options)});
}

struct Waits {
  const char* name;
  const char* wait;  // of the finding
};

class OnlyTimers : public testing::TestWithParam<Waits> {};

// At the same time in both modes.
TEST_P(OnlyTimers, fire_until_the_run_is_ended_as_a_hang) {
  const RunReport result = run(GetParam().name);
  EXPECT_EQ(result.code, 3) << result.story();
  EXPECT_EQ(result.report["outcome"], "deadlock");
  EXPECT_THAT(result.err, HasSubstr("no program has made progress since 0.000 us: only timers have fired for 600 s of virtual "
                                    "time"));
  EXPECT_THAT(result.err, HasSubstr(std::string("server: timers_only (pid 1000), thread 1000 ") + GetParam().wait));
  const RunReport other = run(GetParam().name, {"--call-by-call"});
  EXPECT_EQ(other.digest(), result.digest());
  EXPECT_EQ(other.report["virtual_time_ps"], result.report["virtual_time_ps"]);
}

INSTANTIATE_TEST_SUITE_P(Idle, OnlyTimers,
                         testing::Values(Waits{"timerfd", "waits in read on timerfd since 599.9"},
                                         Waits{"setitimer", "waits in pause since 599."},
                                         Waits{"nanosleep", "waits in sleep since 599.999"},
                                         Waits{"poll", "waits in poll since 599."}),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(Idle, a_limit_of_the_user_replaces_the_look_for_progress) {
  const RunReport result = run("poll", {"--time-limit", "900s"});
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_EQ(result.report["outcome"], "time-limit");
  EXPECT_EQ(result.report["virtual_time_ps"], 900'000'000'000'000);
}

class Patient : public testing::TestWithParam<const char*> {};

TEST_P(Patient, ends_by_itself) {
  const RunReport result = run(GetParam());
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.output("server"), "slept\n");
  EXPECT_EQ(run(GetParam(), {"--time-limit", "9000s"}).digest(), result.digest());
}

INSTANTIATE_TEST_SUITE_P(Idle, Patient, testing::Values("one_sleep", "three_sleeps", "alarm", "two_threads"),
                         [](const auto& of) { return std::string(of.param); });

TEST(Idle, a_program_with_progress_ends_after_a_day) {
  const RunReport result = run("clock");
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_THAT(result.err, HasSubstr("the limit of 86400.000000000 s of virtual time was reached"));
  EXPECT_THAT(result.output("server"), HasSubstr("\n1439\n"));
}

TEST(Idle, a_wall_limit_ends_a_run_with_its_waits) {
  const RunReport result = run("timerfd", {"--time-limit", "9000000s", "--wall-limit", "1s"});
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_THAT(result.err, HasSubstr("the limit of 1 s of wall time was reached at "));
  EXPECT_THAT(result.err, HasSubstr("server: timers_only (pid 1000), thread 1000 "));
}

// The limit interrupts the run like Ctrl-C, which ends a process that takes more than 4 s to end by itself. It
// does not apply to the report, here to a reader that begins after 8 s.
TEST(Idle, a_wall_limit_leaves_the_report_as_much_time_as_it_needs) {
  constexpr const char* kSlowReader =
      "import fcntl, os, subprocess, sys, time\n"
      "begin, end = os.pipe()\n"
      "fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 4096)\n"
      "run = subprocess.Popen(sys.argv[1:], stderr=end)\n"
      "os.close(end)\n"
      "time.sleep(8)\n"
      "sys.stderr.write(os.fdopen(begin).read())\n"
      "sys.exit(run.wait())\n";
  support::RunRequest request;
  request.wrapper = {"/usr/bin/python3", "-c", kSlowReader};
  request.commands = {"server=" + which("timerfd")};
  for (int i = 0; i < 80; ++i) request.commands.push_back("client=/bin/sleep 9000000");  // more than 4096 bytes of waits
  request.options = {"--time-limit", "9000000s", "--wall-limit", "1s", "--stagger", "1us"};
  const RunReport result = support::run(request);
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_THAT(result.err, HasSubstr("the limit of 1 s of wall time was reached at "));
  EXPECT_THAT(result.err, Not(HasSubstr("interrupted")));
}

TEST(Idle, a_wall_limit_holds_for_each_run_of_seeds) {
  const RunReport result = run("timerfd", {"--seeds", "1..2", "--time-limit", "9000000s", "--wall-limit", "1s"});
  EXPECT_EQ(result.code, 1) << result.story();
  EXPECT_THAT(result.out, HasSubstr("seed 1: exit code 4: the limit of 1 s of wall time was reached at "));
}

RunReport run_in_background(const std::string& name, std::vector<std::string> options = {}, const std::string& client = "sleep 1") {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() + "/scenario.json";
  std::ofstream(path) << R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/two_hosts.json", "programs": [
    {"host": "server", "command": )" + nlohmann::json(which(name)).dump() + R"(, "background": true}, {"host": "client", "command": ")" + client + "\"}]}";
  return support::run({.scenario = path, .options = std::move(options)});
}

TEST(Idle, a_background_program_that_ignores_SIGTERM_is_killed_ten_seconds_later) {
  const RunReport result = run_in_background("stubborn");
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, HasSubstr("server: timers_only (pid 1000): has not ended 10 s of virtual time after SIGTERM, and was "
                                    "ended by SIGKILL"));
  EXPECT_GT(result.virtual_ms(), 11'000);
  EXPECT_LT(result.virtual_ms(), 11'001);
  EXPECT_EQ(run_in_background("stubborn", {"--call-by-call"}).digest(), result.digest());
}

TEST(Idle, a_background_program_that_ends_at_SIGTERM_is_not_killed) {
  const RunReport result = run_in_background("poll");
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, Not(HasSubstr("SIGKILL")));
  EXPECT_LT(result.virtual_ms(), 1'001);
}

// Its thread runs ahead of the client's end, which it cannot know.
TEST(Idle, a_busy_background_program_gets_SIGTERM_at_the_same_time_in_both_modes) {
  const RunReport result = run_in_background("busy_until_asked", {}, "sleep 0.001");
  EXPECT_EQ(result.code, 0) << result.story();
  const RunReport other = run_in_background("busy_until_asked", {"--call-by-call"}, "sleep 0.001");
  EXPECT_EQ(other.output("server"), result.output("server"));
  EXPECT_EQ(other.digest(), result.digest());
}

}  // namespace
}  // namespace verbatim
