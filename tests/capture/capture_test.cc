// tshark decodes every packet of a capture and shows the same values as the trace, on InfiniBand and on
// Ethernet.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/capture/judge.h"
#include "tests/capture/pcapng.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::capture {
namespace {

struct Job {
  std::string name;
  std::string command;  // of both hosts; the client's has the server's name appended
  std::string faults;
  friend void PrintTo(const Job& job, std::ostream* out) { *out << job.command; }
};

std::string arguments(const std::string& topology, const std::string& command,
                      const std::string& faults = "") {
  return "--topology " + support::quoted(support::topology(topology)) + " " + faults +
         " --seed 1 'server=" + command + "' 'client=" + command + " server'";
}

class Capture : public ::testing::TestWithParam<Job> {};

TEST_P(Capture, decodes_and_agrees_with_the_trace_on_infiniband) {
  const Judged judged = judge(arguments("two_hosts", GetParam().command, GetParam().faults));
  EXPECT_EQ(judged.code, 0);
  EXPECT_GT(judged.packets, 50u);
}

TEST_P(Capture, decodes_and_agrees_with_the_trace_on_ethernet) {
  const bool is_pingpong = GetParam().command.starts_with("ibv_");
  for (const char* gid : {"0", "1"}) {  // IPv6, IPv4
    const Judged judged = judge(arguments(
        "two_hosts_roce", GetParam().command + (is_pingpong ? " -g " : " -x ") + gid, GetParam().faults));
    EXPECT_EQ(judged.code, 0);
    EXPECT_GT(judged.packets, 50u);
    ASSERT_FALSE(judged.frames.empty());
    EXPECT_EQ(judged.frames[0].bytes[12], gid[0] == '1' ? 0x08 : 0x86) << "Ethernet type";
  }
}

const char kDrop[] = R"(--fault '{"action": "drop", "from": "client", "opcode": "Send Middle", "nth": 3}')";
const char kCorrupt[] =
    R"(--fault '{"action": "corrupt", "from": "client", "opcode": "Send Last", "nth": 5}')";

INSTANTIATE_TEST_SUITE_P(
    Programs, Capture,
    ::testing::Values(Job{"rc", "ibv_rc_pingpong -n 20 -s 10000", ""},
                      Job{"rc_loss", "ibv_rc_pingpong -n 20 -s 10000", std::string(kDrop) + " " + kCorrupt},
                      Job{"uc", "ibv_uc_pingpong -n 20", ""}, Job{"ud", "ibv_ud_pingpong -n 20", ""},
                      Job{"srq", "ibv_srq_pingpong -n 40", ""}, Job{"xsrq", "ibv_xsrq_pingpong -n 20", ""},
                      Job{"write", "ib_write_bw -n 20 -s 10001", ""},
                      Job{"read", "ib_read_lat -n 20 -s 10000", ""},
                      Job{"write_small", "ib_write_lat -n 20 -s 3", ""},
                      Job{"atomic", "ib_atomic_lat -n 20", ""}),
    [](const ::testing::TestParamInfo<Job>& info) { return info.param.name; });

TEST(CaptureTest, comments_tell_what_only_the_simulator_knows) {
  const Judged judged =
      judge(arguments("two_hosts", "ibv_rc_pingpong -n 20 -s 10000", std::string(kDrop) + " " + kCorrupt));
  EXPECT_EQ(judged.comments.at("hit by fault 0"), 1u);
  EXPECT_EQ(judged.comments.at("hit by fault 1"), 1u);
  EXPECT_EQ(judged.comments.at("dropped here: a fault of the scenario or the seed"), 1u);
  EXPECT_EQ(
      judged.comments.at("dropped here: the ICRC does not match; corrupted on its way: a bit is not as sent"),
      1u);
  EXPECT_GT(judged.comments.at("retransmission #1"), 0u);
}

// A capture changes neither times nor bytes of a run.
TEST(CaptureTest, a_run_with_a_capture_is_the_same_run) {
  for (const char* topology : {"two_hosts", "two_hosts_roce"}) {
    support::RunRequest request{
        .topology = topology,
        .commands = {"server=ibv_rc_pingpong -n 50 -g 0", "client=ibv_rc_pingpong -n 50 -g 0 server"}};
    const auto without = support::run(request);
    const support::TemporaryFolder folder;
    request.options = {"--pcap", folder.path() + "/run.pcapng"};
    const auto with = support::run(request);
    EXPECT_EQ(without.code, 0) << without.story();
    EXPECT_EQ(with.digest(), without.digest());
    EXPECT_EQ(with.report["virtual_time_ps"], without.report["virtual_time_ps"]);
    EXPECT_GT(support::text_of_file(folder.path() + "/run.pcapng").size(), 10'000u);
  }
}

// A cut packet keeps its beginning and its original length.
TEST(CaptureTest, a_snap_length_keeps_the_headers) {
  for (const char* topology : {"two_hosts", "two_hosts_roce"}) {
    const support::TemporaryFolder folder;
    std::vector<std::vector<Frame>> captures;
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--snap-length", "128"}}) {
      support::RunRequest request{
          .topology = topology,
          .commands = {"server=ibv_rc_pingpong -n 20 -g 0", "client=ibv_rc_pingpong -n 20 -g 0 server"}};
      request.options = {"--pcap", folder.path() + "/run.pcapng"};
      request.options.insert(request.options.end(), more.begin(), more.end());
      const auto run = support::run(request);
      EXPECT_EQ(run.code, 0) << run.story();
      captures.push_back(read_pcapng(folder.path() + "/run.pcapng", !more.empty()));
    }
    ASSERT_EQ(captures[0].size(), captures[1].size());
    std::size_t cut = 0;
    for (std::size_t i = 0; i < captures[0].size(); ++i) {
      const Frame& whole = captures[0][i];
      EXPECT_EQ(captures[1][i].length, whole.bytes.size());
      EXPECT_EQ(captures[1][i].bytes, std::vector<std::uint8_t>(whole.bytes.begin(),
                                                               whole.bytes.begin() + static_cast<std::ptrdiff_t>(
                                                                   std::min<std::size_t>(128, whole.bytes.size()))));
      cut += whole.bytes.size() > 128 ? 1 : 0;
    }
    EXPECT_GT(cut, 100u);
  }
}

// tshark's output for a capture with the profile of tools/wireshark: the lines of one field, or of the
// columns.
std::string with_profile(const std::string& folder, const std::string& arguments) {
  const std::string profiles = folder + "/config/wireshark/profiles";
  std::filesystem::create_directories(profiles);
  std::filesystem::copy(std::string(VERBATIM_SOURCE_DIR) + "/tools/wireshark/Verbatim", profiles + "/Verbatim",
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  const std::string command = "XDG_CONFIG_HOME=" + support::quoted(folder + "/config") + " tshark -C Verbatim -r " +
                              support::quoted(folder + "/run.pcapng") + " " + arguments + " 2>" + support::quoted(folder + "/errors");
  std::string said;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) said.append(buffer, n);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return said;
}

// Each packet is captured once per cable that it enters, as it is in the trace as transmitted.
TEST(CaptureTest, a_capture_per_link_has_each_packet_once_on_every_cable) {
  for (const char* topology : {"two_hosts", "two_hosts_roce"}) {
    const support::TemporaryFolder folder;
    const auto run = support::run({.topology = topology,
                                   .commands = {"server=ibv_rc_pingpong -n 20 -g 0", "client=ibv_rc_pingpong -n 20 -g 0 server"},
                                   .options = {"--pcap", folder.path() + "/run.pcapng", "--pcap-per", "link", "--trace", folder.path() + "/trace",
                                               "--fault", R"({"action": "drop", "from": "client", "opcode": "Send Middle", "nth": 3})"}});
    ASSERT_EQ(run.code, 0) << run.story();
    const std::string trace = support::text_of_file(folder.path() + "/trace");
    std::map<std::string, std::size_t> sent, found;  // by sending port
    std::istringstream lines(trace);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("  packet-transmitted  ") == line.npos) continue;
      const std::size_t from = line.find("port/") + 5;
      ++sent[line.substr(from, line.find(' ', from) - from)];
    }
    std::size_t lost = 0;
    const std::map<std::string, std::pair<std::string, std::string>> ends = {{"server:1 <-> leaf0:1", {"server:1", "leaf0:1"}},
                                                                             {"client:1 <-> leaf0:2", {"client:1", "leaf0:2"}}};
    for (const Frame& frame : read_pcapng(folder.path() + "/run.pcapng")) {
      ASSERT_TRUE(ends.contains(frame.interface)) << frame.interface;
      ++found[frame.outbound ? ends.at(frame.interface).first : ends.at(frame.interface).second];
      lost += frame.comment == "hit by fault 0; dropped here: a fault of the scenario or the seed" ? 1 : 0;
    }
    EXPECT_EQ(found, sent) << topology;
    EXPECT_EQ(lost, 1u);
    // tshark counts the same packets and finds none malformed.
    std::istringstream rows(with_profile(folder.path(), "-T fields -e frame.interface_name -e infiniband.bth.psn -e _ws.malformed -E separator=/s"));
    std::size_t count = 0, in_all = 0;
    for (std::string row; std::getline(rows, row); ++count) EXPECT_EQ(row.find("alformed"), row.npos) << row;
    for (const auto& [port, packets] : sent) in_all += packets;
    EXPECT_EQ(count, in_all);
  }
}

// PFC frames are captured at the port that sends them; tshark shows the same priorities and times as the
// trace.
TEST(CaptureTest, a_capture_per_link_has_frames_of_pauses) {
  const support::TemporaryFolder folder;
  const auto run = support::run({.scenario = VERBATIM_SOURCE_DIR "/scenarios/incast.json",
                                 .options = {"--pcap", folder.path() + "/run.pcapng", "--pcap-per", "link", "--snap-length", "128", "--trace",
                                             folder.path() + "/trace"}});
  ASSERT_EQ(run.code, 0) << run.story();
  std::vector<std::string> expected;
  std::istringstream lines(support::text_of_file(folder.path() + "/trace"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("  pause-frame  ") == line.npos) continue;
    expected.push_back(line.find("paused=1") != line.npos ? "0x0001 65535" : "0x0001 0");
  }
  EXPECT_GT(expected.size(), 10u);
  std::vector<std::string> found;
  std::istringstream rows(with_profile(folder.path(), "-Y macc -T fields -e macc.cbfc.enbv -e macc.cbfc.pause_time.c0 -E separator=/s"));
  for (std::string row; std::getline(rows, row);) found.push_back(row);
  EXPECT_EQ(found, expected);
}

TEST(CaptureTest, the_profile_for_wireshark_shows_what_happened_to_packets) {
  const support::TemporaryFolder folder;
  const auto run = support::run({.commands = {"server=ibv_rc_pingpong -n 5", "client=ibv_rc_pingpong -n 5 server"},
                                 .options = {"--pcap", folder.path() + "/run.pcapng", "--fault",
                                             R"({"action": "drop", "from": "client", "opcode": "Send Middle", "nth": 3})"}});
  EXPECT_EQ(run.code, 0) << run.story();
  std::map<std::string, int> rules;
  std::istringstream names(with_profile(folder.path(), "--color -T fields -e frame.coloring_rule.name"));
  for (std::string name; std::getline(names, name);) ++rules[name];
  EXPECT_EQ(rules["Dropped"], 4) << "the one that is lost, where it leaves and where it is; two behind it";
  EXPECT_EQ(rules["NAK"], 4) << "at both ends of two cables";
  EXPECT_EQ(rules["Retransmission"], 12) << "three packets, likewise";
  const std::string lines = with_profile(folder.path(), "-Y 'frame.comment contains \"retransmission\"'");
  EXPECT_NE(lines.find("client:1"), std::string::npos) << lines;
  EXPECT_NE(lines.find("retransmission #1"), std::string::npos) << lines;
  // tshark does not report rules that it cannot parse.
  std::ifstream filters(std::string(VERBATIM_SOURCE_DIR) + "/tools/wireshark/Verbatim/colorfilters");
  int count = 0;
  std::string all;
  for (std::string line; std::getline(filters, line);) {
    if (line.empty() || line[0] != '@') continue;
    const std::size_t from = line.find('@', 1) + 1;
    all += (count++ == 0 ? "(" : " || (") + line.substr(from, line.find("@[", from) - from) + ")";
  }
  EXPECT_EQ(count, 11);
  with_profile(folder.path(), "-c 1 -Y '" + all + "'");
}

TEST(CaptureTest, a_file_that_cannot_be_written_is_told_before_anything_starts) {
  const auto run =
      support::run({.commands = {"server=ibv_devinfo"}, .options = {"--pcap", "/nowhere/run.pcapng"}});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("cannot write \"/nowhere/run.pcapng\": No such file or directory"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace verbatim::capture
