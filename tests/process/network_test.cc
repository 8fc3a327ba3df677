// The management network between hosts: UDP, IPv6, what programs find out about it; and an interpreter that
// uses all of it at once.
#include <sstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

const std::string kEcho = support::quoted(std::string(PROCESS_FOLDER) + "/udp_echo");
const std::string kEverything = "python3 " + support::quoted(std::string(SCRIPT_FOLDER) + "/everything.py");

std::vector<long> measured(const RunReport& run) {
  std::istringstream text(run.output("client"));
  std::vector<long> values;
  for (long value; text >> value;) values.push_back(value);
  return values;
}

// There and back: twice 20 us, and twice the datagram and its 42 bytes of headers at 10 Gb/s, 0.8 ns a byte.
TEST(Network, a_datagram_takes_the_latency_and_its_bytes) {
  for (const char* name : {"server", "server.ip6", "10.0.0.1", "fd00::a00:1"}) {
    const RunReport run = support::run_pair(kEcho, kEcho + " " + name);
    ASSERT_EQ(run.code, 0) << run.story();
    const std::vector<long> times = measured(run);
    ASSERT_EQ(times.size(), 3u) << run.story();
    EXPECT_NEAR(times[1] - times[0], 2 * 8000 * 0.8, 1) << name;
    EXPECT_NEAR(times[2] - times[1], 2 * 41000 * 0.8, 1) << name;
    EXPECT_GT(times[0], 2 * (20'000 + 1042 * 0.8));
    EXPECT_LT(times[0], 2 * (20'000 + 1042 * 0.8) + 10'000) << "calls and wake-ups";
    EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
  }
}

TEST(Network, ip_shows_the_hosts_own_addresses) {
  const RunReport run = support::run({.commands = {"server=ip -oneline addr", "client=ip -oneline addr"}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("server").find("inet 10.0.0.1/8 brd 10.255.255.255 scope global eth0"),
            std::string::npos)
      << run.story();
  EXPECT_NE(run.output("client").find("inet6 fd00::a00:2/64 scope global"), std::string::npos) << run.story();
  EXPECT_NE(run.output("client").find("inet 127.0.0.1/8 scope host lo"), std::string::npos);
}

TEST(Network, ip_shows_the_route_to_the_other_hosts) {
  const RunReport run = support::run({.commands = {"server=ip route"}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "10.0.0.0/8 dev eth0 proto kernel scope link src 10.0.0.1 \n");
}

TEST(Network, an_interpreter_repeats_itself_in_both_modes) {
  support::RunRequest request;
  request.commands = {"server=" + kEverything};
  const RunReport first = support::run(request);
  ASSERT_EQ(first.code, 0) << first.story();
  EXPECT_NE(first.output("server").find("\n500\n['pipe']\n['pipe', 'socket']\n"), std::string::npos)
      << first.story();
  EXPECT_NE(first.output("server").find("('fd00::a00:1', "), std::string::npos);
  EXPECT_NE(first.output("server").find("b'two\\nthree\\n'"), std::string::npos);
  EXPECT_TRUE(first.report["warnings"].empty()) << first.report["warnings"];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(support::run(request).digest(), first.digest());
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), first.digest());
}

}  // namespace
}  // namespace verbatim
