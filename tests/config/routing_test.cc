// Routing engines of topologies: refused ones, fall-backs, and resulting routes.
#include <gtest/gtest.h>

#include "sim/config/cabling.h"
#include "sim/config/device_limits.h"
#include "sim/config/resolve_routing.h"
#include "tests/config/helpers.h"
#include "tests/config/shapes.h"

namespace verbatim::config {
namespace {

using Dimensions = std::vector<subnet::Torus::Dimension>;

struct Checked {
  std::string findings, warnings, engine;
};

Checked check(const std::string& text) {
  Folder folder;
  folder.write("lanes.json", R"({"profile": "switch", "name": "lanes", "virtual_lanes": 8})");
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  Checked checked;
  if (topology) {
    warn_of_device_limits(*topology, diagnostics);
    checked.engine = subnet::name_of(plan_of(*topology).engine);
  }
  checked.findings = text_of(diagnostics);
  for (const Finding& warning : diagnostics.warnings()) checked.warnings += warning.pointer + ": " + warning.text + "; " + warning.hint + "\n";
  return checked;
}

std::string star(const std::string& more) {
  return R"({"name": "t", )" + more + R"("generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 2, "spines": 2, "rate": "EDR 4x"}})";
}

TEST(Routing, without_an_engine_it_is_minhop) {
  EXPECT_EQ(check(star("")).engine, "minhop");
  EXPECT_EQ(check(star(R"("routing_engine": "", )")).engine, "minhop");
}

TEST(Routing, engines_take_effect_by_name) {
  for (const char* engine : {"minhop", "updn", "dnup", "ftree", "dor", "lash", "dfsssp"}) {
    const Checked checked = check(star(R"("routing_engine": ")" + std::string(engine) + "\", "));
    EXPECT_EQ(checked.engine, engine);
    EXPECT_EQ(checked.findings + checked.warnings, "") << engine;
  }
}

TEST(Routing, an_engine_that_does_not_exist_is_a_finding) {
  EXPECT_EQ(check(star(R"("routing_engine": "updown", )")).findings,
            "/routing_engine: there is no routing engine \"updown\"; did you mean \"updn\"?\n");
  EXPECT_EQ(check(star(R"("routing_engine": "minhop, x", )")).findings,
            "/routing_engine: there is no routing engine \"x\"; there are minhop, updn, dnup, ftree, lash, dor, torus-2QoS, dfsssp, file\n");
}

TEST(Routing, what_cannot_route_the_fabric_falls_back_unless_that_is_refused) {
  const std::string problem = "the routing engine ftree cannot route this fabric: a fat tree has two to eight ranks of switches, and this fabric has 1";
  const Checked fallen = check(ring_text({.switches = 3, .more = R"(, "routing_engine": "ftree")"}));
  EXPECT_EQ(fallen.engine, "minhop");
  EXPECT_EQ(fallen.findings, "");
  EXPECT_EQ(fallen.warnings, "/routing_engine: " + problem +
                                 "; minhop routes it, as OpenSM would have it; choose another engine, or add \"no_fallback\" to have this refused\n");
  const Checked refused = check(ring_text({.switches = 3, .more = R"(, "routing_engine": "ftree,no_fallback")"}));
  EXPECT_EQ(refused.findings, "/routing_engine: " + problem + "; choose another engine, or leave out \"no_fallback\"\n");
  const Checked second = check(ring_text({.switches = 3, .more = R"(, "routing_engine": "ftree, dor, no_fallback")"}));
  EXPECT_EQ(second.engine, "dor");
  EXPECT_EQ(second.findings, "");
}

TEST(Routing, layers_need_lanes_in_the_profile_of_the_switches) {
  const std::string more = R"(, "routing_engine": "lash")";
  const Checked one = check(ring_text({.switches = 5, .more = more}));
  EXPECT_EQ(one.engine, "minhop");
  EXPECT_NE(one.warnings.find("need more than the 1 data lane that cables between switches have; minhop routes it"), std::string::npos) << one.warnings;
  EXPECT_NE(one.warnings.find("by the routes of minhop: s0:1"), std::string::npos) << one.warnings;
  const Checked several = check(ring_text({.switches = 5, .profile = "lanes.json", .more = more}));
  EXPECT_EQ(several.engine, "lash");
  EXPECT_EQ(several.warnings, "");
}

TEST(Routing, roots_are_names_of_switches) {
  const Checked checked = check(ring_text({.more = R"(, "routing_engine": "updn", "root_switches": ["s9x", "s1", "h0-0", "s1"])"}));
  EXPECT_EQ(checked.findings, "/root_switches/0: there is no switch \"s9x\"; name one of \"switches\"\n"
                              "/root_switches/2: there is no switch \"h0-0\"; name one of \"switches\"\n"
                              "/root_switches/3: \"s1\" is named twice; name each switch once\n");
}

TEST(Routing, a_torus_is_written_as_in_torus_2qos_conf) {
  EXPECT_EQ(parse_torus("torus 4 5 2"), (Dimensions{{4, true}, {5, true}, {2, true}}));
  EXPECT_EQ(parse_torus("mesh 3T 4 5"), (Dimensions{{3, true}, {4, false}, {5, false}}));
  EXPECT_EQ(parse_torus("torus 3 4m"), (Dimensions{{3, true}, {4, false}}));
  for (const char* wrong : {"", "torus", "4 4", "torus 0 4", "torus 4 x", "torus 1 2 3 4", "torus 4x4", "ring 4", "torus m"})
    EXPECT_EQ(parse_torus(wrong), std::nullopt) << wrong;
}

TEST(Routing, torus_2qos_routes_a_ring_with_two_lanes) {
  const std::string names = R"("switches": ["s0", "s1", "s2", "s3", "s4"])";
  const auto with = [&](const std::string& shape, const std::string& switches) {
    return check(ring_text({.switches = 5, .profile = "lanes.json", .more = R"(, "routing_engine": "torus-2QoS", "torus_2qos": {"shape": ")" + shape + "\", " +
                                                                             switches + "}"}));
  };
  const Checked good = with("torus 5", names);
  EXPECT_EQ(good.engine, "torus-2QoS");
  EXPECT_EQ(good.findings + good.warnings, "");
  EXPECT_EQ(with("torus 5 2", names).findings,
            "/torus_2qos/switches: \"torus 5 2\" has 10 places, and there are 5 switches; name the switch of each place; the last size counts fastest\n");
  EXPECT_EQ(with("torus", names).findings, "/torus_2qos/shape: \"torus\" is no shape of a torus; write, for example, \"torus 4 4\" or \"mesh 3 4t 2\"\n");
  EXPECT_NE(with("mesh 5", names).warnings.find("switches s0 and s4 have a cable, and are no neighbours in the torus; minhop routes it"), std::string::npos);
  EXPECT_EQ(check(ring_text({.more = R"(, "routing_engine": "torus-2QoS")"})).findings,
            "/torus_2qos: the engine torus-2QoS needs to know the torus; add, for example, {\"shape\": \"torus 4 4\", \"switches\": [...]}\n");
}

TEST(Routing, is_of_the_simulated_subnet_manager) {
  const std::string keys = R"("routing_engine": "updn", "root_switches": ["spine0"], "sweep_time": "1 s", )";
  const std::string ethernet = ": there is no subnet manager on Ethernet; leave it out, or choose the link layer \"infiniband\"\n";
  EXPECT_EQ(check(star(R"("link_layer": "roce", )" + keys)).findings, "/routing_engine" + ethernet + "/root_switches" + ethernet + "/sweep_time" + ethernet);
  const std::string none = ": the simulation manages no subnet here; leave it out, and give OpenSM its own options, such as -R updn\n";
  EXPECT_EQ(check(star(R"("subnet_manager": "none", )" + keys)).findings, "/routing_engine" + none + "/root_switches" + none + "/sweep_time" + none);
}

TEST(Routing, sweeps_have_a_duration_or_are_off) {
  EXPECT_EQ(check(star(R"("sweep_time": "off", )")).findings, "");
  EXPECT_EQ(check(star(R"("sweep_time": "2 s", )")).findings, "");
  EXPECT_EQ(check(star(R"("sweep_time": "soon", )")).findings, "/sweep_time: \"soon\" is neither \"off\" nor a duration; write, for example, \"100 ms\"\n");
}

}  // namespace
}  // namespace verbatim::config
