// VLAN interfaces on Ethernet, as programs see them and as tshark reads what they send.
#include <gtest/gtest.h>

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

// From entry 3, that of the VLAN, to an address that is not in it, and the other way round.
TEST_F(Vlan, what_is_not_of_it_is_dropped) {
  for (const auto& [server, client] : {std::pair(1, 3), std::pair(3, 1)}) {
    support::RunRequest request;
    request.topology = topology();
    request.commands = {"server=ibv_rc_pingpong -n 1 -g " + std::to_string(server),
                        "client=ibv_rc_pingpong -n 1 -g " + std::to_string(client) + " server"};
    const support::RunReport run = support::run(request);
    EXPECT_NE(run.errors("client").find("Failed status transport retry counter exceeded (12)"), std::string::npos) << run.story();
    EXPECT_NE(run.err.find("VLAN tag"), std::string::npos) << run.story();
  }
}

}  // namespace
}  // namespace verbatim::real
