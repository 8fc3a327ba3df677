// Ethernet frames of programs: every case of frame_cases.c prints its line of frames_expected.txt, and frames
// are forwarded between hosts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

std::map<std::string, std::string> lines_of(const std::string& text) {
  std::map<std::string, std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    EXPECT_TRUE(lines.emplace(line.substr(0, colon), line.substr(colon + 1)).second) << "twice: " << line;
  }
  return lines;
}

std::size_t count_of(const std::string& trace, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = trace.find(what); at != std::string::npos; at = trace.find(what, at + 1)) ++count;
  return count;
}

TEST(Frames, every_case_is_as_the_table_says) {
  support::RunRequest request;
  request.topology = "two_hosts_roce";
  request.commands = {"server=" + support::quoted(FRAME_CASES_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  ASSERT_EQ(runs.slices.code, 0) << runs.slices.story();
  const auto expected = lines_of(support::text_of_file(FRAMES_EXPECTED));
  const auto seen = lines_of(runs.slices.output("server"));
  EXPECT_GE(expected.size(), 20u);
  for (const auto& [name, line] : expected) {
    const auto it = seen.find(name);
    EXPECT_EQ(it == seen.end() ? " (not run)" : it->second, line) << name;
  }
  EXPECT_EQ(seen.size(), expected.size());
}

// Clauses of the work queues' man pages: what their cases print, in this order.
void expect_line(const std::string& name, const std::vector<std::string>& parts) {
  support::RunRequest request;
  request.topology = "two_hosts_roce";
  request.commands = {"server=" + support::quoted(FRAME_CASES_PROGRAM)};
  const support::RunReport run = support::run(request);
  const std::string line = lines_of(run.output("server"))[name];
  std::size_t at = 0;
  for (const std::string& part : parts) {
    const std::size_t found = line.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in: " << line << run.story();
    at = found + part.size();
  }
  EXPECT_EQ(line.find("SMALLER"), std::string::npos) << "less than requested was granted";
}

#define LINE_CLAUSE(verb, clause, line, ...) \
  TEST(verb, clause) { expect_line(line, {__VA_ARGS__}); }

LINE_CLAUSE(IbvCreateWq, sizes_come_back_at_least_as_requested, "work queues", " state=0")
LINE_CLAUSE(IbvCreateWq, flags_count_only_where_comp_mask_has_them, "work queues", " flags_without_mask=made")
LINE_CLAUSE(IbvCreateWq, flags_that_the_device_has_not_are_refused, "work queues", " unknown_flag=EOPNOTSUPP",
            " unknown_mask=EINVAL")
LINE_CLAUSE(IbvCreateWq, a_vlan_tag_is_stripped_and_told_in_the_completion, "work queues", " stripped 1=76,vlan 0x5")
LINE_CLAUSE(IbvCreateWq, the_frame_check_sequence_is_delivered, "queue options", " 0=70 ", " 2=74 ", "e303c26e5c")
LINE_CLAUSE(IbvCreateWq, writes_are_padded_to_the_line, "queue options", " 0=70 ", "line=eeee", " 8=70 ", "line=00ee")
LINE_CLAUSE(IbvCreateWq, a_delayed_frame_waits_for_a_receive, "delayed drops", " first second third post=0 1=61", " 2=62")
LINE_CLAUSE(IbvCreateWq, a_delayed_frame_waits_no_longer_than_its_time, "delayed drops", " 2=62 post=0 nothing", " 3=64")
LINE_CLAUSE(IbvModifyWq, a_queue_goes_from_RESET_to_RDY_to_ERR_to_RESET, "work queues", " to_error=EINVAL to_3=EINVAL",
            " to_ready=0", " to_error=0", " to_ready=EINVAL to_reset=0 to_ready=0")
LINE_CLAUSE(IbvModifyWq, ERR_flushes_what_is_posted, "work queues", " to_error=0 2=Work Request Flushed Error",
            " 7=Work Request Flushed Error post=0 9=Work Request Flushed Error")
LINE_CLAUSE(IbvDestroyWq, destroy_is_EBUSY_while_in_a_table, "work queues", " in a table: destroy_wq=EBUSY", " destroy_wq=0")
LINE_CLAUSE(IbvDestroyRwqIndTable, destroy_is_EBUSY_while_a_queue_pair_uses_it, "work queues", " in use: destroy_table=EBUSY",
            " destroy_qp=0 destroy_table=0")
LINE_CLAUSE(IbvCreateRwqIndTable, queues_that_are_gone_and_tables_too_large_are_refused, "work queues",
            " table=EINVAL large=EINVAL")
LINE_CLAUSE(IbvCreateQpEx, frames_of_a_flow_stay_on_one_queue, "spreading", " 13=60 same flow 14=60")
LINE_CLAUSE(IbvCreateQpEx, frames_are_spread_by_the_hashed_fields, "spreading", " . 0=60 . 1=60 . 8=60 . 9=60 . 12=60",
            " not hashed 2=62")

TEST(Frames, there_are_none_on_infiniband) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(FRAME_CASES_PROGRAM) + " infiniband"};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.output("server"),
            "capabilities: steering=0 fcs=0 padding=0 raw=0 wqs=0 rss=0,0,0,0,0 tso=0\n"
            "infiniband: qp=EOPNOTSUPP wq=EOPNOTSUPP counters=EOPNOTSUPP flow=EOPNOTSUPP\n");
}

TEST(Frames, stations_find_each_other_by_a_broadcast) {
  support::RunRequest request;
  request.topology = "two_hosts_roce";
  const std::string program = support::quoted(FRAME_EXCHANGE_PROGRAM);
  request.commands = {"server=" + program + " waits", "client=" + program + " calls"};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  ASSERT_EQ(runs.slices.code, 0) << runs.slices.story();
  EXPECT_EQ(runs.slices.output("client"), "answer of 60 bytes\n");
  std::string expected = "call of 60 bytes\n";
  for (const int length : {60, 61, 64, 128, 255, 1000, 1514, 1518}) {
    expected += "frame of " + std::to_string(length) + " bytes\n";
  }
  EXPECT_EQ(runs.slices.output("server"), expected);
  // With the frame check sequence; the other host sees frames to unknown addresses, but no rule takes them.
  EXPECT_EQ(count_of(runs.slices.trace, "frame to=ff:ff:ff:ff:ff:ff"), 5u);  // sent, in, on, out, in
  EXPECT_EQ(count_of(runs.slices.trace, "port=client"), 0u);
  EXPECT_GE(count_of(runs.slices.trace, "wire_bytes=1518"), 4u);
  EXPECT_EQ(count_of(runs.slices.trace, "hca/server  packet-dropped  frame to=02:09:09:09:09:09"), 1u);
}

TEST(Frames, every_freedom_of_the_specification_leaves_them_whole) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    support::RunRequest request;
    request.topology = "two_hosts_roce";
    request.options = {"--freedom", "spec", "--seed", seed};
    const std::string program = support::quoted(FRAME_EXCHANGE_PROGRAM);
    request.commands = {"server=" + program + " waits", "client=" + program + " calls"};
    const auto runs = equality::run_both(request);
    equality::expect_equal(runs);
    EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
    EXPECT_EQ(runs.slices.output("server").find("wrong"), std::string::npos);
    EXPECT_EQ(count_of(runs.slices.output("server"), "frame of "), 8u);
  }
}

// Debian's perftest, by addresses of the stations and by IP addresses and ports of what they send.
TEST(Frames, raw_ethernet_programs_of_perftest_work) {
  if (!std::filesystem::exists("/usr/bin/raw_ethernet_lat")) GTEST_SKIP() << "perftest is not installed";
  const std::string client = "02:56:42:00:00:01", server = "02:56:42:00:00:02";
  const std::string flow = " -J 10.0.0.1 -j 10.0.0.2 -K 100 -k 200";
  for (const std::string& tool : {std::string("raw_ethernet_lat -n 100"), std::string("raw_ethernet_bw -n 500"),
                                  "raw_ethernet_bw -n 500" + flow}) {
    support::RunRequest request;
    request.topology = "two_hosts_roce";
    request.commands = {"server=" + tool + " --server -s 1024 -E " + client + " -B " + server,
                        "client=" + tool + " --client -s 1024 -E " + server + " -B " + client};
    // Call by call the polls of their hand-shakes would be stepped one by one.
    const support::RunReport run = support::run(request);
    EXPECT_EQ(run.code, 0) << run.story();
    EXPECT_EQ(run.report["packets"], tool.starts_with("raw_ethernet_lat") ? 200 : 500) << tool;
  }
}

// Every line of the trace has a frame of the same addresses and length in the capture, which tshark reads.
TEST(Frames, captures_show_them) {
  const support::TemporaryFolder folder;
  const std::string file = folder.path() + "/frames.pcapng", fields = folder.path() + "/fields.txt";
  support::RunRequest request;
  request.topology = "two_hosts_roce";
  request.options = {"--pcap", file};
  request.trace = true;
  const std::string program = support::quoted(FRAME_EXCHANGE_PROGRAM);
  request.commands = {"server=" + program + " waits", "client=" + program + " calls"};
  const support::RunReport run = support::run(request);
  ASSERT_EQ(run.code, 0) << run.story();
  const std::string tshark = "tshark -r " + support::quoted(file) +
                             " -T fields -e eth.dst -e eth.src -e frame.len > " + support::quoted(fields) + " 2>/dev/null";
  if (std::system(tshark.c_str()) != 0) GTEST_SKIP() << "tshark is not installed";
  std::multiset<std::string> captured, traced;
  std::istringstream rows(support::text_of_file(fields));
  std::string to, from;
  for (int length = 0; rows >> to >> from >> length;) captured.insert(to + from + std::to_string(length + 4));
  std::istringstream trace(run.trace);
  const std::regex frame(R"(packet-(transmitted|received)  frame to=(\S+) from=(\S+) wire_bytes=(\d+))");
  std::smatch match;
  for (std::string line; std::getline(trace, line);) {
    if (std::regex_search(line, match, frame)) traced.insert(match[2].str() + match[3].str() + match[4].str());
  }
  // Frames that a device drops are in the capture once more.
  for (const std::string& one : traced) {
    const auto it = captured.find(one);
    ASSERT_NE(it, captured.end()) << one;
    captured.erase(it);
  }
  EXPECT_GT(traced.size(), 40u);
  EXPECT_LE(captured.size(), 2u);
}

}  // namespace
}  // namespace verbatim
