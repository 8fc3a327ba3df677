// `run --explain-latency`: every message of every scenario and of real programs is explained to the
// picosecond, in both modes alike; two tables that README.md works out by hand.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/verbatim_run.h"

namespace verbatim::timing {
namespace {

using nlohmann::json;
using support::RunReport;
using support::RunRequest;

constexpr char kFolder[] = VERBATIM_SOURCE_DIR "/tests/timing/explained";

RunReport explain(RunRequest request) {
  request.trace = true;
  request.options.push_back("--explain-latency");
  return support::run(request);
}

// Value of `key=` in a line of the trace.
std::string value_of(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(" " + key + "=");
  if (at == std::string::npos) return "";
  const std::size_t from = at + key.size() + 2;
  return line[from] == '"' ? line.substr(from + 1, line.find('"', from + 1) - from - 1)
                           : line.substr(from, line.find(' ', from) - from);
}

std::int64_t number_of(const std::string& line, const std::string& key) {
  return std::stoll(value_of(line, key));
}

// The time stamp at the head of a line, in picoseconds.
std::int64_t time_of(const std::string& line) {
  const std::size_t dot = line.find('.');
  return std::stoll(line.substr(0, dot)) * 1'000'000 + std::stoll(line.substr(dot + 1, 6));
}

struct Totals {
  std::uint64_t messages = 0;
  std::int64_t sum_ps = 0;
};

// Checks every message of the trace: its parts add up to its latency, and it ends with a completion that the
// trace has at that time for that queue pair, or before any. Returns the number of messages by table.
std::map<std::string, Totals> check_trace(const std::string& trace) {
  std::map<std::string, Totals> all;
  std::multiset<std::pair<std::int64_t, std::string>> completions;
  std::istringstream lines(trace);
  std::int64_t missing = 0;
  std::uint64_t bad = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("  completion  ") != std::string::npos) {
      completions.insert({time_of(line), value_of(line, "qpn")});
    } else if (line.find("  message-part  ") != std::string::npos) {
      const std::int64_t ps = number_of(line, "ps");
      EXPECT_GT(ps, 0);
      missing -= ps;
    } else if (line.find("  message  ") != std::string::npos) {
      bad += missing != 0;
      missing = number_of(line, "latency_ps");
      EXPECT_EQ(time_of(line) - number_of(line, "posted_ps"), missing) << line;
      const std::string end = value_of(line, "end");
      if (end != "acknowledged") {
        const auto it = completions.find({time_of(line), value_of(line, "at_qpn")});
        EXPECT_NE(it, completions.end()) << line;
        if (it != completions.end()) completions.erase(it);
      }
      Totals& totals = all[value_of(line, "service") + " " + value_of(line, "operation") + " " +
                           value_of(line, "bytes") + " " + end + " " + value_of(line, "status")];
      ++totals.messages;
      totals.sum_ps += missing;
    }
    if (bad > 0) {
      ADD_FAILURE() << "the parts of the message before do not add up: " << line;
      return all;
    }
  }
  EXPECT_EQ(missing, 0);
  return all;
}

void expect_explained(const RunReport& run) {
  SCOPED_TRACE(run.command);
  ASSERT_EQ(run.code, 0) << run.story();
  const auto totals = check_trace(run.trace);
  const auto file = run.outputs.find("latency.json");
  ASSERT_NE(file, run.outputs.end());
  const json tables = json::parse(file->second);
  ASSERT_EQ(tables.size(), totals.size());
  EXPECT_FALSE(tables.empty());
  for (const json& table : tables) {
    const std::string name =
        table["service"].get<std::string>() + " " + table["operation"].get<std::string>() + " " +
        std::to_string(table["bytes"].get<std::uint64_t>()) + " " + table["end"].get<std::string>() + " " +
        std::to_string(table["status"].get<int>());
    ASSERT_TRUE(totals.contains(name)) << name;
    EXPECT_EQ(table["messages"], totals.at(name).messages) << name;
    std::int64_t sum = 0, typical = 0, slowest = 0;
    for (const json& part : table["parts"]) sum += part["sum_ps"].get<std::int64_t>();
    for (const json& part : table["typical"]["parts"]) typical += part["ps"].get<std::int64_t>();
    for (const json& part : table["slowest"]["parts"]) slowest += part["ps"].get<std::int64_t>();
    EXPECT_EQ(sum, totals.at(name).sum_ps) << name;
    EXPECT_EQ(typical, table["median_ps"]) << name;
    EXPECT_EQ(slowest, table["greatest_ps"]) << name;
    EXPECT_LE(table["least_ps"], table["median_ps"]);
    EXPECT_LE(table["median_ps"], table["greatest_ps"]);
    EXPECT_NE(run.outputs.at("latency.txt").find("RC") == std::string::npos, name.starts_with("RC"));
  }
}

TEST(Explanation, of_every_scenario_adds_up_for_every_message) {
  for (const auto& entry : std::filesystem::directory_iterator(VERBATIM_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() == ".json") expect_explained(explain({.scenario = entry.path()}));
  }
}

TEST(Explanation, shows_the_slowest_message_where_it_took_another_way) {
  const RunReport lossy = explain({.scenario = VERBATIM_SOURCE_DIR "/scenarios/loss.json"});
  const std::string& text = lossy.outputs.at("latency.txt");
  const std::size_t slowest = text.find("One message of greatest latency");
  ASSERT_NE(slowest, std::string::npos) << text;
  const std::size_t lost = text.find("lost: timeout", slowest);
  ASSERT_NE(lost, std::string::npos) << text;
  EXPECT_LT(lost, text.find("All messages", slowest)) << "the way of the message that was lost";
  // If all messages take the same steps except for clock edges, there is no second table.
  const RunReport quiet = explain({.scenario = VERBATIM_SOURCE_DIR "/scenarios/write_lat.json"});
  EXPECT_EQ(quiet.outputs.at("latency.txt").find("greatest latency"), std::string::npos);
}

class ExplanationOf : public testing::TestWithParam<const char*> {};

TEST_P(ExplanationOf, perftest_adds_up_on_every_topology_in_both_modes_alike) {
  for (const char* topology : {"two_hosts", "two_hosts_direct", "leaf_spine_16", "two_hosts_roce"}) {
    SCOPED_TRACE(topology);
    const bool is_leaf_spine = std::string(topology) == "leaf_spine_16",
               is_roce = std::string(topology).ends_with("roce");
    const std::string program = std::string(GetParam()) + (is_roce ? " -x 1" : "");
    // Hosts of different leaves: over a spine.
    const std::string server = is_leaf_spine ? "h0" : "server", client = is_leaf_spine ? "h5" : "client";
    RunRequest request{.topology = topology,
                       .commands = {server + "=" + program, client + "=" + program + " " + server}};
    const RunReport slices = explain(request);
    expect_explained(slices);
    request.options = {"--call-by-call"};
    const RunReport oracle = explain(request);
    ASSERT_EQ(oracle.code, 0) << oracle.story();
    EXPECT_EQ(slices.outputs.at("latency.txt"), oracle.outputs.at("latency.txt"));
    EXPECT_EQ(slices.outputs.at("latency.json"), oracle.outputs.at("latency.json"));
    EXPECT_EQ(slices.trace, oracle.trace);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ExplanationOf,
                         testing::Values("ib_write_lat -n 5", "ib_send_bw -n 10 -s 5000",
                                         "ib_read_lat -n 5 -s 20000", "ib_atomic_bw -n 10",
                                         "ib_send_lat -n 5 -c UD", "ib_write_bw -n 10 -c UC"));

TEST(Explanation, changes_no_digest) {
  RunRequest request{.commands = {"server=ib_write_lat -n 20", "client=ib_write_lat -n 20 server"}};
  const RunReport plain = support::run(request);
  EXPECT_EQ(plain.code, 0);
  EXPECT_EQ(plain.digest().size(), 32u);
  EXPECT_EQ(plain.digest(), explain(request).digest());
  EXPECT_FALSE(plain.outputs.contains("latency.txt"));
}

// When the message is posted depends on what the programs do before.
std::string without_start(const std::string& table) {
  return std::regex_replace(table, std::regex("posted at [0-9.]+ us"), "posted at … us");
}

// The message that the hand computation is about: alone, long after everything else.
std::string table_of(const std::string& command) {
  const RunReport run = explain({.topology = std::string(kFolder) + "/two_switches.json",
                                 .commands = {"server=" + command, "client=" + command + " server"}});
  EXPECT_EQ(run.code, 0) << run.story();
  expect_explained(run);
  return run.outputs.contains("latency.txt") ? without_start(run.outputs.at("latency.txt")) : "";
}

TEST(Explanation, of_64_bytes_written_over_two_switches_is_as_computed_by_hand) {
  EXPECT_EQ(table_of("ib_write_lat -s 64 -I 0 -n 5"),
            without_start(support::text_of_file(std::string(kFolder) + "/write_64.txt")));
}

TEST(Explanation, of_64_kibibytes_read_over_two_switches_is_as_computed_by_hand) {
  EXPECT_EQ(table_of("ib_read_lat -s 65536 -n 5"),
            without_start(support::text_of_file(std::string(kFolder) + "/read_65536.txt")));
}

}  // namespace
}  // namespace verbatim::timing
