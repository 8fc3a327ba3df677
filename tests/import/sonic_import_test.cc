// A folder of SONiC configurations, one for each switch.
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

// Tables of a Mellanox switch with older names; Ethernet8 has a longer cable.
const std::string kQosTables = R"(, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet4": "5m", "Ethernet8": "40m"}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4", "dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]"}, "Ethernet4": {"pfc_enable": "3,4"},
                     "Ethernet8": {"pfc_enable": "3,4"}},
    "DSCP_TO_TC_MAP": {"AZURE": {"0": "1", "3": "3", "4": "4", "5": "2", "46": "5", "48": "6"}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"mode": "dynamic", "size": "10000000", "type": "ingress"}},
    "BUFFER_PROFILE": {
      "pg_lossless_100000_5m_profile": {"dynamic_th": "-1", "pool": "ingress_lossless_pool", "size": "100352", "xoff": "81920", "xon": "18432"},
      "pg_lossless_200000_40m_profile": {"dynamic_th": "-1", "pool": "ingress_lossless_pool", "size": "130048", "xoff": "111616", "xon": "18432"},
      "ingress_lossy_profile": {"dynamic_th": "2", "pool": "ingress_lossless_pool", "size": "0"},
      "q_lossy_profile": {"dynamic_th": "1", "pool": "egress_lossy_pool", "size": "0"},
      "egress_lossless_profile": {"static_th": "13945824", "pool": "egress_lossless_pool", "size": "0"}},
    "BUFFER_PG": {"Ethernet0,Ethernet4|3-4": {"profile": "[BUFFER_PROFILE|pg_lossless_100000_5m_profile]"},
                  "Ethernet8|3-4": {"profile": "pg_lossless_200000_40m_profile"}, "Ethernet0|0": {"profile": "ingress_lossy_profile"}},
    "BUFFER_QUEUE": {"Ethernet0|3-4": {"profile": "egress_lossless_profile"}, "Ethernet0|0-2": {"profile": "q_lossy_profile"}},
    "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "green_min_threshold": "250000", "green_max_threshold": "2097152",
                                        "green_drop_probability": "7"}},
    "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"},
                  "scheduler.2": {"type": "STRICT"}},
    "QUEUE": {"Ethernet0,Ethernet4,Ethernet8|0": {"scheduler": "scheduler.0"},
              "Ethernet0,Ethernet4,Ethernet8|3-4": {"scheduler": "[SCHEDULER|scheduler.1]", "wred_profile": "AZURE_LOSSLESS"},
              "Ethernet0,Ethernet4,Ethernet8|6": {"scheduler": "scheduler.2"}},
    "PFC_WD": {"Ethernet0": {"action": "drop", "detection_time": "400", "restoration_time": "300"}, "GLOBAL": {"POLL_INTERVAL": "200"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0"}})";

Defaults on_spectrum() {
  Defaults defaults;
  Diagnostics diagnostics;
  defaults.switch_profile_text = read_file(VERBATIM_SOURCE_DIR "/topologies/profiles/spectrum.json", diagnostics).value_or("");
  defaults.profile_stem = "t";
  return defaults;
}

TEST(Sonic, buffers_marks_and_schedulers_become_a_profile) {
  const std::string neighbours = R"("Ethernet0": {"name": "h1"}, "Ethernet4": {"name": "h2"}, "Ethernet8": {"name": "h3"})";
  const Imported result = import_texts({{"leaf1.json", config_of("leaf1", neighbours, kQosTables)}}, on_spectrum());
  ASSERT_TRUE(result.topology) << result.findings;
  ASSERT_EQ(result.written.profiles.size(), 1u);
  EXPECT_EQ(result.written.profiles[0].name, "t-leaf1.json");
  const SwitchSpec& one = result.topology->switches[0];
  EXPECT_EQ(one.profile, "t-leaf1");
  const fabric::SwitchProfile& profile = one.switch_profile;
  const fabric::SharedMemoryParams& shared = profile.shared_memory;
  EXPECT_EQ(shared.reserved_bytes, 18'432u) << "the size less xoff";
  EXPECT_EQ(shared.resume_offset_bytes, 18'432u);
  EXPECT_EQ(shared.lossless_alpha_log2, -1);
  EXPECT_EQ(shared.lossy_alpha_log2, 2);
  EXPECT_EQ(shared.output_alpha_log2, 1);
  const auto cells = [](std::uint64_t bytes) { return (bytes + 95) / 96 * 96; };
  EXPECT_EQ(shared.bytes, 10'000'000 + 3 * 8 * cells(18'432) + 4 * cells(81'920) + 2 * cells(111'616));
  ASSERT_EQ(profile.marking.queues.size(), 1u);
  EXPECT_EQ(profile.marking.queues[0].priorities, "3,4");
  EXPECT_EQ(profile.marking.queues[0].least_bytes, 250'000u);
  EXPECT_EQ(profile.marking.queues[0].most_bytes, 2'097'152u);
  EXPECT_EQ(profile.marking.queues[0].probability_percent, 7u);
  EXPECT_EQ(profile.arbitration.strict, "6");
  ASSERT_EQ(profile.arbitration.shares.size(), 7u);
  EXPECT_EQ(profile.arbitration.shares[1].weight, 15u);
  EXPECT_EQ(profile.arbitration.shares[3].weight, 1u) << "no scheduler";
  EXPECT_EQ(profile.watchdog.action, "drop");
  EXPECT_EQ(profile.watchdog.detection, Duration(400'000'000'000));
  EXPECT_EQ(profile.watchdog.restoration, Duration(300'000'000'000));
  EXPECT_EQ(profile.trust, "dscp");
  EXPECT_EQ(result.topology->links[0].headroom_bytes, 81'920u);
  EXPECT_EQ(result.topology->links[2].headroom_bytes, 111'616u);
  for (const char* const sentence : {"the tables TC_TO_QUEUE_MAP\n", "DSCP_TO_TC_MAP AZURE: priorities are DSCP / 8, as those of adapters\n",
                                     "that queues 1, 2, 5, 7 have no scheduler with a weight; theirs is 1\n"}) {
    EXPECT_NE(result.assumed().find(std::string("left out of account, of leaf1: ") + sentence), std::string::npos) << result.assumed();
  }
}

TEST(Sonic, queues_without_a_curve_do_not_mark) {
  const std::string neighbours = R"("Ethernet0": {"name": "h1"}, "Ethernet4": {"name": "h2"})";
  const auto queues_of = [&](const std::string& tables) {
    const Imported result = import_texts({{"leaf1.json", config_of("leaf1", neighbours, tables)}}, on_spectrum());
    EXPECT_TRUE(result.topology) << result.findings;
    return result.topology ? result.topology->switches[0].switch_profile.marking.queues.size() : 99;
  };
  EXPECT_EQ(queues_of(R"(, "QUEUE": {"Ethernet0|3": {"wred_profile": "W"}}, "WRED_PROFILE": {"W": {"ecn": "ecn_none"}})"), 0u);
  EXPECT_EQ(queues_of(R"(, "QUEUE": {"Ethernet0|3": {"scheduler": "s"}}, "SCHEDULER": {"s": {"type": "DWRR", "weight": "4"}})"), 0u);
  EXPECT_GT(queues_of(""), 0u) << "a file without queues says nothing of marks";
}

TEST(Sonic, what_a_buffer_profile_lacks_or_cannot_express_is_said) {
  const std::string tables = R"(, "BUFFER_PROFILE": {"a": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "0"},
      "b": {"pool": "ingress_lossy_pool", "size": "0", "static_th": "100"},
      "c": {"pool": "ingress_lossless_pool", "size": "1000", "xon": "9999", "xoff": "4096", "dynamic_th": "0"}},
      "BUFFER_PG": {"Ethernet0|3": {"profile": "a"}, "Ethernet0|0": {"profile": "b"}, "Ethernet0|4": {"profile": "c"},
      "Ethernet0|5": {"profile": "d"}})";
  const Imported result = import_texts({{"leaf1.json", config_of("leaf1", R"("Ethernet0": {"name": "h1"})", tables)}}, on_spectrum());
  ASSERT_TRUE(result.topology) << result.findings;
  for (const char* const sentence :
       {"BUFFER_PROFILE a of a lossless pool has no xoff; the headroom is that of the cable\n",
        "BUFFER_PROFILE b: static_th; thresholds here are dynamic, those of the switch profile\n",
        "BUFFER_PROFILE c: xon 9999 is more than its size 1000\n", "BUFFER_PG: there is no BUFFER_PROFILE \"d\"\n"}) {
    EXPECT_NE(result.assumed().find(std::string("left out of account, of leaf1: ") + sentence), std::string::npos) << result.assumed();
  }
}

TEST(Sonic, ends_of_a_cable_that_differ_are_refused_and_ports_that_are_down_left_out) {
  const auto one = [](const std::string& name, const std::string& other, const std::string& port, const std::string& more) {
    return R"({"DEVICE_METADATA": {"localhost": {"hostname": ")" + name + R"("}}, "PORT": {"Ethernet0": {)" + port +
           R"(}, "Ethernet4": {"speed": "100000"}}, "DEVICE_NEIGHBOR": {"Ethernet0": {"name": ")" + other +
           R"(", "port": "Ethernet0"}, "Ethernet8": {"name": ")" + other + R"(", "port": "Ethernet8"}, "Ethernet4": {"name": "h)" + name + R"("}})" + more + "}";
  };
  const auto import_pair = [&](const std::string& port_a, const std::string& more_a, const std::string& port_b,
                               const std::string& more_b) {
    return import_texts({{"a.json", one("a", "b", port_a, more_a)}, {"b.json", one("b", "a", port_b, more_b)}});
  };
  const std::string usual = R"("speed": "100000")";
  const Imported speeds = import_pair(usual, "", R"("speed": "40000")", "");
  EXPECT_NE(speeds.findings.find("the ends of this cable differ in speed: \"100000\" here, \"40000\" at b Ethernet0"), std::string::npos)
      << speeds.findings;
  const Imported priorities = import_pair(usual, R"(, "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}})", usual,
                                          R"(, "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}})");
  EXPECT_NE(priorities.findings.find("the ends of this cable differ in pfc_enable: \"3,4\" here, \"3\" at b Ethernet0"), std::string::npos)
      << priorities.findings;
  const Imported lengths = import_pair(usual, R"(, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}})", usual,
                                       R"(, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m"}})");
  ASSERT_TRUE(lengths.topology) << lengths.findings;
  EXPECT_NE(lengths.assumed().find("the greater length of the cable of a Ethernet0: CABLE_LENGTH has 5m, and 40m at the other end"),
            std::string::npos)
      << lengths.assumed();
  const Imported down = import_pair(usual + R"(, "mtu": "9100")", "", usual + R"(, "admin_status": "down")", "");
  ASSERT_TRUE(down.topology) << down.findings;
  EXPECT_EQ(down.topology->links.size(), 3u);
  EXPECT_NE(down.assumed().find("left out of account, of b: the cable of port Ethernet0, whose admin_status is down"), std::string::npos)
      << down.assumed();
  EXPECT_NE(down.assumed().find("an MTU of 1500 of all adapters' interfaces"), std::string::npos) << down.assumed();
}

TEST(Sonic, without_a_profile_to_begin_with_values_are_left_out_and_said_to_be) {
  const Imported result = import_texts({{"leaf1.json", config_of("leaf1", R"("Ethernet0": {"name": "h1"})", kQosTables)}});
  ASSERT_TRUE(result.topology) << result.findings;
  EXPECT_TRUE(result.written.profiles.empty());
  EXPECT_EQ(result.topology->switches[0].profile, "spectrum");
  EXPECT_NE(result.assumed().find("thresholds of buffers, WRED profiles and scheduling of 1 switch are those of the switch profile"),
            std::string::npos);
}

TEST(Sonic, switches_with_the_same_values_share_a_profile_and_wrong_values_are_said) {
  const std::string wrong = R"(, "BUFFER_PROFILE": {"p": {"dynamic_th": "9", "size": "x", "xoff": "100", "xon": "18432"}},
      "BUFFER_PG": {"Ethernet0|3": {"profile": "p"}, "Ethernet0|9": {"profile": "p"}, "Ethernet0": 4},
      "WRED_PROFILE": {"W": {"ecn": "ecn_all", "green_min_threshold": "5", "green_max_threshold": "4"}, "D": {"ecn": "ecn_none"}},
      "QUEUE": {"Ethernet0|3": {"wred_profile": "W"}, "Ethernet0|4": {"wred_profile": "D"}})";
  const Imported result =
      import_texts({{"a.json", config_of("a", R"("Ethernet0": {"name": "b", "port": "Ethernet0"}, "Ethernet4": {"name": "c", "port": "Ethernet4"})", wrong)},
                    {"b.json", config_of("b", R"("Ethernet0": {"name": "a", "port": "Ethernet0"}, "Ethernet4": {"name": "h1"})", wrong)},
                    {"c.json", config_of("c", R"("Ethernet0": {"name": "h2"}, "Ethernet4": {"name": "a", "port": "Ethernet4"})", wrong)}},
                   on_spectrum());
  ASSERT_TRUE(result.topology) << result.findings;
  EXPECT_EQ(result.written.profiles.size(), 1u);
  EXPECT_EQ(result.topology->switches[2].profile, "t-a");
  EXPECT_EQ(result.topology->switches[0].switch_profile.shared_memory.lossless_alpha_log2, 0) << "as Spectrum's";
  for (const char* const sentence :
       {"left out of account, of a and 2 more: dynamic_th \"9\", which is not from -8 to 7\n",
        "left out of account, of a and 2 more: size \"x\", which is no number of bytes that a profile takes\n",
        "left out of account, of a and 2 more: WRED_PROFILE W: its thresholds for green packets are no curve\n",
        "left out of account, of a and 2 more: WRED_PROFILE D: it drops, and does not mark\n"})
    EXPECT_NE(result.assumed().find(sentence), std::string::npos) << sentence << result.assumed();
}

TEST(Lengths, of_a_file_replace_those_of_the_fabric) {
  Diagnostics diagnostics;
  Defaults defaults;
  const auto lengths = read_lengths("a,b,length\n# cables\nleaf1,spine1,12.5 m\nspine1:3,leaf1:3,7 m\nh2,leaf1,0 m\nh2,spine1,1 m\n",
                                    "l.csv", diagnostics);
  ASSERT_TRUE(lengths.has_value()) << text_of(diagnostics);
  defaults.lengths = *lengths;
  const Imported result = import_texts({{"leaf1.json", kLeaf}, {"spine1.json", kSpine}}, defaults);
  ASSERT_TRUE(result.topology) << result.findings;
  EXPECT_EQ(result.topology->links[0].length_mm, 5'000) << "as the file of the switch has it";
  EXPECT_EQ(result.topology->links[1].length_mm, 0);
  EXPECT_EQ(result.topology->links[2].length_mm, 7'000) << "ports go before nodes";
  ASSERT_EQ(result.written.unused_lengths.size(), 1u);
  EXPECT_EQ(result.written.unused_lengths[0].line, 6u);
}

TEST(Lengths, lines_that_are_none_are_refused) {
  Diagnostics diagnostics;
  EXPECT_FALSE(read_lengths("a,b\na,b,2\na,b,c,2 m\na,b,-2 m\n", "l.csv", diagnostics).has_value());
  EXPECT_EQ(text_of(diagnostics),
            "line 1: the line has not three cells; write a,b,length, such as leaf1:3,spine1:1,40 m\n"
            "line 2: \"2\" is no length; write, for example, 40 m\n"
            "line 3: the line has not three cells; write a,b,length, such as leaf1:3,spine1:1,40 m\n"
            "line 4: \"-2 m\" is no length; write, for example, 40 m\n");
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
