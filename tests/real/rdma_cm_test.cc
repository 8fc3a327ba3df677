// Programs over librdmacm, as Debian ships them: on InfiniBand and Ethernet, in slices and call by call; what they send, as
// tshark reads it; and a peer that is killed at any time.
#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/equality/both_modes.h"
#include "tests/real/captured.h"

namespace verbatim::real {
namespace {

struct Pair {
  const char* name;
  const char* server;
  const char* client;
  const char* says;  // in the client's output
  // A server that polls for seconds until a client sends is slow call by call.
  bool in_both_modes = true;
};

// In commands GID is replaced by the server's GID.
constexpr Pair kPairs[] = {
    {"rping", "rping -s -a server -C 10 -v", "rping -c -a server -C 10 -v", "ping data: rdma-ping-9:"},
    {"rping_persistent", "rping -P -s -a server &", "rping -c -a server -C 3 -v", "ping data: rdma-ping-2:"},
    {"ucmatose", "ucmatose -b server -c 8", "ucmatose -s server -c 8", "return status 0"},
    {"ucmatose_migrates", "ucmatose -b server -m", "ucmatose -s server -m", "return status 0"},
    {"ucmatose_by_gid", "ucmatose -f gid -b GID -c 4", "ucmatose -f gid -s GID -c 4", "return status 0"},
    {"udaddy_by_gid", "udaddy -f gid -b GID", "udaddy -f gid -s GID", "return status 0"},
    {"udaddy", "udaddy -b server", "udaddy -s server", "return status 0"},
    {"mckey", "mckey -m 239.1.1.1 -C 3", "mckey -s -m 239.1.1.1 -C 3", "return status 0", false},
    {"rdma_server", "rdma_server", "rdma_client -s server", "rdma_client: end 0"},
    {"xserver", "rdma_xserver", "rdma_xclient -s server", "rdma_xclient: end 0"},
    {"xserver_xrc", "rdma_xserver -c x", "rdma_xclient -c x -s server", "rdma_xclient: end 0"},
    {"cmtime", "cmtime -b server &", "cmtime -s server -c 100", "disconnect"},
    {"rstream", "rstream -S 1024 -C 10 -I 20", "rstream -s server -S 1024 -C 10 -I 20", "custom    1k"},
    {"riostream", "riostream -S 1024 -C 10 -I 20", "riostream -s server -S 1024 -C 10 -I 20", "custom    1k"},
    {"perftest", "ib_send_bw -R -n 100", "ib_send_bw -R -n 100 server", "BW average"},
};

// The result in slices, which is the same in both modes.
support::RunReport run_to_its_end(support::RunRequest request, bool in_both_modes) {
  request.options = {"--time-limit", "100s", "--stagger", "5ms"};
  if (in_both_modes) {
    const equality::BothModes runs = equality::run_both(request);
    equality::expect_equal(runs);
    return runs.slices;
  }
  support::RunReport slices = support::run(request);
  EXPECT_EQ(slices.code, 0) << slices.story();
  return slices;
}

class RdmaCm : public testing::TestWithParam<std::tuple<Pair, const char*>> {};

TEST_P(RdmaCm, runs_to_its_end) {
  const auto& [pair, topology] = GetParam();
  const std::string program = std::string(pair.client).substr(0, std::string(pair.client).find(' '));
  if (!std::filesystem::exists("/usr/bin/" + program)) GTEST_SKIP() << program << " is not installed";
  support::RunRequest request;
  request.topology = topology;
  const std::string gid = std::string(topology) == "two_hosts" ? "fe80::256:4200:0:201" : "fe80::56:42ff:fe00:2";
  const auto with_gid = [&](const char* command) { return std::regex_replace(command, std::regex("GID"), gid); };
  request.commands = {"server=" + with_gid(pair.server), "client=" + with_gid(pair.client)};
  const support::RunReport slices = run_to_its_end(request, pair.in_both_modes);
  EXPECT_NE(slices.output("client").find(pair.says), std::string::npos) << slices.story();
}

INSTANTIATE_TEST_SUITE_P(Programs, RdmaCm,
                         testing::Combine(testing::ValuesIn(kPairs), testing::Values("two_hosts", "two_hosts_roce")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_on_" + std::get<1>(info.param);
                         });

// Over the second rail of hosts with two adapters, SERVER and CLIENT, by the names of their further addresses.
struct OverRail {
  const char* name;
  const char* server;
  const char* client;
  const char* says;  // in the client's output
  bool server_is_on_first = false;  // the client's source alone is on the second rail
  bool in_both_modes = true;        // as above
};

constexpr OverRail kOverRail[] = {
    {"rping", "rping -s -a SERVER-mlx5_1 -C 3 -v", "rping -c -a SERVER-mlx5_1 -C 3 -v", "rdma-ping-2:"},
    {"rping_of_all_addresses", "rping -s -C 3 -v", "rping -c -a SERVER-mlx5_1 -C 3 -v", "rdma-ping-2:"},
    {"rping_over_ipv6", "rping -s -a SERVER-mlx5_1.ip6 -C 3 -v", "rping -c -a SERVER-mlx5_1.ip6 -C 3 -v", "rdma-ping-2:"},
    {"rping_from_a_source", "rping -s -C 3 -v", "rping -c -I CLIENT-mlx5_1 -a SERVER -C 3 -v", "rdma-ping-2:", true},
    {"ucmatose", "ucmatose -b SERVER-mlx5_1 -c 3", "ucmatose -b CLIENT-mlx5_1 -s SERVER-mlx5_1 -c 3", "return status 0"},
    {"udaddy", "udaddy -b SERVER-mlx5_1", "udaddy -s SERVER-mlx5_1", "return status 0"},
    {"mckey", "mckey -b SERVER-mlx5_1 -m 239.1.1.1 -C 3", "mckey -b CLIENT-mlx5_1 -s -m 239.1.1.1 -C 3", "return status 0",
     false, false},
    {"rstream", "rstream -S 1024 -C 10 -I 20", "rstream -s SERVER-mlx5_1 -S 1024 -C 10 -I 20", "custom    1k"},
    {"ib_send_bw", "ib_send_bw -R -n 50", "ib_send_bw -R -n 50 SERVER-mlx5_1", "BW average"},
    {"ib_write_bw", "ib_write_bw -R -n 50", "ib_write_bw -R -n 50 SERVER-mlx5_1", "BW average", false, false},
};

class RdmaCmRail : public testing::TestWithParam<std::tuple<OverRail, const char*>> {};

TEST_P(RdmaCmRail, goes_by_the_adapter_that_has_the_address) {
  const auto& [over, topology] = GetParam();
  const bool is_infiniband = std::string(topology) == "rails_4";
  const std::string server = is_infiniband ? "h0" : "server", client = is_infiniband ? "h1" : "client";
  const auto named = [&](const char* command) {
    const std::string text = std::regex_replace(std::string(command), std::regex("SERVER"), server);
    return std::regex_replace(text, std::regex("CLIENT"), client);
  };
  support::RunRequest request;
  request.topology = topology;
  request.commands = {server + "=" + named(over.server), client + "=" + named(over.client)};
  request.trace = true;
  const support::RunReport slices = run_to_its_end(request, over.in_both_modes);
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_NE(slices.output(client).find(over.says), std::string::npos) << slices.story();
  const auto sends = [&](const std::string& adapter) {
    return slices.trace.find("port/" + adapter + ":1  packet-transmitted") != std::string::npos;
  };
  EXPECT_TRUE(sends(client + "/mlx5_1"));
  EXPECT_FALSE(sends(client));
  // On InfiniBand the subnet administrator is at the server's first adapter; the server of mckey sends
  // nothing.
  if (!is_infiniband) {
    EXPECT_EQ(sends(server), over.server_is_on_first);
  }
  if (std::string(over.name) != "mckey") {
    EXPECT_EQ(sends(server + "/mlx5_1"), !over.server_is_on_first);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, RdmaCmRail,
                         testing::Combine(testing::ValuesIn(kOverRail), testing::Values("rails_4", "rails_2_roce")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_on_" + std::get<1>(info.param);
                         });

// Global and link-local addresses of IPv6: the latter is made of the port's GUID or its MAC address.
TEST(RdmaCmIpv6, connects_and_sends_datagrams) {
  constexpr std::pair<const char*, const char*> kLinkLocal[] = {{"two_hosts", "fe80::256:4200:0:201%eth0"},
                                                                {"two_hosts_roce", "fe80::56:42ff:fe00:2%eth0"}};
  for (const auto& [topology, link_local] : kLinkLocal) {
    for (std::string name : {"server.ip6", link_local}) {
      const Pair pairs[] = {{"rping", "rping -s -a ADDRESS -C 3 -v", "rping -c -a ADDRESS -C 3 -v", "rdma-ping-2:"},
                            {"ucmatose", "ucmatose -b ADDRESS -c 3", "ucmatose -s ADDRESS -c 3", "return status 0"},
                            {"udaddy", "udaddy -b ADDRESS", "udaddy -s ADDRESS", "return status 0"}};
      for (const Pair& pair : pairs) {
        const auto with_address = [&](const char* command) {
          return std::regex_replace(std::string(command), std::regex("ADDRESS"), name);
        };
        support::RunRequest request;
        request.topology = topology;
        request.commands = {"server=" + with_address(pair.server), "client=" + with_address(pair.client)};
        request.options = {"--time-limit", "100s", "--stagger", "5ms"};
        const equality::BothModes runs = equality::run_both(request);
        equality::expect_equal(runs);
        EXPECT_NE(runs.slices.output("client").find(pair.says), std::string::npos) << runs.slices.story();
      }
    }
  }
}

TEST(RdmaCmIpv6, a_link_local_address_needs_an_interface) {
  support::RunRequest request;
  request.topology = "two_hosts_roce";
  request.commands = {"server=ucmatose -b fe80::56:42ff:fe00:2"};
  const support::RunReport run = support::run(request);
  EXPECT_NE(run.errors("server").find("bind address failed: Invalid argument"), std::string::npos) << run.story();
}

TEST(RdmaCmCapture, tshark_reads_every_management_datagram) {
  if (!tshark_is_installed()) GTEST_SKIP() << "tshark is not installed";
  const support::TemporaryFolder folder;
  for (const char* topology : {"two_hosts", "two_hosts_roce"}) {
    const std::string file = folder.path() + "/" + topology + ".pcapng";
    for (const char* commands : {"client=rping -s -a client -C 1|server=rping -c -a client -C 1",
                                 "client=udaddy -b client|server=udaddy -s client"}) {
      const std::string both = commands;
      support::RunRequest request;
      request.topology = topology;
      request.commands = {both.substr(0, both.find('|')), both.substr(both.find('|') + 1)};
      const std::set<std::string> seen =
          captured_datagrams(request, file, "-e infiniband.mad.mgmtclass -e infiniband.mad.attributeid");
      const bool is_datagrams = both.find("udaddy") != std::string::npos;
      std::set<std::string> expected = {"0x07\t0x0010", "0x07\t0x0013", "0x07\t0x0014", "0x07\t0x0015", "0x07\t0x0016"};
      if (is_datagrams) expected = {"0x07\t0x0017", "0x07\t0x0018"};
      if (std::string(topology) == "two_hosts") expected.insert("0x03\t0x0035");
      EXPECT_EQ(seen, expected) << both;
      if (is_datagrams) continue;
      // rping's service: the TCP port space and its port; annex A11 in the private data.
      const std::string words = output_of("tshark -r " + support::quoted(file) + " -Y infiniband.mad -V 2>/dev/null");
      EXPECT_NE(words.find("0000000001061c06"), std::string::npos);
    }
  }
}

support::RunReport run_udpong(const char* topology) {
  const support::TemporaryFolder folder;
  const std::string file = folder.path() + "/udpong.json";
  const nlohmann::json server = {{"host", "server"}, {"command", "udpong -b server"}, {"kill", "2 s"}};
  const nlohmann::json client = {{"host", "client"}, {"command", "udpong -s server -C 100 -S 64"}, {"start", "1 ms"}};
  std::ofstream(file) << nlohmann::json{{"topology", support::topology(topology)}, {"programs", {server, client}}};
  return support::run({.scenario = file});
}

// Datagrams over rsockets. The server of udpong runs for ever and must be given its address: otherwise it
// binds to the loopback address, which the client's first datagram, by UDP, does not reach.
TEST(RdmaCm, datagrams_of_rsockets_come_back) {
  const support::RunReport run = run_udpong("two_hosts");
  EXPECT_EQ(run.report["programs"][1]["exit_code"], 0) << run.story();
  EXPECT_NE(run.output("client").find("custom    64      100"), std::string::npos);
  EXPECT_GE(run.report["packets"], 100) << run.story();
}

// On Ethernet there are none: rsockets makes an address handle without a GRH for its own queue pair, which every adapter with
// RoCE refuses (mlx5_create_ah in rdma-core, rdma_check_ah_attr in Linux); its errno is that of what it undoes then.
TEST(RdmaCm, rsockets_has_no_datagrams_on_ethernet) {
  const support::RunReport run = run_udpong("two_hosts_roce");
  EXPECT_EQ(run.report["programs"][1]["exit_code"], 255) << run.story();
  EXPECT_NE(run.errors("client").find("rconnect: No such file or directory"), std::string::npos) << run.story();
}

// rstream takes POLLHUP as an error (exit code 16), also together with the last data: its server ends right
// after sending them, because computing its summary takes no time. The data has been sent all the same.
TEST(RdmaCm, rstream_by_poll_ends_with_what_poll_tells_at_the_end) {
  support::RunRequest request;
  request.commands = {"server=rstream -T a -S 1024 -C 10 -I 20", "client=rstream -T a -s server -S 1024 -C 10 -I 20"};
  request.options = {"--time-limit", "100s", "--stagger", "5ms"};
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.report["programs"][0]["exit_code"], 0) << run.story();
  EXPECT_EQ(run.report["programs"][1]["exit_code"], POLLHUP) << run.story();
  EXPECT_NE(run.output("server").find("custom    1k      10      20      400k"), std::string::npos) << run.story();
  EXPECT_GE(run.report["packets"], 2 * 2 * 20 * 10) << "data and acknowledgements";
}

// Sockets choose their address by the network, too, but go by the management network.
TEST(Rails, sockets_of_further_adapters_have_their_addresses) {
  for (const std::string topology : {"rails_4", "rails_2_roce"}) {
    const std::string server = topology == "rails_4" ? "h0" : "server", client = topology == "rails_4" ? "h1" : "client";
    support::RunRequest request;
    request.topology = topology;
    request.commands = {server + "=iperf3 -s -1 -B " + server + "-mlx5_1", client + "=iperf3 -c " + server + "-mlx5_1 -n 1M"};
    if (!std::filesystem::exists("/usr/bin/iperf3")) GTEST_SKIP() << "iperf3 is not installed";
    const equality::BothModes runs = equality::run_both(request);
    equality::expect_equal(runs);
    const std::string from = topology == "rails_4" ? "172.17.0.2 port" : "192.168.1.2 port";
    EXPECT_NE(runs.slices.output(client).find("local " + from), std::string::npos) << runs.slices.story();
    EXPECT_EQ(runs.slices.report["packets"], 0);
  }
}

// The system's librspreload under a program around select: it opens no verbs device itself, and its data go through the
// adapters.
TEST(RdmaCm, sockets_are_taken_to_rsockets) {
  const std::string library = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << library << " is not installed";
  for (const char* topology : {"two_hosts", "two_hosts_roce"}) {
    const std::string program = "env LD_PRELOAD=" + library + " " + support::quoted(REAL_PROGRAMS "/select_echo");
    support::RunRequest request;
    request.topology = topology;
    request.commands = {"server=" + program, "client=" + program + " server"};
    request.options = {"--time-limit", "100s", "--stagger", "5ms"};
    const equality::BothModes runs = equality::run_both(request);
    equality::expect_equal(runs);
    EXPECT_EQ(runs.slices.output("server"), "echoed 65536 bytes\n") << runs.slices.story();
    EXPECT_EQ(runs.slices.output("client"), "all came back\n") << runs.slices.story();
    EXPECT_GE(runs.slices.report["packets"], 2 * 32) << "through the adapters";
  }
}

// Sockets that Debian's librspreload (44) does not support behave as on any machine: it takes no socket with
// SOCK_CLOEXEC, so Python's remain TCP, and has no accept4, so nc's server fails. iperf3 does not end: its
// server waits by select(2) before it accepts, so the new socket's number is above that of its rsocket, and
// select then reports the rsocket's number instead (repaired in rdma-core 63); besides, each accept takes 5
// s, for which rpoll sleeps.
TEST(RdmaCm, other_sockets_stay_as_they_are) {
  const std::string library = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << library << " is not installed";
  const std::string preload = "env LD_PRELOAD=" + library + " ";
  support::RunRequest python;
  const std::string serve = "s = socket.create_server((\"\", 5000)); c = s.accept()[0]; c.sendall(c.recv(9)); c.close()";
  const std::string ask = "c = socket.create_connection((\"server\", 5000)); c.sendall(b\"asked\"); print(c.recv(99))";
  python.commands = {"server=" + preload + "python3 -c 'import socket; " + serve + "'",
                     "client=" + preload + "python3 -c 'import socket; " + ask + "'"};
  const support::RunReport by_tcp = support::run(python);
  EXPECT_EQ(by_tcp.code, 0) << by_tcp.story();
  EXPECT_EQ(by_tcp.output("client"), "b'asked'\n") << by_tcp.story();
  EXPECT_EQ(by_tcp.report["packets"], 0) << "they are opened with SOCK_CLOEXEC";
  support::RunRequest netcat;
  netcat.commands = {"server=" + preload + "nc -l 5000", "client=nc -N server 5000"};
  const support::RunReport refused = support::run(netcat);
  EXPECT_NE(refused.errors("server").find("nc: accept: Socket operation on non-socket"), std::string::npos) << refused.story();
}

// At any moment, a client notices its server's end. A server notices its client's end once there is a
// connection; before that it waits for the next one, for ever.
TEST(RdmaCmKill, a_peer_that_is_killed_is_missed) {
  const support::TemporaryFolder folder;
  for (const char* topology : {"two_hosts", "two_hosts_roce"}) {
    int ended = 0;
    for (int step = 0; step < 40; ++step) {
      const bool server_dies = step % 2 != 0;
      const std::string file = folder.path() + "/kill.json";
      const std::string when = std::to_string(100'001 + step * 37) + " us";
      nlohmann::json server = {{"host", "server"}, {"command", "rping -s -a server -C 20"}};
      nlohmann::json client = {{"host", "client"}, {"command", "rping -c -a server -C 20"}, {"start", "100 ms"}};
      (server_dies ? server : client)["kill"] = when;
      std::ofstream(file) << nlohmann::json{{"topology", support::topology(topology)}, {"programs", {server, client}}};
      const support::RunReport run = support::run({.scenario = file, .options = {"--time-limit", "300s"}});
      const bool waits = !server_dies && run.code == 3;
      EXPECT_TRUE(run.code == 0 || run.code == 1 || waits) << when << run.story();
      ended += !server_dies && !waits;
    }
    EXPECT_GT(ended, 6) << topology;
  }
}

// The fabric is partitioned before, during and after the exchange that connects, and during data transfer. 10
// ms and 1 s are survived: messages of the CM are repeated for seconds, and the queue pairs' retries last as
// long. For ever: a side that waits for an answer gets an error; one that only waits for the peer to send
// waits for ever, because nothing can wake it.
TEST(RdmaCmPartition, is_survived_or_told) {
  const support::TemporaryFolder folder;
  for (const char* topology : {"two_hosts", "two_hosts_roce"}) {
    for (const int lasts_ms : {10, 1000, 0}) {
      int told = 0;
      for (int step = 0; step < 6; ++step) {
        const std::string file = folder.path() + "/partition.json";
        const int at_us = 100'020 + step * 190;
        nlohmann::json fault = {{"action", "link_down"}, {"link", "server"}, {"at", std::to_string(at_us) + " us"}};
        if (lasts_ms != 0) fault["until"] = std::to_string(at_us + lasts_ms * 1000) + " us";
        const nlohmann::json server = {{"host", "server"}, {"command", "rping -s -a server -C 20"}};
        const nlohmann::json client = {{"host", "client"}, {"command", "rping -c -a server -C 20"}, {"start", "100 ms"}};
        std::ofstream(file) << nlohmann::json{
            {"topology", support::topology(topology)}, {"programs", {server, client}}, {"faults", {fault}}};
        const support::RunReport run = support::run({.scenario = file, .options = {"--time-limit", "300s"}});
        if (lasts_ms != 0) {
          EXPECT_EQ(run.code, 0) << lasts_ms << " ms from " << at_us << " us on: " << run.story();
          continue;
        }
        EXPECT_TRUE(run.code == 1 || run.code == 3) << "from " << at_us << " us on: " << run.story();
        for (const auto& program : run.report["programs"]) told += program["exit_code"] == 255;
        if (step < 2) {
          EXPECT_NE(run.errors("client").find("RDMA_CM_EVENT_UNREACHABLE"), std::string::npos) << run.story();
        }
      }
      EXPECT_TRUE(lasts_ms != 0 || told >= 6) << told << " of 12 ended on " << topology;
    }
  }
}

}  // namespace
}  // namespace verbatim::real
