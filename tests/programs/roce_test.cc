// The same programs over Ethernet: by GID, over IPv6 and IPv4, alone and several pairs at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

using equality::BothModes;
using equality::run_both;

class OverEthernet : public ::testing::TestWithParam<const char*> {};

TEST_P(OverEthernet, ends_well_in_both_modes) {
  const std::string command = GetParam();
  const BothModes runs = run_both(
      {.topology = "two_hosts_roce", .commands = {"server=" + command, "client=" + command + " server"}});
  expect_equal(runs);
  EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
  EXPECT_GE(runs.slices.report["packets"], 20);
}

INSTANTIATE_TEST_SUITE_P(Programs, OverEthernet,
                         ::testing::Values("ibv_rc_pingpong -g 0 -n 20", "ibv_rc_pingpong -g 1 -n 20 -e",
                                           "ibv_uc_pingpong -g 0 -n 20", "ibv_ud_pingpong -g 0 -n 20",
                                           "ibv_ud_pingpong -g 1 -n 20", "ibv_srq_pingpong -g 0 -n 20",
                                           "ibv_xsrq_pingpong -g 0 -n 20", "ib_write_bw -x 0 -n 20",
                                           "ib_write_lat -x 1 -n 20", "ib_read_bw -x 0 -n 20",
                                           "ib_read_lat -x 0 -n 20", "ib_send_bw -x 0 -n 20",
                                           "ib_send_lat -x 0 -n 20", "ib_send_lat -n 20",
                                           "ib_send_lat -x 0 -n 20 -c UD", "ib_send_bw -x 1 -n 20 -c UC",
                                           "ib_atomic_lat -x 0 -n 20", "ib_atomic_bw -x 0 -n 20"));

// A host's second adapter has an interface and a GID table of its own: entry 1 is that of its IPv4 address.
TEST(OverEthernetTest, a_second_adapter_is_used_by_name_and_gid) {
  const std::string command = "ib_write_bw -d mlx5_1 -x 1 -n 20";
  const BothModes runs =
      run_both({.topology = "rails_2_roce", .commands = {"server=" + command, "client=" + command + " server"}, .trace = true});
  expect_equal(runs);
  EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
  EXPECT_NE(runs.slices.output("server").find("GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:01:01"), std::string::npos)
      << runs.slices.story();
  EXPECT_NE(runs.slices.trace.find("port/client/mlx5_1:1  packet-transmitted"), std::string::npos);
  EXPECT_EQ(runs.slices.trace.find("port/client:1  packet-transmitted"), std::string::npos);
  EXPECT_EQ(support::run({.topology = "rails_2_roce",
                          .commands = {"server=" + command, "client=" + command + " server"},
                          .options = {"--verify"}})
                .code,
            0);
}

// A fault of one adapter is none of the other.
TEST(OverEthernetTest, an_adapter_fails_and_the_other_goes_on) {
  for (const std::string device : {"mlx5_0", "mlx5_1"}) {
    const std::string command = "ib_send_bw -d " + device + " -x 1 -n 1000";
    const auto run = support::run(
        {.topology = "rails_2_roce",
         .commands = {"server=" + command, "client=" + command + " server"},
         .options = {"--time-limit", "10s", "--fault", R"({"action": "device_fatal", "host": "client/mlx5_1", "at": "105 ms"})",
                     "--fault", R"({"action": "drop", "from": "server/mlx5_1", "nth": 1000000})"}});
    EXPECT_EQ(run.report["programs"][1]["exit_code"] == 0, device == "mlx5_0") << run.story();
  }
}

// Formula: in a busy stretch a frame starts every (8 + 14 + 20 + 8 + 12 + 4096 + 4 + 4 + 12) bytes * 80 ps
// after the one before: preamble, Ethernet, IPv4, UDP, BTH, payload, ICRC, check sequence, gap.
TEST(OverEthernetTest, full_frames_follow_each_other_at_line_rate) {
  support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/jumbo.json") << R"({"name": "jumbo", "link_layer": "roce", "interface_mtu": 9000,
      "hosts": [{"name": "server"}, {"name": "client"}], "switches": [{"name": "leaf0", "profile": "ethernet_switch"}],
      "links": [{"a": "server", "b": "leaf0:1", "rate": "100 Gbps"}, {"a": "client", "b": "leaf0:2", "rate": "100 Gbps"}]})";
  const auto run = support::run({.topology = folder.path() + "/jumbo.json",
                                 .commands = {"server=ib_write_bw -x 1 -m 4096 -s 65536 -n 50",
                                              "client=ib_write_bw -x 1 -m 4096 -s 65536 -n 50 server"},
                                 .trace = true});
  ASSERT_EQ(run.code, 0) << run.story();
  std::stringstream lines(run.trace);
  double last = -1, least = 1e9;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("port/client:1  packet-transmitted") == std::string::npos) continue;
    const double now = std::stod(line);
    if (line.find("RDMA-Write-Middle") == std::string::npos) {
      last = -1;
      continue;
    }
    if (last >= 0) least = std::min(least, now - last);
    last = now;
  }
  EXPECT_NEAR(least * 1e6, 4178 * 80, 0.5) << "ps";
}

// InfiniBand has one path for each pair, Ethernet one for each flow; four pairs at once cross the spines on
// both.
TEST(OverEthernetTest, several_pairs_at_once_cross_a_leaf_and_spine_fabric) {
  for (const char* topology : {"leaf_spine_16", "leaf_spine_16_roce"}) {
    const BothModes runs =
        run_both({.topology = topology,
                  .commands = {"h0=ib_write_bw -x 0 -n 10", "h1=ibv_rc_pingpong -g 0 -n 10",
                               "h2=ib_read_lat -x 0 -n 10", "h3=ib_send_lat -x 0 -n 10",
                               "h12=ib_write_bw -x 0 -n 10 h0", "h13=ibv_rc_pingpong -g 0 -n 10 h1",
                               "h14=ib_read_lat -x 0 -n 10 h2", "h15=ib_send_lat -x 0 -n 10 h3"}});
    expect_equal(runs);
    EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
    // Host, leaf, spine, leaf, host.
    EXPECT_EQ(runs.slices.report["packet_hops"], 4 * runs.slices.report["packets"].get<std::int64_t>());
  }
}

}  // namespace
}  // namespace verbatim
