// Warnings about valid input that no real fabric has: place and correction.
#include "sim/config/device_limits.h"

#include <gmock/gmock.h>

#include "tests/config/helpers.h"
#include "tests/config/shapes.h"

namespace verbatim::config {
namespace {

// Warnings about a topology file with this text, without the file name.
std::string warnings_of(const std::string& text) {
  Folder folder;
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  EXPECT_TRUE(topology.has_value()) << text_of(diagnostics);
  if (!topology) return "";
  warn_of_device_limits(*topology, diagnostics);
  warn_of_oversubscription(*topology, diagnostics);
  std::string all;
  for (const Finding& warning : diagnostics.warnings()) {
    EXPECT_EQ(warning.file, folder.path() + "/t.json");
    all += warning.pointer + ": " + warning.text + "; " + warning.hint + "\n";
  }
  return all;
}

std::string pair(const std::string& hca, const std::string& profile, const std::string& ports, const std::string& rate,
                 const std::string& more = "") {
  return R"({"name": "t", "hosts": [{"name": "a", "hca": ")" + hca + R"("}, {"name": "b", "hca": ")" + hca +
         R"("}], "switches": [{"name": "s", "profile": ")" + profile + R"(", "ports": )" + ports +
         R"(}], "links": [{"a": "a", "b": "s:1", "rate": ")" + rate + R"("}, {"a": "b", "b": "s:2", "rate": ")" + rate + "\"}]" + more + "}";
}

TEST(DeviceLimits, what_the_devices_have_gets_no_warning) {
  EXPECT_EQ(warnings_of(pair("edr_hca", "edr_switch", "36", "EDR 4x")), "");
  EXPECT_EQ(warnings_of(pair("connectx3", "switchx2", "36", "FDR 4x")), "") << "whose rate is no whole number";
  EXPECT_EQ(warnings_of(pair("connectx7_ndr", "quantum2", "64", "NDR 4x")), "");
  EXPECT_EQ(warnings_of(pair("connectx7_ndr", "quantum2", "64", "SDR 1x")), "");
}

TEST(DeviceLimits, shipped_topologies_get_none) {
  for (const auto& entry : std::filesystem::directory_iterator(VERBATIM_SOURCE_DIR "/topologies")) {
    if (entry.path().extension() != ".json") continue;
    Diagnostics diagnostics;
    const auto topology = load_topology(entry.path(), with_profiles(), diagnostics);
    ASSERT_TRUE(topology.has_value()) << entry.path();
    warn_of_device_limits(*topology, diagnostics);
    warn_of_oversubscription(*topology, diagnostics);
    for (const Finding& warning : diagnostics.warnings()) ADD_FAILURE() << to_string(warning);
  }
}

TEST(DeviceLimits, a_rate_that_devices_do_not_have_is_named_once_for_each_profile) {
  EXPECT_EQ(warnings_of(pair("edr_hca", "edr_switch", "36", "200 Gbps")),
            "/links/0/rate: HDR 4x (200 Gbps) is faster than the adapter of \"a\" (the same at 1 other link): profile \"edr_hca\" has at most EDR "
            "4x (100 Gbps); choose a slower link, or a profile of a faster device\n"
            "/links/0/rate: HDR 4x (200 Gbps) is faster than the switch \"s\" (the same at 1 other link): profile \"edr_switch\" has at most EDR "
            "4x (100 Gbps); choose a slower link, or a profile of a faster device\n");
  EXPECT_EQ(warnings_of(R"({"name": "t", "link_layer": "roce", "generate": {"shape": "star", "hosts": 8, "rate": "400 Gbps",
                            "hca": "connectx7_ndr", "switch": "ethernet_switch"}})"),
            "/generate/rate: 400 Gbps is faster than the switch \"leaf0\" (the same at 7 other links): profile \"ethernet_switch\" has at most 100 "
            "Gbps; choose a slower link, or a profile of a faster device\n");
}

TEST(DeviceLimits, a_profile_that_does_not_say_gets_no_warning) {
  Folder folder;
  folder.write("own.json", R"({"profile": "switch", "name": "own"})");
  folder.write("mine.json", R"({"profile": "hca", "name": "mine"})");
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", pair("mine", "own", "254", "XDR 12x")), with_profiles(), diagnostics);
  ASSERT_TRUE(topology.has_value()) << text_of(diagnostics);
  warn_of_device_limits(*topology, diagnostics);
  EXPECT_TRUE(diagnostics.warnings().empty());
}

TEST(DeviceLimits, more_ports_than_the_switch_has) {
  EXPECT_EQ(warnings_of(pair("edr_hca", "edr_switch", "37", "EDR")),
            "/switches/0/ports: the switch \"s\" needs 37 ports, but a switch of profile \"edr_switch\" has 36; use fewer ports, several "
            "switches, or the profile of a larger one\n");
  EXPECT_EQ(warnings_of(R"({"name": "t", "generate": {"shape": "star", "hosts": 64, "rate": "EDR"}})"),
            "/generate: the switch \"leaf0\" needs 64 ports, but a switch of profile \"edr_switch\" has 36; ask for several switches (shape "
            "leaf_spine) or fewer hosts, or choose a larger \"switch\"\n");
}

TEST(DeviceLimits, sixty_four_hosts_on_two_cables) {
  EXPECT_EQ(warnings_of(R"({"name": "t", "generate": {"shape": "leaf_spine", "hosts": 128, "hosts_per_leaf": 64, "spines": 2, "rate": "NDR",
                            "hca": "connectx7_ndr", "switch": "quantum2"}})"),
            "/generate: the switch \"leaf0\" (the same at 1 other switch) needs 66 ports, but a switch of profile \"quantum2\" has 64; ask for several "
            "switches (shape leaf_spine) or fewer hosts, or choose a larger \"switch\"\n"
            "/generate: the adapters at switch \"leaf0\" (the same at 1 other switch) have 25.6 Tbps together, and its cables to other switches 800 "
            "Gbps: 32:1 oversubscription; add cables or switches, unless congestion is what you want to see\n");
  const auto with_hosts = [](const char* hosts) {
    return warnings_of(R"({"name": "t", "generate": {"shape": "leaf_spine", "hosts": 16, "hosts_per_leaf": )" + std::string(hosts) +
                       R"(, "spines": 2, "rate": "EDR"}})");
  };
  EXPECT_EQ(with_hosts("8"), "") << "4:1 is common";
  EXPECT_NE(with_hosts("9"), "");
}

constexpr const char* kCircle = "under load, packets can wait for each other's buffers in a circle of switch outputs and never move again, by ";

TEST(DeviceLimits, a_ring_that_can_deadlock_names_its_cycle_and_the_routes_that_close_it) {
  EXPECT_EQ(warnings_of(ring_text({.switches = 5})),
            std::string("/links: ") + kCircle +
                "the routes of minhop: s0:1 -> s4:1 -> s3:1 -> s2:1 -> s1:1 -> s0:1; set \"routing_engine\" to \"updn\" and name "
                "\"root_switches\", or to \"dfsssp\" or \"lash\" with a switch profile of several \"virtual_lanes\"; or leave out a cable of this "
                "circle, or expect runs that end in a deadlock\n");
  EXPECT_NE(warnings_of(ring_text({.switches = 4, .more = R"(, "routing_engine": "dor")"})).find("the routes of dor: s0:1 -> s3:1 -> s2:1 -> s1:1 -> s0:1"),
            std::string::npos);
  EXPECT_EQ(warnings_of(ring_text({.switches = 5, .more = R"(, "routing_engine": "updn", "root_switches": ["s2"])"})), "");
  EXPECT_EQ(warnings_of(ring_text({.switches = 3, .hosts = 4})), "");
  EXPECT_EQ(warnings_of(ring_text({.switches = 5, .more = R"(, "subnet_manager": "none")"})), "") << "OpenSM decides about routes";
}

TEST(DeviceLimits, on_ethernet_a_cycle_is_one_of_all_ways_and_of_a_priority_that_is_paused) {
  const std::string roce = R"(, "link_layer": "roce")";
  EXPECT_NE(warnings_of(ring_text({.switches = 6, .more = roce})).find("by all ways of equal length: s0:1 -> s5:1 -> s4:1"), std::string::npos);
  const auto with_pfc = [&](const std::string& priorities) {
    return warnings_of(ring_text({.switches = 5, .hca = "edr_roce", .profile = "spectrum", .rate = "100 Gbps",
                                  .link = R"(, "pfc": {"lossless_priorities": ")" + priorities + "\"}", .more = roce}));
  };
  EXPECT_EQ(with_pfc("3,4"), std::string("/links: ") + kCircle +
                                 "all ways of equal length: s0:1 priority 3 -> s4:1 priority 3 -> s3:1 priority 3 -> s2:1 priority 3 -> s1:1 priority "
                                 "3 -> s0:1 priority 3; leave out a cable of this circle, or take the priority out of "
                                 "\"lossless_priorities\", or expect runs that end in a deadlock\n");
  EXPECT_EQ(warnings_of(ring_text({.switches = 5, .hca = "edr_roce", .profile = "spectrum", .rate = "100 Gbps",
                                   .link = R"(, "flow_control": "none")", .more = roce})),
            "")
      << "what finds no space is dropped";
}

TEST(DeviceLimits, a_fat_tree_that_is_mostly_empty_is_named_with_its_k) {
  const auto tree = [](const std::string& k) {
    return R"({"name": "t", "generate": {"shape": "fat_tree", "hosts": 128, "rate": "EDR 4x", "per_tier": {"leaf": {"oversubscription": "2:1"}})" + k + "}}";
  };
  EXPECT_EQ(warnings_of(tree("")),
            "/generate: 144 switches are built for 128 hosts, and 56 of 72 leaves have none: without \"k\" all pods are built of the smallest k "
            "with enough places, which is 12; give \"k\": 12, and only pods with hosts are built, or another k\n");
  EXPECT_EQ(warnings_of(tree(", \"k\": 12")), "");
}

// The memory of the profile spectrum is 16 MiB, and its thresholds are for 100 Gbps.
TEST(DeviceLimits, thresholds_of_marking_above_the_memory_of_the_switch_are_named) {
  const auto with_kmin = [](const std::string& kmin) {
    return R"({"name": "t", "link_layer": "roce", "profile_changes": {"spectrum": {"marking": {"queues": [{"kmin": ")" + kmin +
           R"(", "kmax": "200 MiB"}]}}}, "generate": {"shape": "star", "hosts": 4, "rate": "100 Gbps", "hca": "edr_roce", "switch": "spectrum"}})";
  };
  EXPECT_EQ(warnings_of(with_kmin("1 MiB")), "");
  EXPECT_THAT(warnings_of(with_kmin("100 MiB")),
              ::testing::AllOf(::testing::HasSubstr("the switch \"leaf0\" never marks packets of priorities 0-7: \"kmin\" of profile "
                                                    "\"spectrum\" is 100 MiB at its ports, and all queues together have the shared memory's"),
                               ::testing::HasSubstr("choose a smaller \"kmin\"")));
}

// The switch's table maps service levels to lanes; a link has as many lanes as its smaller end.
TEST(DeviceLimits, the_cycle_names_lanes_where_there_are_several) {
  Folder folder;
  folder.write("lanes.json", R"({"profile": "switch", "name": "lanes", "virtual_lanes": 2, "sl_to_vl": [{"level": 0, "lane": 15}, {"level": 2,
                                 "lane": 15}, {"level": 4, "lane": 15}, {"level": 6, "lane": 15}, {"level": 8, "lane": 15}, {"level": 10, "lane": 15},
                                 {"level": 12, "lane": 15}, {"level": 14, "lane": 15}]})");
  std::string text = ring_text({.switches = 5});
  for (int s = 0; s < 5; ++s) {
    const std::string plain = "{\"name\": \"s" + std::to_string(s) + "\"}";
    text.replace(text.find(plain), plain.size(), "{\"name\": \"s" + std::to_string(s) + "\", \"profile\": \"lanes\"}");
  }
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  ASSERT_TRUE(topology.has_value()) << text_of(diagnostics);
  warn_of_device_limits(*topology, diagnostics);
  ASSERT_EQ(diagnostics.warnings().size(), 1u);
  EXPECT_NE(diagnostics.warnings()[0].text.find("s0:1 VL 1 -> s4:1 VL 1 -> s3:1 VL 1 -> s2:1 VL 1 -> s1:1 VL 1 -> s0:1 VL 1"), std::string::npos)
      << diagnostics.warnings()[0].text;
}

}  // namespace
}  // namespace verbatim::config
