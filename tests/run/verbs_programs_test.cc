// Debian's own verbs programs, unmodified, over both shipped topologies: they end well, say what they say on
// real hardware, and the figures they print are possible ones.
#include <gmock/gmock.h>

#include <fstream>
#include <regex>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::run_pair;
using support::RunReport;
using ::testing::HasSubstr;

struct PingPong {
  const char* name;
  std::string arguments;
  long bytes;  // both directions, as the program counts
  long iterations;
  friend void PrintTo(const PingPong& job, std::ostream* out) { *out << "ibv_rc_pingpong " << job.arguments; }
};

// Figures that ibv_rc_pingpong printed at its end.
struct Figures {
  long bytes = -1, iterations = -1;
  double seconds = 0, mbit_per_second = 0, usec_per_iteration = 0;
};

Figures figures_of(const std::string& output) {
  Figures figures;
  std::smatch match;
  const std::regex rate(R"((\d+) bytes in ([\d.]+) seconds = ([\d.]+) Mbit/sec)");
  const std::regex time(R"((\d+) iters in ([\d.]+) seconds = ([\d.]+) usec/iter)");
  if (std::regex_search(output, match, rate)) {
    figures.bytes = std::stol(match[1]);
    figures.seconds = std::stod(match[2]);
    figures.mbit_per_second = std::stod(match[3]);
  }
  if (std::regex_search(output, match, time)) {
    figures.iterations = std::stol(match[1]);
    figures.usec_per_iteration = std::stod(match[3]);
  }
  return figures;
}

void expect_addresses(const std::string& output, bool with_gid) {
  EXPECT_TRUE(std::regex_search(
      output,
      std::regex(
          R"(  local address:  LID 0x[0-9a-f]{4}, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID [0-9a-f:]+)")))
      << output;
  EXPECT_TRUE(std::regex_search(
      output,
      std::regex(
          R"(  remote address: LID 0x[0-9a-f]{4}, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID [0-9a-f:]+)")))
      << output;
  EXPECT_EQ(output.find("GID fe80::") != std::string::npos, with_gid) << output;
}

// "LID …, QPN …, PSN …, GID …" behind `label`.
std::string address(const std::string& output, const std::string& label) {
  const std::size_t at = output.find(label);
  if (at == std::string::npos) return "no \"" + label + "\"";
  const std::size_t from = output.find("LID", at);
  return output.substr(from, output.find('\n', from) - from);
}

class RcPingPong : public ::testing::TestWithParam<std::tuple<std::string, PingPong>> {};

TEST_P(RcPingPong, ends_well_with_possible_figures) {
  const auto& [topology, job] = GetParam();
  const std::string command = "ibv_rc_pingpong" + (job.arguments.empty() ? "" : " " + job.arguments);
  const RunReport run = run_pair(command, command + " server", topology);
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
  EXPECT_EQ(run.report["determinism"], "exact");
  EXPECT_EQ(run.report["outcome"], "finished");

  // 100 Gb/s in one direction at a time, 4x EDR: an upper bound of the payload rate, without headers.
  constexpr double kMbitPerSecondMax = 100'000;
  // A round trip crosses PCI Express, adapters and cables in both directions; below 1 us is impossible in
  // reality.
  const double size = static_cast<double>(job.bytes) / static_cast<double>(job.iterations) / 2;
  const double usec_min = std::max(1.0, 2 * size * 8 / kMbitPerSecondMax);
  const double usec_max = 20 + 2 * size * 8 / (kMbitPerSecondMax / 10);
  for (const char* host : {"server", "client"}) {
    const std::string& output = run.output(host);
    EXPECT_EQ(run.errors(host), "");
    expect_addresses(output, job.arguments.find("-g") != std::string::npos);
    const Figures figures = figures_of(output);
    EXPECT_EQ(figures.bytes, job.bytes) << output;
    EXPECT_EQ(figures.iterations, job.iterations) << output;
    EXPECT_GE(figures.usec_per_iteration, usec_min) << output;
    EXPECT_LE(figures.usec_per_iteration, usec_max) << output;
    EXPECT_LE(figures.mbit_per_second, kMbitPerSecondMax) << output;
    EXPECT_LT(figures.seconds * 1e3, run.virtual_ms()) << "longer than the run itself";
  }
  EXPECT_EQ(address(run.output("server"), "local address"), address(run.output("client"), "remote address"));
  EXPECT_EQ(address(run.output("client"), "local address"), address(run.output("server"), "remote address"));
  // The client starts at 100 ms; nothing here takes a second.
  EXPECT_GT(run.virtual_ms(), 100);
  EXPECT_LT(run.virtual_ms(), 1000);
}

std::string name_of(const ::testing::TestParamInfo<RcPingPong::ParamType>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(
    Programs, RcPingPong,
    ::testing::Combine(
        ::testing::Values("two_hosts", "two_hosts_direct"),
        ::testing::Values(PingPong{"defaults", "", 2 * 4096 * 1000, 1000},
                          PingPong{"events", "-e", 2 * 4096 * 1000, 1000},
                          PingPong{"checked", "-c", 2 * 4096 * 1000, 1000},
                          PingPong{"large", "-n 100 -s 65536", 2 * 65536 * 100, 100},
                          PingPong{"small_mtu_odd_size", "-n 100 -m 256 -s 100001", 2 * 100001 * 100, 100},
                          PingPong{"checked_odd_size", "-c -m 512 -n 200 -s 9999", 2 * 9999 * 200, 200},
                          PingPong{"events_checked", "-e -c -n 100", 2 * 4096 * 100, 100},
                          PingPong{"global_routing", "-g 0", 2 * 4096 * 1000, 1000})),
    name_of);

// The longer the message, the longer the iteration; a switch adds its latency to every message.
TEST(RcPingPongTimes, switch_and_size_take_time) {
  const auto usec = [](const std::string& topology, const std::string& arguments) {
    const RunReport run =
        run_pair("ibv_rc_pingpong " + arguments, "ibv_rc_pingpong server " + arguments, topology);
    EXPECT_EQ(run.code, 0) << run.story();
    return figures_of(run.output("client")).usec_per_iteration;
  };
  const double direct = usec("two_hosts_direct", "-n 200 -s 64");
  const double switched = usec("two_hosts", "-n 200 -s 64");
  // Two crossings of at least 90 ns (36 cycles at 400 MHz) and two more cables of 2 m at 4.6 ns/m in each
  // direction; the program prints hundredths of a microsecond.
  EXPECT_GE(switched - direct, 2 * (0.090 + 0.0092) - 0.011);
  EXPECT_LE(switched - direct, 0.5);
  // 64 KiB at 100 Gb/s take 5.2 us, twice per iteration.
  EXPECT_GE(usec("two_hosts_direct", "-n 200 -s 65536") - direct, 2 * 5.2);
}

TEST(Devices, ibv_devices_lists_one_device_with_its_guid) {
  for (const char* topology : {"two_hosts", "two_hosts_direct"}) {
    const RunReport run = run_pair("ibv_devices", "ibv_devices", topology);
    ASSERT_EQ(run.code, 0) << run.story();
    EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
    EXPECT_THAT(run.output("server"), HasSubstr("    device          \t   node GUID\n"));
    const std::regex line(R"(\n    \w+\s+[0-9a-f]{16}\n$)");
    EXPECT_TRUE(std::regex_search(run.output("server"), line)) << run.output("server");
    EXPECT_TRUE(std::regex_search(run.output("client"), line)) << run.output("client");
    EXPECT_NE(run.output("server"), run.output("client")) << "two adapters, two GUIDs";
  }
}

TEST(Devices, ibv_devinfo_shows_an_active_port) {
  for (const char* topology : {"two_hosts", "two_hosts_direct"}) {
    const RunReport run = run_pair("ibv_devinfo -v", "ibv_devinfo -v", topology);
    ASSERT_EQ(run.code, 0) << run.story();
    EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
    for (const char* host : {"server", "client"}) {
      const std::string& output = run.output(host);
      EXPECT_EQ(run.errors(host), "");
      for (const char* text :
           {"hca_id:\t", "transport:\t\t\tInfiniBand (0)", "fw_ver:\t\t\t\t20.43.4100",
            "vendor_id:\t\t\t0x25642", "vendor_part_id:\t\t\t4123", "phys_port_cnt:\t\t\t1",
            "max_qp:\t\t\t\t131072", "max_sge:\t\t\t30", "max_cqe:\t\t\t4194303", "port:\t1",
            "state:\t\t\tPORT_ACTIVE (4)", "max_mtu:\t\t4096 (5)", "active_mtu:\t\t4096 (5)",
            "link_layer:\t\tInfiniBand", "max_msg_sz:\t\t0x40000000", "active_width:\t\t4X (2)",
            "active_speed:\t\t25.0 Gbps (32)", "phys_state:\t\tLINK_UP (5)"}) {
        EXPECT_THAT(output, HasSubstr(text));
      }
      EXPECT_TRUE(
          std::regex_search(output, std::regex(R"(GID\[  0\]:\t\tfe80:0000:0000:0000:[0-9a-f:]{19}\n)")))
          << output;
    }
  }
}

// RDMA's MTU is the greatest whose packets fit into the interface's.
TEST(Devices, on_ethernet_the_active_mtu_follows_from_the_interfaces) {
  const std::string command = R"(["sh", "-c", "ibv_devinfo | grep _mtu; cat /sys/class/net/eth0/mtu; ip link show eth0 | grep -o 'mtu [0-9]*'"])";
  for (const bool is_jumbo : {false, true}) {
    support::TemporaryFolder folder;
    std::ofstream(folder.path() + "/t.json")
        << R"({"name": "t", "link_layer": "roce", )" << (is_jumbo ? R"("interface_mtu": 9000, )" : "")
        << R"("generate": {"shape": "star", "hosts": 2, "rate": "100 Gbps"}})";
    std::ofstream(folder.path() + "/s.json")
        << R"({"topology": "t.json", "programs": [{"host": "h0", "command": )" << command << "}]}";
    const RunReport run = support::run({.scenario = folder.path() + "/s.json"});
    ASSERT_EQ(run.code, 0) << run.story();
    EXPECT_EQ(run.output("h0"), is_jumbo ? "\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 (5)\n9000\nmtu 9000\n"
                                         : "\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 (3)\n1500\nmtu 1500\n");
  }
}

}  // namespace
}  // namespace verbatim
