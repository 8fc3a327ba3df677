// Layouts of fabrics in layers and boxes, as drawn by `verbatim describe --picture`.
#include "tests/config/helpers.h"
#include "tools/verbatim/fabric/layout.h"

namespace verbatim::cli {
namespace {

config::TopologySpec topology_of(const std::string& text) {
  config::FileTexts files;
  files.texts["t.json"] = text;
  config::LoadOptions options = config::with_profiles();
  options.files = &files;
  config::Diagnostics diagnostics;
  auto topology = config::load_topology("t.json", options, diagnostics);
  EXPECT_TRUE(topology) << config::text_of(diagnostics);
  return topology.value_or(config::TopologySpec{});
}

config::TopologySpec fat_tree(int hosts) {
  return topology_of(R"({"name": "t", "generate": {"shape": "fat_tree", "rate": "EDR 4x", "hosts": )" +
                     std::to_string(hosts) + "}}");
}

// Boxes and nodes of each layer: "16x64" for 16 boxes of 64.
std::string shape_of(const std::vector<FabricBox>& boxes) {
  std::string text;
  for (std::size_t i = 0; i < boxes.size();) {
    std::size_t end = i;
    while (end < boxes.size() && boxes[end].layer == boxes[i].layer && boxes[end].nodes.size() == boxes[i].nodes.size())
      ++end;
    text += (text.empty() ? "" : " ") + std::to_string(end - i) + "x" + std::to_string(boxes[i].nodes.size());
    i = end;
  }
  return text;
}

TEST(Layers, are_distances_from_hosts) {
  const config::TopologySpec topology = fat_tree(16);
  const FabricLayers layers(topology);
  EXPECT_EQ(layers.top(), 3u);
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    const std::string& name = topology.switches[i].name;
    EXPECT_EQ(layers.layer(topology.adapters.size() + i), name.starts_with("leaf")  ? 1u
                                                          : name.starts_with("agg") ? 2u
                                                                                    : 3u)
        << name;
  }
}

TEST(Layers, of_leaves_without_hosts_are_those_of_the_others) {
  for (const char* shape : {R"("shape": "fat_tree", "k": 8, "names": "place", "hosts": 40)",
                            R"("shape": "fat_tree", "k": 8, "names": "place", "hosts": 6)",
                            R"("shape": "fat_tree", "k": 8, "tiers": 2, "names": "place", "hosts": 6)"}) {
    const config::TopologySpec topology =
        topology_of(std::string(R"({"name": "t", "generate": {"rate": "EDR 4x", )") + shape + "}}");
    const FabricLayers layers(topology);
    std::size_t last_leaf_place = 0;
    for (std::size_t i = 0; i < topology.switches.size(); ++i) {
      const std::string& name = topology.switches[i].name;
      const std::size_t node = topology.adapters.size() + i;
      const bool is_leaf = name.find("leaf") != name.npos, is_core = name.find("core") != name.npos;
      EXPECT_EQ(layers.layer(node), is_leaf ? 1u : is_core ? 3u : 2u) << name << " of " << shape;
      if (!is_leaf) continue;
      EXPECT_GE(layers.place(node), last_leaf_place) << name << " of " << shape;
      last_leaf_place = layers.place(node);
    }
  }
}

// A pod without hosts behind the cores: its aggregation switch is reached from the core, its leaf from that.
TEST(Layers, of_a_pod_without_hosts_are_those_of_the_others) {
  const config::TopologySpec topology = topology_of(R"({"name": "t", "hosts": [{"name": "h0"}, {"name": "h1"}],
    "switches": [{"name": "leaf0"}, {"name": "leaf1"}, {"name": "leaf2"}, {"name": "agg0"}, {"name": "agg1"},
                 {"name": "agg2"}, {"name": "core"}],
    "links": [{"a": "h0", "b": "leaf0:1", "rate": "EDR 4x"}, {"a": "h1", "b": "leaf1:1", "rate": "EDR 4x"},
              {"a": "leaf0:2", "b": "agg0:1", "rate": "EDR 4x"}, {"a": "leaf1:2", "b": "agg1:1", "rate": "EDR 4x"},
              {"a": "leaf2:2", "b": "agg2:1", "rate": "EDR 4x"}, {"a": "agg0:2", "b": "core:1", "rate": "EDR 4x"},
              {"a": "agg1:2", "b": "core:2", "rate": "EDR 4x"}, {"a": "agg2:2", "b": "core:3", "rate": "EDR 4x"}]})");
  const FabricLayers layers(topology);
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    const std::string& name = topology.switches[i].name;
    EXPECT_EQ(layers.layer(2 + i), name.starts_with("leaf") ? 1u : name.starts_with("agg") ? 2u : 3u) << name;
  }
}

TEST(Boxes, are_nodes_while_there_is_room) {
  EXPECT_EQ(shape_of(boxes_of(FabricLayers(fat_tree(16)), 24)), "16x1 8x1 8x1 4x1");
}

TEST(Boxes, of_a_fat_tree_are_its_pods) {
  EXPECT_EQ(shape_of(boxes_of(FabricLayers(fat_tree(1024)), 24)), "16x64 16x8 16x8 1x64");
}

TEST(Boxes, hosts_collapse_before_switches_do) {
  const auto topology = topology_of(
      R"({"name": "t", "generate": {"shape": "leaf_spine", "hosts": 64, "hosts_per_leaf": 8, "spines": 4, "rate": "EDR 4x"}})");
  EXPECT_EQ(shape_of(boxes_of(FabricLayers(topology), 24)), "8x8 8x1 1x4");
}

// A ring has one layer of switches, and no other layer joins its boxes.
TEST(Boxes, of_a_large_ring_are_its_layers) {
  std::string switches, hosts, links;
  for (int i = 0; i < 30; ++i) {
    const std::string n = std::to_string(i), next = std::to_string((i + 1) % 30), comma = i == 0 ? "" : ", ";
    switches += comma + R"({"name": "s)" + n + "\"}";
    hosts += comma + R"({"name": "h)" + n + "\"}";
    links += comma + R"({"a": "h)" + n + R"(", "b": "s)" + n + R"(:1", "rate": "EDR 4x"}, {"a": "s)" + n +
             R"(:2", "b": "s)" + next + R"(:3", "rate": "EDR 4x"})";
  }
  const auto topology = topology_of(R"({"name": "t", "hosts": [)" + hosts + R"(], "switches": [)" + switches +
                                    R"(], "links": [)" + links + "]}");
  EXPECT_EQ(shape_of(boxes_of(FabricLayers(topology), 24)), "1x30 1x30");
}

}  // namespace
}  // namespace verbatim::cli
