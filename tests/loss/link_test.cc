// Links that fail and recover: events, effects on programs, and ends of connections.
#include <fstream>

#include "tests/support/verbatim_run.h"

namespace verbatim::loss {
namespace {

using support::RunReport;

RunReport run_file(const std::string& name) {
  support::RunRequest request;
  request.scenario = VERBATIM_SOURCE_DIR "/scenarios/" + name;
  request.trace = true;
  return support::run(request);
}

TEST(Link, asyncwatch_sees_it_fail_and_come_back_and_is_ended_when_the_others_are) {
  const RunReport run = run_file("link_down.json");
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"),
            "mlx5_0: async event FD 4\n"
            "  event_type IBV_EVENT_PORT_ERR (10), port 1\n"
            "  event_type IBV_EVENT_PORT_ACTIVE (9), port 1\n");
  EXPECT_EQ(run.report["programs"][0]["signal"], SIGTERM);
  EXPECT_EQ(run.report["programs"][0]["ended_ps"], run.report["virtual_time_ps"]);
  EXPECT_EQ(run.report["faults"][0]["fired"], 1);
  EXPECT_NE(run.trace.find("110000.000000 us  port/server:1  link-state  up=0"), std::string::npos);
  EXPECT_NE(run.trace.find("120000.000000 us  port/server:1  link-state  up=1"), std::string::npos);
}

// IBA 9.7.6.1.3: retry_cnt retries, one timeout apart, then the request fails. The timeout is 4.096 us * 2^8;
// the last try and the error are 8 timeouts after the last packet that was answered.
TEST(Link, one_that_stays_down_ends_a_connection_by_its_retries) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(MIXED_PROGRAM),
                      "client=" + support::quoted(MIXED_PROGRAM) + " server"};
  request.options = {"--fault", R"({"action": "link_down", "link": "client", "at": "100.346 ms"})"};
  const RunReport run = support::run(request);
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("client").find("transport retry counter exceeded, then "), std::string::npos)
      << run.story();
  EXPECT_NE(run.output("client").find("queue pair ERR"), std::string::npos);
  EXPECT_NE(run.output("server").find("queue pair RTS"), std::string::npos);
  const double timeouts_ms = 8 * 0.004096 * 256;
  EXPECT_NEAR(run.virtual_ms(), 100.346 + timeouts_ms, 0.15) << "plus the way of the last messages over TCP";
}

TEST(Link, ports_say_what_they_are) {
  support::RunRequest request;
  request.commands = {"client=ibv_devinfo", "client=ibv_devinfo"};
  request.options = {"--fault", R"({"action": "link_down", "link": "client", "at": "50 ms"})"};
  const RunReport run = support::run(request);
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("client").find("PORT_ACTIVE (4)"), std::string::npos) << run.story();
  EXPECT_NE(run.output("client.2").find("PORT_DOWN (1)"), std::string::npos) << run.story();
}

}  // namespace
}  // namespace verbatim::loss
