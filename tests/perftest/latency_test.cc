// Latency programs measure the profiles' values: exactly for ib_write_lat, and for all of them the additional
// time of a switch and of longer cables.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "tests/perftest/latency_formula.h"
#include "tests/perftest/perftest_run.h"

namespace verbatim::perftest {
namespace {

using support::RunReport;

// Two hosts and one cable of this many metres.
std::string direct_topology(const std::string& folder, const std::string& length) {
  const std::string path = folder + "/direct.json";
  std::ofstream(path) << R"({"name": "direct", "hosts": [{"name": "server"}, {"name": "client"}],)"
                      << R"("links": [{"a": "server", "b": "client", "rate": "EDR 4x", "length": ")" << length
                      << R"(", "delay_per_length": "4.6 ns/m"}]})";
  return path;
}

// Two hosts with two switches in a row between them.
std::string two_switches_topology(const std::string& folder) {
  const std::string path = folder + "/two_switches.json";
  const std::string kind = R"(", "rate": "EDR 4x", "length": "2 m", "delay_per_length": "4.6 ns/m"})";
  std::ofstream(path) << R"({"name": "row", "hosts": [{"name": "server"}, {"name": "client"}],)"
                      << R"("switches": [{"name": "s1"}, {"name": "s2"}], "links": [)"
                      << R"({"a": "server", "b": "s1:1)" << kind << R"(, {"a": "s1:2", "b": "s2:1)" << kind
                      << R"(, {"a": "s2:2", "b": "client)" << kind << "]}";
  return path;
}

struct Measured {
  double typical = 0, minimum = 0, maximum = 0;  // cycles of the time stamp counter
  std::uint32_t max_inline = 0;
  std::vector<std::int64_t> doorbells;  // of the client, ps
};

Measured measure(const std::string& name, long bytes, const std::string& topology) {
  const std::string command = name + " -C -n 20 -s " + std::to_string(bytes);
  support::RunRequest request{.topology = topology,
                              .commands = {"server=" + command, "client=" + command + " server"}};
  request.trace = true;
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  Measured measured;
  const auto lines = latency_lines(run.output("client"));
  EXPECT_EQ(lines.size(), 1u) << run.output("client");
  if (lines.size() == 1) {
    measured.typical = lines[0].typical;
    measured.minimum = lines[0].minimum;
    measured.maximum = lines[0].maximum;
  }
  std::smatch match;
  const std::string& output = run.output("client");
  if (std::regex_search(output, match, std::regex(R"(Max inline data : (\d+))"))) {
    measured.max_inline = static_cast<std::uint32_t>(std::stoul(match[1]));
  }
  const std::regex doorbell(R"((\d+)\.(\d{6}) us  hca/client  doorbell  kind=0)");
  for (std::sregex_iterator it(run.trace.begin(), run.trace.end(), doorbell), end; it != end; ++it) {
    measured.doorbells.push_back(std::stoll((*it)[1]) * 1'000'000 + std::stoll((*it)[2]));
  }
  return measured;
}

// Formula: see latency_formula.h. To the picosecond in the trace; in whole cycles in the program's own
// figures.
TEST(WriteLatency, is_the_sum_of_the_profile_values) {
  const support::TemporaryFolder folder;
  for (const std::string& topology :
       {support::topology("two_hosts"), support::topology("two_hosts_direct"),
        direct_topology(folder.path(), "100 m"), two_switches_topology(folder.path())}) {
    const LatencyFormula formula(topology);
    for (const std::uint32_t bytes : {2u, 1024u, 4096u}) {
      SCOPED_TRACE(topology + ", " + std::to_string(bytes) + " bytes");
      const Measured measured = measure("ib_write_lat", bytes, topology);
      const std::int64_t expected = formula.half_round_trip(bytes, measured.max_inline);
      EXPECT_EQ(measured.max_inline >= bytes, bytes == 2) << "small data travel in the work request";
      ASSERT_GE(measured.doorbells.size(), 15u);
      for (std::size_t i = measured.doorbells.size() - 10; i < measured.doorbells.size(); ++i) {
        EXPECT_EQ(measured.doorbells[i] - measured.doorbells[i - 1], 2 * expected);
      }
      EXPECT_EQ(measured.typical, formula.cycles(expected));
      EXPECT_EQ(measured.maximum, formula.cycles(expected));
    }
  }
}

// The default profiles, in numbers: a change of any of them must be explained here.
TEST(WriteLatency, of_two_bytes_in_numbers) {
  EXPECT_EQ(LatencyFormula(support::topology("two_hosts")).half_round_trip(2, 220), 1'135'000);
  EXPECT_EQ(LatencyFormula(support::topology("two_hosts_direct")).half_round_trip(2, 220), 1'035'000);
}

class LatencyDifference : public ::testing::TestWithParam<std::string> {};

// Formula for each direction: the header onto the first cable, that cable, the switch's cut-through. Waiting
// for clock edges adds or saves one period at the switch and one at the adapter, and a poll finds its entry
// up to one poll late.
TEST_P(LatencyDifference, of_switches_and_of_cables) {
  const support::TemporaryFolder folder;
  const LatencyFormula formula(support::topology("two_hosts"));
  // A READ's figure is the whole round trip, the others' half of one.
  const int ways = program(GetParam()).polls_for_both ? 1 : 2;
  const bool polls = GetParam() != "ib_write_lat";
  const double slack =
      formula.cycles(ways * 2 * formula.clock_period() + (polls ? formula.poll_period() : 0)) + 1;
  const std::int64_t longer = 98 * 4'600;  // 100 m instead of 2 m at 4.6 ns/m
  const std::string cable = direct_topology(folder.path(), "100 m");
  const std::string row = two_switches_topology(folder.path());
  for (const long bytes : {2l, 4096l, 65536l}) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    const double direct = measure(GetParam(), bytes, "two_hosts_direct").typical;
    const double switched = measure(GetParam(), bytes, "two_hosts").typical;
    EXPECT_NEAR(switched - direct, formula.cycles(ways * formula.switch_and_cable()), slack);
    const double two_switches = measure(GetParam(), bytes, row).typical;
    EXPECT_NEAR(two_switches - switched, formula.cycles(ways * formula.switch_and_cable()), slack);
    EXPECT_NEAR(measure(GetParam(), bytes, cable).typical - direct, formula.cycles(ways * longer), slack);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, LatencyDifference,
                         ::testing::Values("ib_write_lat", "ib_send_lat", "ib_read_lat"));

// How often a spinning program is looked at is a matter of wall-clock time and decides nothing.
TEST(WriteLatency, poke_periods_from_20_us_to_5_ms_give_one_digest) {
  std::string digest;
  for (const char* period : {"20", "50", "300", "1000", "5000"}) {
    const RunReport run =
        support::run({.commands = {"server=ib_write_lat -n 50", "client=ib_write_lat -n 50 server"},
                      .options = {"--poke-period", period}});
    ASSERT_EQ(run.code, 0) << run.story();
    EXPECT_EQ(run.report["determinism"], "exact");
    EXPECT_EQ(run.digest().size(), 32u);
    if (digest.empty()) digest = run.digest();
    EXPECT_EQ(run.digest(), digest) << "poke period " << period << " us";
  }
}

}  // namespace
}  // namespace verbatim::perftest
