// Fabrics from files of other tools: HPCC's edge list, htsim's topologies, ibnetdiscover's output and ibsim's
// net files.
#include "sim/config/cabling.h"
#include "tests/import/helpers.h"

namespace verbatim::config::imports {
namespace {

constexpr const char* kEdges =
    "5 2 4\n3 4\n0 3 100Gbps 1000ns 0.000000\n1 3 25Gbps 0.002ms 0\n2 4 100Gbps 1us 0.01\n3 4 400Gbps 1000ns 0\n";

TEST(EdgeList, becomes_hosts_and_switches) {
  const Imported result = import_text(kEdges);
  ASSERT_TRUE(result.topology) << result.findings;
  const TopologySpec& topology = *result.topology;
  EXPECT_TRUE(topology.is_roce());
  ASSERT_EQ(topology.hosts.size(), 3u);
  EXPECT_EQ(topology.hosts[1].name, "h1");
  ASSERT_EQ(topology.switches.size(), 2u);
  EXPECT_EQ(topology.switches[0].name, "sw3");
  EXPECT_EQ(topology.switches[0].ports, 3u);
  ASSERT_EQ(topology.links.size(), 4u);
  EXPECT_EQ(topology.links[1].propagation(), Duration(2'000'000));
  EXPECT_EQ(bits_per_second(topology.links[1].rate), 25'000'000'000);
  EXPECT_NE(result.assumed().find("1 link loses packets by chance in the file"), std::string::npos) << result.assumed();
}

TEST(EdgeList, a_host_with_two_links_has_two_adapters) {
  const Imported result = import_text(
      "4 2 5\n2 3\n0 2 100Gbps 1us 0\n0 3 100Gbps 1us 0\n1 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n");
  ASSERT_TRUE(result.topology) << result.findings;
  EXPECT_EQ(result.topology->hosts.size(), 2u);
  EXPECT_EQ(result.topology->adapters.size(), 4u);
}

TEST(EdgeList, wrong_lines_are_findings_with_their_number) {
  EXPECT_EQ(import_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 9 100Gbps 1us 0\n").findings,
            "f: line 4: \"9\" is not the number of a node; nodes are 0 to 2\n");
  EXPECT_EQ(
      import_text("3 1 2\n2\n0 2 101Gbps 1us 0\n0 1\n").findings,
      "f: line 3: \"101Gbps\" is not the data rate of any InfiniBand link; name speed and width, for example \"EDR 4x\" (100 Gbps)\n"
      "f: line 4: this is not a link; a link is `a b rate delay loss`, such as `0 320 100Gbps 1000ns 0.000000`\n");
  EXPECT_EQ(import_text("3 1 3\n2\n0 2 100Gbps 1us 0\n").findings,
            "f: line 3: the first line announces 3 links, and there are 1; correct the number, or add the links\n");
  EXPECT_EQ(import_text("3 2 1\n2\n0 2 100Gbps 1us 0\n").findings,
            "f: line 2: the first line announces 2 switches, and 1 are named here; name each switch once\n");
}

constexpr const char* kTree =
    "# two pods\nNodes 8\nTiers 3\nPodsize 4\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 500\n"
    "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\nDownlink_Latency_ns 700\nSwitch_Latency_ns 0\n"
    "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 900\nBundle 2\n";

TEST(Htsim, three_tiers_have_the_cables_of_htsim) {
  const Imported result = import_text(kTree);
  ASSERT_TRUE(result.topology) << result.findings;
  const TopologySpec& topology = *result.topology;
  EXPECT_EQ(topology.hosts.size(), 8u);
  EXPECT_EQ(topology.switches.size(), 4u + 4u + 4u);
  EXPECT_EQ(topology.links.size(), 8u + 8u + 16u);
  std::size_t of_core = 0;
  for (const LinkSpec& link : topology.links) {
    if (!link.b.starts_with("core1:")) continue;
    ++of_core;
    EXPECT_TRUE(link.a.starts_with("agg1:") || link.a.starts_with("agg3:")) << link.a;
    EXPECT_EQ(link.propagation(), Duration(900'000));
  }
  EXPECT_EQ(of_core, 4u);
}

// As in htsim's own tests: each tier has queues of its own.
TEST(Htsim, every_tier_may_have_queues) {
  std::string text = kTree;
  text.insert(text.find("Tier 1"), "Queue_Down 1001\nQueue_Up 1002\n");
  text.insert(text.find("Tier 2"), "Queue_Down 2001\nQueue_Up 2002\n");
  text += "Queue_Down 3001\n";
  const Imported result = import_text(text);
  ASSERT_TRUE(result.topology) << result.findings;
  EXPECT_EQ(result.topology->switches.size(), 12u);
  EXPECT_EQ(import_text(text + "Queue_Down 5\n").findings, "f: line 27: \"Queue_Down\" is here already; write it once\n");
}

TEST(Htsim, numbers_that_make_no_tree_are_refused) {
  std::string text = kTree;
  text.replace(text.find("Radix_Down 4"), 12, "Radix_Down 8");
  EXPECT_EQ(
      import_text(text).findings,
      "f: Radix_Down of tier 2 is 8, and its cables are 4; a switch of tier 2 has Bundle cables to each of the 2 pods\n");
  EXPECT_EQ(import_text("Nodes 8\nTiers 2\nPodsize x\n").findings,
            "f: line 3: \"Podsize\" has no whole number behind it; a line is a key and a number, such as `Nodes 1024`\n");
}

// Hand-written: two hosts, one of them with two adapters, a leaf and a spine.
constexpr const char* kDiscovered = R"(#
# Topology file: hand-written
#
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x2c9020000a001
switchguid=0x2c9020000a000(2c9020000a000)
Switch 40 "S-0002c9020000a000"  # "leaf one" enhanced port 0 lid 11 lmc 0
[1] "H-0002c9020000b000"[1](2c9020000b001)   # "node01 mlx5_0" lid 20 4xHDR
[2] "H-0002c9020000b100"[1](2c9020000b101)   # "node01 mlx5_1" lid 21 4xEDR
[40] "S-0002c9020000a100"[3]  # "spine" lid 12 4xHDR

vendid=0x2c9
devid=0xd2f0
sysimgguid=0x2c9020000a100
switchguid=0x2c9020000a100(2c9020000a100)
Switch 40 "S-0002c9020000a100"  # "spine" base port 0 lid 12 lmc 0
[3] "S-0002c9020000a000"[40]  # "leaf one" lid 11 4xHDR
[4] "H-0002c9020000c000"[1](2c9020000c001)   # "node02 HCA-1" lid 22 4xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x2c9020000b000
caguid=0x2c9020000b000
Ca 1 "H-0002c9020000b000"  # "node01 mlx5_0"
[1](2c9020000b001)  "S-0002c9020000a000"[1]  # lid 20 lmc 0 "leaf one" lid 11 4xHDR

vendid=0x2c9
devid=0x1013
sysimgguid=0x2c9020000b100
caguid=0x2c9020000b100
Ca 1 "H-0002c9020000b100"  # "node01 mlx5_1"
[1](2c9020000b101)  "S-0002c9020000a000"[2]  # lid 21 lmc 0 "leaf one" lid 11 4xEDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x2c9020000c000
caguid=0x2c9020000c000
Ca 1 "H-0002c9020000c000"  # "node02 HCA-1"
[1](2c9020000c001)  "S-0002c9020000a100"[4]  # lid 22 lmc 0 "spine" lid 12 4xHDR
)";

TEST(Ibnetdiscover, keeps_guids_lids_and_descriptions) {
  const Imported result = import_text(kDiscovered);
  ASSERT_TRUE(result.topology) << result.findings;
  const TopologySpec& topology = *result.topology;
  ASSERT_EQ(topology.hosts.size(), 2u);
  EXPECT_EQ(topology.hosts[0].name, "node01");
  ASSERT_EQ(topology.hosts[0].further_adapters.size(), 1u);
  EXPECT_EQ(topology.hosts[0].further_adapters[0].device, "mlx5_1");
  EXPECT_EQ(topology.hosts[0].hca, "connectx6_hdr");
  EXPECT_EQ(topology.hosts[0].further_adapters[0].hca, "connectx4_edr");
  EXPECT_EQ(topology.switches[0].name, "leaf-one");
  EXPECT_EQ(topology.switches[0].ports, 40u);
  EXPECT_EQ(topology.switches[0].profile, "quantum");
  EXPECT_EQ(format_link_rate(topology.links[0].rate), "HDR 4x");
  const subnet::Plan plan = plan_of(topology);
  // Node order: the first adapter of each host, then further adapters, then switches.
  EXPECT_EQ(plan.nodes[0].guid, 0x2c9020000b000u);
  EXPECT_EQ(plan.nodes[0].ports[0].guid, 0x2c9020000b001u);
  EXPECT_EQ(plan.nodes[0].ports[0].lid.value, 20);
  EXPECT_EQ(plan.nodes[1].ports[0].lid.value, 22);
  EXPECT_EQ(plan.nodes[2].ports[0].lid.value, 21);
  EXPECT_EQ(plan.nodes[3].guid, 0x2c9020000a000u);
  EXPECT_EQ(plan.nodes[3].ports[0].lid.value, 11);
  EXPECT_EQ(route(topology, plan, 0, 1),
            (std::vector<std::string>{"leaf-one:1", "leaf-one:40", "spine:3", "spine:4", "node02:1"}));
  EXPECT_NE(result.assumed().find("length 2 m for 4 cables"), std::string::npos) << result.assumed();
}

TEST(Ibnetdiscover, reads_the_short_form_of_ibsim) {
  const Imported result = import_text(
      "Switch 8 \"Switch1\"\n[1] \"Hca1\"[1]\n[2] \"Hca2\"[1] w=1 s=2\n\nHca 2 \"Hca1\"\n[1] \"Switch1\"[1]\n\nHca 2 \"Hca2\"\n[1] \"Switch1\"[2]\n");
  ASSERT_TRUE(result.topology) << result.findings;
  EXPECT_EQ(result.topology->hosts[1].name, "Hca2");
  EXPECT_EQ(format_link_rate(result.topology->links[0].rate), "EDR 4x");
  EXPECT_EQ(format_link_rate(result.topology->links[1].rate), "DDR 1x");
  EXPECT_NE(result.assumed().find("rate EDR 4x for 1 cable whose rate the file does not say"), std::string::npos)
      << result.assumed();
}

TEST(Ibnetdiscover, several_cabled_ports_are_several_adapters) {
  const Imported result = import_text(
      "Switch 8 \"S\"\n[1] \"A\"[1]\n[2] \"A\"[2]\n[3] \"B\"[1]\n\nCa 2 \"A\"\n[1] \"S\"[1]\n[2] \"S\"[2]\n\nCa 1 \"B\"\n[1] \"S\"[3]\n");
  ASSERT_TRUE(result.topology) << result.findings;
  EXPECT_EQ(result.topology->hosts.size(), 2u);
  EXPECT_EQ(result.topology->adapters.size(), 3u);
  EXPECT_NE(result.assumed().find("1 adapter has several cabled ports"), std::string::npos) << result.assumed();
}

TEST(Ibnetdiscover, ends_that_disagree_are_findings) {
  EXPECT_EQ(
      import_text("Switch 8 \"S\"\n[1] \"A\"[1]\n\nCa 2 \"A\"\n[2] \"S\"[1]\n").findings,
      "f: line 2: \"S\" port 1 has a cable to \"A\" port 1, which has none; every cable is written at both ends\n"
      "f: line 5: \"A\" port 2 has a cable to \"S\" port 1, whose cable leads to \"A\" port 1 (line 2); correct one of them\n");
  EXPECT_EQ(
      import_text("Switch 8 \"S\"\n[1] \"A\"[1]\n").findings,
      "f: line 2: \"S\" port 1 has a cable to \"A\", which the file does not describe; add its block, or remove the line\n");
  EXPECT_EQ(
      import_text("Switch 8 \"S\"\n[9] \"A\"[1]\nhello\n").findings,
      "f: line 2: this is not a port of \"S\"; its ports are 1 to 8\n"
      "f: line 3: \"hello\" is neither a node nor a port; a node begins with Switch, Ca, Hca or Rt; a line of a port is `[1] \"S-0002c90200000001\"[2]`\n");
}

TEST(Import, says_what_a_file_is_instead) {
  EXPECT_NE(import_text("hello\n").findings.find("f: this is no fabric in a format that is known"), std::string::npos);
  EXPECT_EQ(import_text("Nodes 4\nConnections 1\n0->1 id 1 start 0 size 100\n").findings,
            "f: this is a connection matrix of htsim: traffic, not a fabric; give the file of the topology\n");
  EXPECT_EQ(import_text("1\n0 1 3 100 1000 2\n").findings,
            "f: this is a list of flows of HPCC: traffic, not a fabric; give the file of the topology\n");
  EXPECT_EQ(import_texts({{"a", kEdges}, {"b", kTree}}).findings,
            "b: this is htsim's .topo, and there is a fabric already; import one fabric at a time\n");
}

}  // namespace
}  // namespace verbatim::config::imports
