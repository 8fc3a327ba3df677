// OpenSM's list of links, and forwarding tables that are used unchanged.
#include "sim/config/cabling.h"
#include "tests/import/helpers.h"

namespace verbatim::config::imports {
namespace {

// Two adapters at two switches with two cables between them.
constexpr const char* kA =
    "CA Ports:01 SystemGUID:0002c9020000b000 NodeGUID:0002c9020000b000 PortGUID:0002c9020000b001 VenID:000002C9 DevID:1013 Rev:00000000 {a mlx5_0} LID:0005";
constexpr const char* kB =
    "CA Ports:01 SystemGUID:0002c9020000c000 NodeGUID:0002c9020000c000 PortGUID:0002c9020000c001 VenID:000002C9 DevID:1013 Rev:00000000 {b mlx5_0} LID:0006";
constexpr const char* kS =
    "SW Ports:24 SystemGUID:0002c9020000a000 NodeGUID:0002c9020000a000 PortGUID:0002c9020000a000 VenID:000002C9 DevID:CB20 Rev:00000000 {s} LID:0001";
constexpr const char* kT =
    "SW Ports:24 SystemGUID:0002c9020000a100 NodeGUID:0002c9020000a100 PortGUID:0002c9020000a100 VenID:000002C9 DevID:CB200000 Rev:00000000 {t} LID:0002";

std::string link(const char* a, const char* port_a, const char* b, const char* port_b) {
  const auto end = [](const char* node, const char* port) { return std::string("{ ") + node + " PN:" + port + " } "; };
  const std::string rest = "PHY=4x LOG=ACT SPD=25\n";
  return end(a, port_a) + end(b, port_b) + rest + end(b, port_b) + end(a, port_a) + rest;
}

std::string links() {
  return link(kA, "01", kS, "01") + link(kB, "01", kT, "01") + link(kS, "17", kT, "17") + link(kS, "18", kT, "18");
}

// minhop would use port 23 (0x17) for LID 6.
constexpr const char* kTables =
    "Unicast lids [0x0-0x6] of switch Lid 1 guid 0x0002c9020000a000 (s):\n  Lid  Out   Destination\n       Port     Info\n"
    "0x0001 000 : (Switch portguid 0x0002c9020000a000: 's')\n0x0002 024 : (Switch portguid 0x0002c9020000a100: 't')\n"
    "0x0005 001 : (Channel Adapter portguid 0x0002c9020000b001: 'a mlx5_0')\n0x0006 024 : (Channel Adapter portguid 0x0002c9020000c001: 'b mlx5_0')\n"
    "4 valid lids dumped\n"
    "osm_ucast_mgr: dump_ucast_routes: Switch 0x0002c9020000a100\nLID    : Port : Hops : Optimal\n0x0001 : 024 : 01 : yes\n0x0002 : 000 : 00 : yes\n"
    "0x0005 : 023 : 01 : yes\n0x0006 : 001 : 00 : yes\n0x0009 : UNREACHABLE\n";

TEST(OpensmLinks, become_nodes_with_their_identities) {
  const Imported result = import_text(links());
  ASSERT_TRUE(result.topology) << result.findings;
  const subnet::Plan plan = plan_of(*result.topology);
  EXPECT_EQ(result.topology->hosts[1].name, "b");
  EXPECT_EQ(plan.nodes[1].ports[0].lid.value, 6);
  EXPECT_EQ(result.topology->links.size(), 4u);
  EXPECT_EQ(result.topology->switches[1].node.device_id, 0xcb20u);
  EXPECT_EQ(route(*result.topology, plan, 0, 1), (std::vector<std::string>{"s:1", "s:23", "t:23", "t:1", "b:1"}));
}

TEST(ForwardingTables, are_the_routes_of_the_topology) {
  const Imported result = import_texts({{"links", links()}, {"tables", kTables}});
  ASSERT_TRUE(result.topology) << result.findings;
  EXPECT_EQ(result.topology->routing_engine, "file");
  EXPECT_EQ(result.topology->switches[0].forwarding_table, (std::vector<std::string>{"1:0", "2:24", "5:1", "6:24"}));
  const subnet::Plan plan = plan_of(*result.topology);
  EXPECT_EQ(plan.engine, subnet::Engine::kFile);
  EXPECT_EQ(route(*result.topology, plan, 0, 1), (std::vector<std::string>{"s:1", "s:24", "t:24", "t:1", "b:1"}));
  EXPECT_EQ(route(*result.topology, plan, 1, 0), (std::vector<std::string>{"t:1", "t:23", "s:23", "s:1", "a:1"}));
}

TEST(ForwardingTables, of_another_fabric_or_of_some_switches_are_refused) {
  EXPECT_EQ(
      import_texts({{"tables", kTables}}).findings,
      "tables: forwarding tables alone are no fabric; give the output of ibnetdiscover or opensm-subnet.lst as well\n");
  const std::string one = std::string(kTables).substr(0, std::string(kTables).find("osm_ucast"));
  EXPECT_EQ(import_texts({{"links", links()}, {"tables", one}}).findings,
            "tables: there is no forwarding table of the switch \"t\"; give the tables of all switches, or none\n");
  EXPECT_EQ(import_texts({{"links", links()}, {"tables", one + "0x0007 x\n"}}).findings,
            "tables: line 9: \"x\" is not a port; an entry is `0x0007 001`, a LID and a port\n");
}

TEST(OpensmLinks, wrong_lines_are_findings) {
  const std::string form = "; a link is `{ CA Ports:01 … {node01 mlx5_0} LID:0007 PN:01 } { SW … } PHY=4x LOG=ACT SPD=25`\n";
  EXPECT_EQ(import_text(links() + "{ CA }\n").findings, "f: line 9: a node has no description in braces" + form);
  EXPECT_EQ(import_text(links() + link(kA, "01", kT, "05")).findings,
            "f: line 9: port 1 of \"a mlx5_0\" has another cable in line 1" + form +
                "f: line 10: port 1 of \"a mlx5_0\" has another cable in line 1" + form);
}

}  // namespace
}  // namespace verbatim::config::imports
