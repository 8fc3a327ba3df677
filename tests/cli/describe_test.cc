#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

TEST(Describe, golden_two_hosts) {
  const Finished run = verbatim({"describe", "topologies/two_hosts.json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            R"(two_hosts: infiniband, 2 hosts, 1 switch, 2 links
Two hosts at EDR 4x (100 Gbps), joined by one switch
Hosts
  server  10.0.0.1  LID 2  GID fe80:0000:0000:0000:0256:4200:0000:0201  hca connectx-6-like  cpu server-class
  client  10.0.0.2  LID 1  GID fe80:0000:0000:0000:0256:4200:0000:0101  hca connectx-6-like  cpu server-class
Switches
  leaf0  LID 3  36 ports, 2 in use  edr-switch
Links
  server:1  --  leaf0:1  EDR 4x  100 Gbps  2 m  9.2 ns
  client:1  --  leaf0:2  EDR 4x  100 Gbps  2 m  9.2 ns
Routes
  server  ->  client  leaf0:1 > leaf0:2 > client:1
  client  ->  server  leaf0:2 > leaf0:1 > server:1
Management network
  20 us one way, 10 Gbps
)");
}

// The addresses of further adapters, given or generated, and the host names that resolve to them.
TEST(Describe, tells_the_addresses_of_further_adapters) {
  const Finished given = verbatim({"describe", "topologies/rails_2_roce.json"});
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_NE(given.out.find("\n  client/mlx5_1  192.168.1.2/24 as client-mlx5_1  MAC 02:56:42:00:00:02  "
                           "GID fe80:0000:0000:0000:0056:42ff:fe00:0002  GID 0000:0000:0000:0000:0000:ffff:c0a8:0102  "
                           "GID fd00:0000:c0a8:0100:0000:0000:c0a8:0102  hca"),
            std::string::npos)
      << given.out;
  const Finished by_position = verbatim({"describe", "topologies/rails_4.json"});
  EXPECT_NE(by_position.out.find("\n  h3/mlx5_1  172.17.0.4/16 as h3-mlx5_1  LID 8  "), std::string::npos) << by_position.out;
}

TEST(Describe, ethernet_says_what_pauses_marks_and_slows_down) {
  const Finished on = verbatim({"describe", "topologies/star_5_roce.json"});
  EXPECT_EQ(on.code, 0) << on.err;
  EXPECT_NE(on.out.find("  cpu server-class  congestion control dcqcn-nv\n"), std::string::npos) << on.out;
  EXPECT_NE(on.out.find("  ECN marking\n"), std::string::npos) << on.out;
  EXPECT_NE(on.out.find("  PFC of priorities 0-7\n"), std::string::npos) << on.out;
  const Finished off = verbatim({"describe", "topologies/two_hosts_roce.json"});
  EXPECT_NE(off.out.find("  no congestion control\n"), std::string::npos) << off.out;
  EXPECT_NE(off.out.find("  no ECN marking\n"), std::string::npos) << off.out;
  config::Folder folder;
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", "generate": {"shape": "star", "hosts": 2, "rate": "100 Gbps", "hca": "edr_roce", "switch": "hpcc_switch"}})");
  const Finished some = verbatim({"describe", "t.json"}, folder.path());
  EXPECT_NE(some.out.find("  hpcc-switch  ECN marking of priorities 1-7\n"), std::string::npos) << some.out;
  EXPECT_NE(off.out.find("  credits, no PFC\n"), std::string::npos) << off.out;
  const auto json = nlohmann::json::parse(verbatim({"describe", "--json", "topologies/star_5_roce.json"}).out);
  EXPECT_EQ(json["adapters"][0]["congestion_control"], "dcqcn-nv");
  EXPECT_EQ(json["switches"][0]["marks"], true);
  EXPECT_EQ(json["links"][0]["flow_control"], "pfc");
  EXPECT_EQ(json["links"][0]["lossless_priorities"], "0-7");
}

TEST(Describe, golden_direct) {
  const Finished run = verbatim({"describe", "topologies/two_hosts_direct.json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("two_hosts_direct: infiniband, 2 hosts, 0 switches, 1 link\n"), std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("  server  ->  client  client:1\n"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("Switches"), std::string::npos);
}

TEST(Describe, a_bad_topology_is_not_described) {
  config::Folder folder;
  folder.write("t.json", R"({"name": "t", "hosts": [{"name": "a"}], "links": []})");
  const Finished run = verbatim({"describe", "t.json"}, folder.path());
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err,
            "t.json: /hosts/0: the host \"a\" has no cable; add a link with the end \"a\"\n"
            "verbatim: 1 finding; nothing was started\n");
}

}  // namespace
}  // namespace verbatim::cli
