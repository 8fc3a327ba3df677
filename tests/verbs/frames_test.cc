// Ethernet frames of programs: every case of frame_cases.c gives the line that frames_expected.txt has for it, and frames find
// their way between hosts.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

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
  // With the frame check sequence; what goes to nobody known is seen by the other host, where no rule takes it.
  EXPECT_EQ(count_of(runs.slices.trace, "frame to=ff:ff:ff:ff:ff:ff"), 5u);  // sent, in, on, out, in
  EXPECT_EQ(count_of(runs.slices.trace, "port=client"), 0u);
  EXPECT_GE(count_of(runs.slices.trace, "wire_bytes=1518"), 4u);
  EXPECT_EQ(count_of(runs.slices.trace, "hca/server  packet-dropped  frame to=02:09:09:09:09:09"), 1u);
}

}  // namespace
}  // namespace verbatim
