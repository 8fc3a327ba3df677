// Node identities given in topologies, and forwarding tables for the routing engine `file`.
#include "sim/config/cabling.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string fabric(const std::string& a, const std::string& b, const std::string& sw, const std::string& more = "") {
  return R"({"name": "t", "hosts": [{"name": "a")" + a + R"(}, {"name": "b")" + b +
         R"(}], "switches": [{"name": "s", "ports": 8)" + sw +
         R"(}], "links": [{"a": "a", "b": "s:1", "rate": "EDR 4x"}, {"a": "b", "b": "s:2", "rate": "EDR 4x"}])" + more + "}";
}

std::optional<TopologySpec> loaded(const std::string& text) {
  Folder folder;
  Diagnostics diagnostics;
  auto topology = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  EXPECT_EQ(text_of(diagnostics), "");
  return topology;
}

TEST(Node, has_the_identity_that_is_given_and_others_get_what_is_free) {
  const auto topology =
      loaded(fabric(R"(, "node": {"guid": "0x2c90200000010", "port_guid": "2c90200000011", "lid": 2})", "", ""));
  ASSERT_TRUE(topology);
  const subnet::Plan plan = plan_of(*topology);
  EXPECT_EQ(plan.nodes[0].guid, 0x2c90200000010u);
  EXPECT_EQ(plan.nodes[0].ports[0].guid, 0x2c90200000011u);
  EXPECT_EQ(plan.nodes[0].ports[0].lid.value, 2);
  EXPECT_EQ(plan.nodes[1].ports[0].lid.value, 1);
  EXPECT_EQ(plan.nodes[2].ports[0].lid.value, 3);
  EXPECT_EQ(route(*topology, plan, 1, 0), (std::vector<std::string>{"s:2", "s:1", "a:1"}));
}

TEST(Node, identities_differ) {
  EXPECT_EQ(topology_findings(fabric(R"(, "node": {"guid": "0x1", "lid": 2})", R"(, "node": {"guid": "01", "lid": 2})", "")),
            "/hosts/1/node/guid: the GUID \"01\" is already that of /hosts/0/node/guid; each node has its own\n"
            "/hosts/1/node/lid: LID 2 is already that of /hosts/0/node/lid; each node has its own\n");
  EXPECT_EQ(
      topology_findings(fabric(R"(, "node": {"guid": "0xg"})", "", "")),
      "/hosts/0/node/guid: \"0xg\" is not a GUID; write up to 16 hexadecimal digits, such as \"0x0002c90200000001\"\n");
  EXPECT_EQ(topology_findings(fabric(R"(, "node": {"lid": 2})", "", "", R"(, "link_layer": "roce")")),
            "/hosts/0/node: there is no subnet on Ethernet; leave it out, or choose the link layer \"infiniband\"\n");
}

TEST(ForwardingTable, is_the_routes_of_the_engine_file) {
  const auto topology = loaded(fabric("", "", R"(, "forwarding_table": ["1:1", "2-3:2"])", R"(, "routing_engine": "file")"));
  ASSERT_TRUE(topology);
  const subnet::Plan plan = plan_of(*topology);
  EXPECT_EQ(plan.engine, subnet::Engine::kFile);
  const auto& table = plan.nodes[2].forwarding_table;
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table[1].value, 1);
  EXPECT_EQ(table[2].value, 2);
  EXPECT_EQ(table[3].value, 2);
}

TEST(ForwardingTable, and_the_engine_go_together) {
  EXPECT_EQ(
      topology_findings(fabric("", "", R"(, "forwarding_table": ["1:1"])")),
      "/routing_engine: \"s\" has a \"forwarding_table\", which only the routing engine file reads; write \"routing_engine\": \"file\"\n");
  EXPECT_EQ(
      topology_findings(fabric("", "", "", R"(, "routing_engine": "file")")),
      "/switches/0: the switch has no \"forwarding_table\", which the routing engine file reads; give each switch one, or choose another engine\n");
  EXPECT_EQ(
      topology_findings(fabric("", "", R"(, "forwarding_table": ["3-1:1", "1:9", "x"])", R"(, "routing_engine": "file")"))
          .substr(0, 90),
      "/switches/0/forwarding_table/0: \"3-1:1\" is not an entry of this switch; write \"LID:PORT\" o");
}

}  // namespace
}  // namespace verbatim::config
