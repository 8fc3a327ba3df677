// A folder of SONiC's configurations, one for each switch.
#include "tests/import/helpers.h"

namespace verbatim::config::imports {
namespace {

std::string config_of(const std::string& name, const std::string& neighbours, const std::string& more = "") {
  return R"({"DEVICE_METADATA": {"localhost": {"hostname": ")" + name +
         R"("}}, "PORT": {"Ethernet0": {"speed": "100000", "lanes": "0,1,2,3"},
    "Ethernet4": {"speed": "100000"}, "Ethernet8": {"speed": "200000"}}, "DEVICE_NEIGHBOR": {)" +
         neighbours + "}" + more + "}";
}

const std::string kLeaf = config_of(
    "leaf1", R"("Ethernet0": {"name": "h1", "port": "eth0"}, "Ethernet4": {"name": "h2", "port": "eth0"},
    "Ethernet8": {"name": "spine1", "port": "Ethernet8"})",
    R"(, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet8": "40m"}}, "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}})");
const std::string kSpine = config_of(
    "spine1", R"("Ethernet8": {"name": "leaf1", "port": "Ethernet8"}, "Ethernet0": {"name": "h3", "port": "eth0"})");

TEST(Sonic, switches_are_joined_by_their_neighbours) {
  const Imported result = import_texts({{"leaf1.json", kLeaf}, {"spine1.json", kSpine}});
  ASSERT_TRUE(result.topology) << result.findings;
  const TopologySpec& topology = *result.topology;
  EXPECT_EQ(topology.hosts.size(), 3u);
  EXPECT_EQ(topology.switches.size(), 2u);
  ASSERT_EQ(topology.links.size(), 4u);
  EXPECT_EQ(topology.links[0].a, "leaf1:1");
  EXPECT_EQ(topology.links[0].b, "h1");
  EXPECT_EQ(topology.links[0].length_mm, 5'000);
  EXPECT_EQ(topology.links[0].pfc.lossless_priorities, "3,4");
  EXPECT_EQ(topology.links[2].b, "spine1:3");
  EXPECT_EQ(bits_per_second(topology.links[2].rate), 200'000'000'000);
  EXPECT_EQ(topology.links[2].length_mm, 40'000);
}

TEST(Sonic, files_that_contradict_each_other_are_refused) {
  const std::string other = config_of("spine1", R"("Ethernet8": {"name": "leaf2", "port": "Ethernet8"})");
  EXPECT_EQ(
      import_texts({{"leaf1.json", kLeaf}, {"spine1.json", other}}).findings,
      "leaf1.json: /DEVICE_NEIGHBOR/Ethernet8: port \"Ethernet8\" of \"spine1\" does not name this port as its neighbour; correct one of the two files; the "
      "other is spine1.json\n");
  EXPECT_EQ(
      import_texts({{"a.json", kLeaf}, {"b.json", kLeaf}}).findings,
      "b.json: /DEVICE_METADATA/localhost/hostname: there are two switches named \"leaf1\"; give each file a name of its own\n");
}

TEST(Sonic, a_table_of_the_wrong_kind_is_no_crash) {
  EXPECT_NE(import_text(R"({"DEVICE_METADATA": [], "DEVICE_NEIGHBOR": 3})").findings.find("the switch has no name"),
            std::string::npos);
}

}  // namespace
}  // namespace verbatim::config::imports
