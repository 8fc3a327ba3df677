// `--watch` and `--watch-time`: traces, captures and recordings of a part of the fabric or of the time.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace watching {
namespace {

// Flows between four of the eight hosts of one switch.
constexpr char kScenario[] = R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/star_8.json", "flows": [
    {"from": "h0", "to": "h1", "bytes": "64 KiB"}, {"from": "h2", "to": "h3", "bytes": "64 KiB", "start": "1 ms"}]})";

struct Line {
  double us = 0;
  std::string component;
};

std::vector<Line> trace_of(const std::string& path) {
  std::vector<Line> lines;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    std::string unit;
    Line& line = lines.emplace_back();
    words >> line.us >> unit >> line.component;
  }
  return lines;
}

std::set<std::string> components_of(const std::vector<Line>& lines) {
  std::set<std::string> names;
  for (const Line& line : lines) names.insert(line.component);
  return names;
}

std::string read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class Watch : public testing::Test {
 protected:
  Watch() { folder_.write("s.json", kScenario); }
  Finished run(std::vector<std::string> words) {
    words.insert(words.begin(), {"run", "s.json", "--log", "error"});
    return verbatim(std::move(words), folder_.path());
  }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  config::Folder folder_;
};

// Messages are those that the watched adapters posted.
TEST_F(Watch, latencies_of_some_hosts_are_those_of_their_messages) {
  const Finished whole = run({"--explain-latency=whole.json"}), some = run({"--explain-latency=some.json", "--watch", "h2"}),
                 late = run({"--explain-latency=late.json", "--watch-time", "500us.."});
  ASSERT_EQ(whole.code + some.code + late.code, 0) << whole.err << some.err << late.err;
  const auto messages = [&](const std::string& name) {
    std::int64_t sum = 0;
    for (const auto& group : nlohmann::json::parse(read(file(name)))) sum += group["messages"].get<std::int64_t>();
    return sum;
  };
  EXPECT_GT(messages("some.json"), 0);
  EXPECT_EQ(messages("some.json") * 2, messages("whole.json"));
  EXPECT_EQ(read(file("late.json")), read(file("some.json")));
}

TEST_F(Watch, a_trace_of_some_nodes_is_those_lines_of_the_whole) {
  const Finished whole = run({"--trace", "whole"}), some = run({"--trace", "some", "--watch", "h[0-1]", "--watch", "leaf0"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_EQ(whole.out, some.out);  // includes the digest
  std::string expected;
  std::istringstream lines(read(file("whole")));
  for (std::string line; std::getline(lines, line);) {
    const auto has = [&](const char* name) { return line.find(name) != line.npos; };
    if (has("/h0 ") || has("/h0:") || has("/h1 ") || has("/h1:") || has("/leaf0 ") || has("/leaf0:")) expected += line + "\n";
  }
  EXPECT_TRUE(read(file("some")) == expected);
  EXPECT_TRUE(components_of(trace_of(file("some"))).contains("port/leaf0:3"));  // the switch port of h2's cable
}

TEST_F(Watch, a_trace_of_some_time_has_both_ends_of_it) {
  ASSERT_EQ(run({"--trace", "whole"}).code, 0);
  const std::vector<Line> whole = trace_of(file("whole"));
  ASSERT_EQ(run({"--trace", "some", "--watch-time", "1ms..1002us"}).code, 0);
  const std::vector<Line> some = trace_of(file("some"));
  const auto expected = std::ranges::count_if(whole, [](const Line& line) { return line.us >= 1000 && line.us <= 1002; });
  EXPECT_GT(expected, 10);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(some.size()), expected);
  EXPECT_FALSE(components_of(some).contains("hca/h0"));
  ASSERT_EQ(run({"--trace", "rest", "--watch-time", "1ms.."}).code, 0);
  EXPECT_GT(trace_of(file("rest")).size(), some.size());
}

TEST_F(Watch, a_capture_has_the_cables_of_the_nodes) {
  ASSERT_EQ(run({"--pcap", "all.pcapng"}).code, 0);
  ASSERT_EQ(run({"--pcap", "some.pcapng", "--pcap-per", "link", "--watch", "h2"}).code, 0);
  ASSERT_EQ(run({"--pcap", "none.pcapng", "--watch", "h2", "--watch-time", "..1ns"}).code, 0);
  const std::string all = read(file("all.pcapng")), some = read(file("some.pcapng"));
  EXPECT_NE(all.find("h0:1"), all.npos);
  EXPECT_EQ(some.find("h0:1"), some.npos);
  EXPECT_NE(some.find("h2:1 <-> leaf0:3"), some.npos);
  EXPECT_GT(some.size(), 64u << 10);
  EXPECT_LT(read(file("none.pcapng")).size(), 1000u);
}

TEST_F(Watch, a_recording_of_a_part_is_smaller_and_can_be_read) {
  ASSERT_EQ(run({"--record", "all.vrec"}).code, 0);
  ASSERT_EQ(run({"--record", "some.vrec", "--watch", "h3", "--watch-time", "1001us..1003us"}).code, 0);
  EXPECT_LT(read(file("some.vrec")).size(), read(file("all.vrec")).size());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"report", "some.vrec", "--out", "page.html"}, {"report", "some.vrec", "--perfetto", "trace.pb"}}) {
    const Finished report = verbatim(words, folder_.path());
    EXPECT_EQ(report.code, 0) << report.err;
  }
}

TEST_F(Watch, refuses_what_it_cannot_show) {
  const auto refusal = [&](const std::vector<std::string>& words) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.code, 2);
    return finished.err;
  };
  EXPECT_NE(refusal({"--watch", "h0"}).find("--watch: needs a file that shows the run; add --trace, --pcap, --record, --explain-latency or --keep-trace"), std::string::npos);
  EXPECT_NE(refusal({"--trace", "t", "--watch", "laef0"}).find("the topology has no host or switch \"laef0\"; did you mean \"leaf0\"?"), std::string::npos);
  EXPECT_NE(refusal({"--trace", "t", "--watch", "h[7-8]"}).find("\"h8\""), std::string::npos);
  EXPECT_NE(refusal({"--trace", "t", "--watch", "h[7"}).find("has no range such as [0-63]"), std::string::npos);
  EXPECT_NE(refusal({"--trace", "t", "--watch-time", "1ms"}).find("is not of the form FROM..TO"), std::string::npos);
  EXPECT_NE(refusal({"--trace", "t", "--watch-time", "2ms..1ms"}).find("ends before it begins"), std::string::npos);
  EXPECT_NE(refusal({"--trace", "t", "--watch-time", "1..2"}).find("--watch-time"), std::string::npos);
}

}  // namespace
}  // namespace watching
}  // namespace verbatim::cli
