#include "sim/config/cabling.h"

#include <gtest/gtest.h>

#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

TopologySpec load(const std::string& text) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec.value_or(TopologySpec());
}

TEST(Cabling, route_names_every_port_on_the_way) {
  const TopologySpec topology = load(R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
      "switches": [{"name": "s"}, {"name": "r"}],
      "links": [{"a": "a", "b": "s:1", "rate": "EDR"}, {"a": "s:9", "b": "r:8", "rate": "EDR"},
                {"a": "r:2", "b": "b", "rate": "EDR"}, {"a": "c", "b": "s:2", "rate": "EDR"}]})");
  const subnet::Plan plan = plan_of(topology);
  EXPECT_TRUE(plan.findings.empty());
  EXPECT_EQ(route(topology, plan, 0, 1), (std::vector<std::string>{"s:1", "s:9", "r:8", "r:2", "b:1"}));
  EXPECT_EQ(route(topology, plan, 1, 0), (std::vector<std::string>{"r:2", "r:8", "s:9", "s:1", "a:1"}));
  EXPECT_EQ(route(topology, plan, 0, 2), (std::vector<std::string>{"s:1", "s:2", "c:1"}));
}

TEST(Cabling, two_hosts_on_one_cable_need_no_switch) {
  const TopologySpec topology = load(R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}],
      "links": [{"a": "a", "b": "b", "rate": "EDR"}]})");
  EXPECT_EQ(route(topology, plan_of(topology), 0, 1), (std::vector<std::string>{"b:1"}));
}

}  // namespace
}  // namespace verbatim::config
