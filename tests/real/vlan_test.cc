// VLAN interfaces on Ethernet, as programs see them and as tshark reads what they send.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/equality/both_modes.h"
#include "tests/real/captured.h"

namespace verbatim::real {
namespace {

class Vlan : public testing::Test {
 protected:
  // Both hosts are in VLAN 10.
  std::string topology() {
    std::ifstream plain(support::topology("two_hosts_roce"));
    nlohmann::json json = nlohmann::json::parse(plain);
    for (nlohmann::json& host : json["hosts"]) host["vlans"] = nlohmann::json::array({{{"id", 10}}});
    const std::string file = folder_.path() + "/vlan.json";
    std::ofstream(file) << json;
    return file;
  }
  // Two adapters each: the first is in VLAN 10 and 30, the second in 20 and, with a network of its own, in 10 as well.
  std::string rails() {
    std::ifstream plain(support::topology("rails_2_roce"));
    nlohmann::json json = nlohmann::json::parse(plain);
    int number = 0;
    for (nlohmann::json& host : json["hosts"]) {
      const std::string address = "192.168.10." + std::to_string(++number) + "/24";
      host["vlans"] = nlohmann::json::array({{{"id", 10}}, {{"id", 30}}});
      host["further_adapters"][0]["vlans"] = nlohmann::json::array({{{"id", 20}}, {{"id", 10}, {"address", address}}});
    }
    const std::string file = folder_.path() + "/rails.json";
    std::ofstream(file) << json;
    return file;
  }
  support::TemporaryFolder folder_;
};

TEST_F(Vlan, connections_have_its_tag_and_the_priority_of_the_type_of_service) {
  const std::string capture = folder_.path() + "/vlan.pcap";
  support::RunRequest request;
  request.topology = topology();
  request.commands = {"server=ucmatose -b server-eth0.10 -c 2", "client=ucmatose -s server-eth0.10 -c 2 -t 96"};
  request.options = {"--time-limit", "100s", "--stagger", "5ms"};
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_NE(runs.slices.output("client").find("return status 0"), std::string::npos) << runs.slices.story();
  request.options.insert(request.options.end(), {"--pcap", capture});
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  const std::string tags = output_of("tshark -r " + support::quoted(capture) +
                                     " -T fields -e vlan.id -e vlan.priority -e ip.src -e _ws.malformed 2>/dev/null | sort -u");
  EXPECT_EQ(tags, "10\t3\t100.64.40.1\t\n10\t3\t100.64.40.2\t\n");
}

TEST_F(Vlan, an_entry_of_the_gid_table_names_its_interface) {
  support::RunRequest request;
  request.topology = topology();
  request.commands = {"server=bash -c 'cd /sys/class/infiniband/mlx5_0/ports/1; cat gid_attrs/ndevs/[1-4] gids/3; ip -br -4 addr'"};
  const support::RunReport run = support::run(request);
  EXPECT_NE(run.output("server").find("eth0\neth0\neth0.10\neth0.10\n0000:0000:0000:0000:0000:ffff:6440:2801\n"), std::string::npos)
      << run.story();
  EXPECT_NE(run.output("server").find("100.64.40.1/22"), std::string::npos) << run.story();
}

// Programs over a VLAN of the second adapter.
struct OverVlan {
  const char* server;
  const char* client;
  const char* says;  // in the client's output
};

constexpr OverVlan kOverVlan[] = {
    {"rping -s -a server-eth1.20 -C 3 -v", "rping -c -a server-eth1.20 -C 3 -v", "rdma-ping-2:"},
    {"ucmatose -b server-eth1.20 -c 3", "ucmatose -b client-eth1.20 -s server-eth1.20 -c 3", "return status 0"},
    {"udaddy -b server-eth1.20", "udaddy -s server-eth1.20", "return status 0"},
};

TEST_F(Vlan, connections_go_by_the_adapter_whose_vlan_it_is) {
  for (const OverVlan& over : kOverVlan) {
    support::RunRequest request;
    request.topology = rails();
    request.commands = {"server=" + std::string(over.server), "client=" + std::string(over.client)};
    request.options = {"--time-limit", "100s", "--stagger", "5ms"};
    const equality::BothModes runs = equality::run_both(request);
    equality::expect_equal(runs);
    EXPECT_NE(runs.slices.output("client").find(over.says), std::string::npos) << runs.slices.story();
    for (const char* const host : {"server", "client"}) {
      EXPECT_NE(runs.slices.trace.find(std::string("port/") + host + "/mlx5_1:1  packet-transmitted"), std::string::npos) << over.client;
      EXPECT_EQ(runs.slices.trace.find(std::string("port/") + host + ":1  packet-transmitted"), std::string::npos) << over.client;
    }
  }
}

// One identifier on both adapters, distinguished by the networks.
TEST_F(Vlan, two_adapters_may_be_in_the_same_one) {
  for (const auto& [name, source] : {std::pair("server-eth0.10", "100.64.40.2"), std::pair("server-eth1.10", "192.168.10.2")}) {
    const std::string capture = folder_.path() + "/vlan.pcap";
    support::RunRequest request;
    request.topology = rails();
    request.commands = {std::string("server=rping -s -a ") + name + " -C 2", std::string("client=rping -c -C 2 -a ") + name};
    request.options = {"--pcap", capture};
    const support::RunReport run = support::run(request);
    EXPECT_EQ(run.code, 0) << run.story();
    const std::string tags = output_of("tshark -r " + support::quoted(capture) +
                                       " -T fields -e vlan.id -e ip.src -e _ws.malformed 2>/dev/null | sort -u");
    EXPECT_NE(tags.find(std::string("10\t") + source + "\t\n"), std::string::npos) << tags;
    EXPECT_EQ(std::count(tags.begin(), tags.end(), '\n'), 2) << tags;
  }
}

// In the form of Linux's 8021q and iproute2.
TEST_F(Vlan, interfaces_of_all_adapters_are_told) {
  support::RunRequest request;
  request.topology = rails();
  request.commands = {
      "server=bash -c 'cat /sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/[1-6]; cd /proc/net/vlan; ls; cat config eth1.20; "
      "ip -d link show eth1.20; cd /sys/class/net; cat eth1.20/iflink; readlink eth1.20/lower_eth1; cat eth1/upper_eth1.10/ifindex; "
      "ip route; exec 3<>/dev/tcp/client-eth1.20/9'",
      "client=bash -c 'ls -d /proc/net/vlan/eth0.10'"};
  const support::RunReport run = support::run(request);
  const std::string told = run.output("server");
  for (const char* const part :
       {"eth1\neth1\neth1.20\neth1.20\neth1.10\neth1.10\nconfig\neth0.10\neth0.30\neth1.10\neth1.20\n",
        "VLAN Dev name\t | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\neth0.10        | 10  | eth0\n"
        "eth0.30        | 30  | eth0\neth1.20        | 20  | eth1\neth1.10        | 10  | eth1\n",
        "eth1.20  VID: 20\t REORDER_HDR: 1  dev->priv_flags: 1021\n         total frames received            0\n",
        "total bytes transmitted            0\nDevice: eth1\nINGRESS priority mappings: 0:0  1:0  2:0  3:0  4:0  5:0  6:0 7:0\n "
        "EGRESS priority mappings: \n",
        "eth1.20@eth1: <BROADCAST,MULTICAST,UP,LOWER_UP>", "vlan protocol 802.1Q id 20 <REORDER_HDR>", "\n3\n../../../../devices/pci0000:00/",
        "/net/eth1\n7\n", "100.64.80.0/22 dev eth1.20 proto kernel scope link src 100.64.80.1"})
    EXPECT_NE(told.find(part), std::string::npos) << part << "\n" << run.story();
  // The connection is refused by who has the address, not unreachable.
  EXPECT_NE(run.errors("server").find("Connection refused"), std::string::npos) << run.story();
}

// From entry 3, that of the VLAN, to an address outside it, and vice versa.
TEST_F(Vlan, what_is_not_of_it_is_dropped) {
  for (const auto& [server, client] : {std::pair(1, 3), std::pair(3, 1)}) {
    support::RunRequest request;
    request.topology = topology();
    request.commands = {"server=ibv_rc_pingpong -n 1 -g " + std::to_string(server),
                        "client=ibv_rc_pingpong -n 1 -g " + std::to_string(client) + " server"};
    const support::RunReport run = support::run(request);
    EXPECT_NE(run.errors("client").find("Failed status transport retry counter exceeded (12)"), std::string::npos) << run.story();
    EXPECT_NE(run.err.find("are in different VLANs"), std::string::npos) << run.story();
  }
}

}  // namespace
}  // namespace verbatim::real
