// Flows of scenarios: resulting values, and findings for invalid ones.
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

constexpr char kFlowTopology[] = VERBATIM_SOURCE_DIR "/topologies/two_hosts.json";

// `rest`: further keys, each with a comma before it.
std::string flow_scenario(const std::string& flows, const std::string& rest = "", const std::string& topology = kFlowTopology) {
  return R"({"topology": ")" + topology + R"(", "flows": [)" + flows + "]" + rest + "}";
}

std::string flow_findings(const std::string& flows, const std::string& rest = "") {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(folder.write("s.json", flow_scenario(flows, rest)), with_profiles(), diagnostics);
  EXPECT_EQ(spec.has_value(), diagnostics.empty());
  return text_of(diagnostics);
}

TEST(Flow, every_key_arrives_and_no_program_is_needed) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(
      folder.write("s.json", flow_scenario(R"({"from": "client", "to": "server", "bytes": "3 MiB", "start": "5 us", "message_size": "4 KiB",
                                          "operation": "send", "queue_pairs": 3, "service_level": 2},
                                         {"from": "server", "to": "client", "bytes": "1 B"})")),
      with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  EXPECT_TRUE(spec->programs.empty());
  ASSERT_EQ(spec->flows.size(), 2u);
  const FlowSpec& all = spec->flows[0];
  EXPECT_EQ(all.from_adapter, 1u);
  EXPECT_EQ(all.to_adapter, 0u);
  EXPECT_EQ(all.bytes, 3 << 20);
  EXPECT_EQ(all.start, Duration(5'000'000));
  EXPECT_EQ(all.message_size, 4096);
  EXPECT_EQ(all.operation, "send");
  EXPECT_EQ(all.queue_pairs, 3u);
  EXPECT_EQ(all.service_level, 2u);
  const FlowSpec& least = spec->flows[1];
  EXPECT_EQ(least.start, Duration(0));
  EXPECT_EQ(least.message_size, 1 << 20);
  EXPECT_EQ(least.operation, "write");
  EXPECT_EQ(least.queue_pairs, 1u);
}

TEST(Flow, all_findings_at_once) {
  EXPECT_EQ(flow_findings(R"({"from": "server", "to": "server", "bytes": "0 B"},
                             {"from": "sever", "to": "x", "bytes": "1 MiB", "message_size": "2 GiB"},
                             {"from": "server", "to": "client", "bytes": "1 MiB", "start": "2 ms", "operation": "reed"},
                             {"from": "server", "to": "client", "bytes": "1 MiB", "start": "2000000 s", "queue_pairs": 0},
                             {"from": "server", "to": "client", "size": "1 MiB"})",
                          R"(, "time_limit": "2 ms")"),
            "/flows/0/bytes: \"0 B\" is out of range; allowed: 1 B to 1024 TiB\n"
            "/flows/1/message_size: \"2 GiB\" is out of range; allowed: 1 B to 1 GiB\n"
            "/flows/2/operation: \"reed\" is not allowed here; did you mean \"read\"?\n"
            "/flows/3/start: \"2000000 s\" is out of range; allowed: 0 ps to 1000000 s\n"
            "/flows/3/queue_pairs: 0 is out of range; allowed: 1 to 4096\n"
            "/flows/4/size: unknown key; a flow has the keys from, to, bytes, start, message_size, operation, service_level, "
            "traffic_class, acknowledgement_traffic_class, queue_pairs\n"
            "/flows/4: the key \"bytes\" is missing; how much is sent in all\n"
            "/flows/0/to: the flow leads from \"server\" to itself; name another host\n"
            "/flows/1/from: the topology has no host \"sever\"; did you mean \"server\"?\n"
            "/flows/1/to: the topology has no host \"x\"; name one of its hosts, such as \"server\"\n"
            "/flows/2/start: the flow starts at 2 ms, and the run ends at 2 ms; start it earlier, or set a longer \"time_limit\"\n");
}

TEST(Flow, has_a_traffic_class_where_there_are_ip_headers) {
  const std::string flow = R"({"from": "server", "to": "client", "bytes": "1 MiB", "traffic_class": )";
  EXPECT_EQ(flow_findings(flow + "104}"),
            "/flows/0/traffic_class: packets of InfiniBand have no IP header; leave it out, or give \"service_level\"\n");
  EXPECT_EQ(flow_findings(flow + R"(0, "acknowledgement_traffic_class": 0})"),
            "/flows/0/acknowledgement_traffic_class: packets of InfiniBand have no IP header; leave it out, or give "
            "\"service_level\"\n");
  EXPECT_EQ(flow_findings(flow + R"(256, "service_level": 16})"),
            "/flows/0/traffic_class: 256 is out of range; allowed: 0 to 255\n"
            "/flows/0/service_level: 16 is out of range; allowed: 0 to 15\n");
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(
      folder.write("s.json", flow_scenario(flow + "104}", "", VERBATIM_SOURCE_DIR "/topologies/two_hosts_roce.json")), with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  EXPECT_EQ(spec->flows.at(0).traffic_class, 104u);
}

TEST(Flow, needs_no_more_than_the_adapters_have) {
  const std::string flow = R"({"from": "server", "to": "client", "bytes": "1 MiB", "queue_pairs": 4096})";
  std::string flows = flow;
  for (int i = 0; i < 32; ++i) flows += ", " + flow;
  EXPECT_EQ(flow_findings(flows),
            "/flows/32/queue_pairs: the adapter of \"server\" has 131072 queue pairs, and the flows up to this one need 135168; give "
            "its flows fewer\n"
            "/flows/32/queue_pairs: the adapter of \"client\" has 131072 queue pairs, and the flows up to this one need 135168; give "
            "its flows fewer\n");
}

TEST(Flow, needs_a_subnet_that_is_there_from_the_start) {
  Folder folder;
  Diagnostics diagnostics;
  folder.write("t.json", R"({"name": "t", "subnet_manager": "none", "generate": {"shape": "star", "hosts": 2, "rate": "EDR 4x"}})");
  const auto spec = load_scenario(folder.write("s.json", flow_scenario(R"({"from": "h0", "to": "h1", "bytes": "1 B"})", "", "t.json")),
                                  with_profiles(), diagnostics);
  EXPECT_FALSE(spec.has_value());
  EXPECT_EQ(text_of(diagnostics),
            "/flows: flows need addresses and routes from the start, and this topology has no subnet manager until a program is one; "
            "set \"subnet_manager\" of the topology to \"simulated\"\n");
}

TEST(Flow, may_name_a_further_adapter) {
  Folder folder;
  Diagnostics diagnostics;
  folder.write("t.json", R"({"name": "t", "generate": {"shape": "star", "hosts": 2, "rails": 2, "rate": "EDR 4x"}})");
  const auto spec = load_scenario(
      folder.write("s.json", flow_scenario(R"({"from": "h0/mlx5_1", "to": "h0", "bytes": "1 B"})", "", "t.json")), with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  EXPECT_EQ(spec->topology.adapters[spec->flows[0].from_adapter].name, "h0/mlx5_1");
}

TEST(Flow, light_endpoints_carry_flows_and_run_no_programs) {
  Folder folder;
  const std::string link = R"(, "link_layer": "infiniband", "switches": [{"name": "s"}], "links": [{"a": "full", "b": "s:1", "rate": "EDR 4x"},
                              {"a": "light", "b": "s:2", "rate": "EDR 4x"}])";
  const std::string hosts = R"("hosts": [{"name": "full"}, {"name": "light", "hca": "edr_light"}])";
  folder.write("t.json", R"({"name": "t", )" + hosts + link + "}");
  Diagnostics diagnostics;
  const std::string scenario = R"({"name": "s", "topology": "t.json", "flows": [{"from": "full", "to": "light", "bytes": "1 MiB"}],
      "programs": [{"host": "full", "command": "true"}, {"host": "light", "command": "true"}]})";
  EXPECT_FALSE(load_scenario(folder.write("s.json", scenario), with_profiles(), diagnostics).has_value());
  EXPECT_EQ(text_of(diagnostics),
            "/programs/1/host: \"light\" has a light endpoint, which carries flows and runs no programs; give the host an adapter "
            "profile without \"endpoint\": \"light\"\n");

  const std::string unmanaged = folder.write("t.json", R"({"name": "t", "subnet_manager": "none", )" + hosts + link + "}");
  Diagnostics of_subnet;
  EXPECT_FALSE(load_topology(unmanaged, with_profiles(), of_subnet).has_value());
  EXPECT_EQ(text_of(of_subnet),
            "/hosts/1: no subnet manager reaches the light endpoint of \"light\", which answers no management datagrams; set "
            "\"subnet_manager\" to \"simulated\", or give it an adapter profile without \"endpoint\": \"light\"\n");
}

TEST(LossyLinks, are_of_ethernet) {
  Folder folder;
  for (const bool is_roce : {false, true}) {
    Diagnostics diagnostics;
    const std::string layer = is_roce ? "roce" : "infiniband";
    const std::string generate = R"(, "generate": {"shape": "star", "hosts": 2, "rate": "100 Gbps", "flow_control": "none"}})";
    const std::string file = folder.write("t.json", R"({"name": "t", "link_layer": ")" + layer + "\"" + generate);
    const auto topology = load_topology(file, with_profiles(), diagnostics);
    EXPECT_EQ(text_of(diagnostics),
              is_roce ? "" : "/generate/flow_control: links of InfiniBand have credits; leave it out, or choose the link layer \"roce\"\n");
    if (is_roce) {
      ASSERT_TRUE(topology.has_value());
      EXPECT_EQ(topology->links.at(1).flow_control, "none");
    }
  }
}

}  // namespace
}  // namespace verbatim::config
