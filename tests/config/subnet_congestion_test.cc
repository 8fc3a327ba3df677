// The topology's key congestion_control: resulting values, and findings for invalid ones.
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string with_control(const std::string& keys, const std::string& more = "") {
  return R"({"name": "t", "generate": {"shape": "star", "hosts": 2, "rate": "EDR 4x"}, "congestion_control": {)" + keys + "}" + more + "}";
}

TEST(SubnetCongestion, is_off_unless_a_key_says_otherwise) {
  Folder folder;
  Diagnostics diagnostics;
  for (const bool is_given : {false, true}) {
    const std::string text = is_given ? with_control("") : R"({"name": "t", "generate": {"shape": "star", "hosts": 2, "rate": "EDR 4x"}})";
    const auto topology = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
    ASSERT_TRUE(topology.has_value()) << text_of(diagnostics);
    EXPECT_EQ(topology->congestion_control.is_given(), is_given);
    EXPECT_EQ(topology->congestion_control.threshold, 0u);
    EXPECT_EQ(topology->congestion_control.injection, ib::InjectionSetting{});
    EXPECT_FALSE(topology->congestion_control.injection.can_delay(0));
  }
}

TEST(SubnetCongestion, every_key_arrives) {
  Folder folder;
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", with_control(R"(
      "cc_sw_cong_setting_threshold": 15, "cc_sw_cong_setting_packet_size": 8, "cc_sw_cong_setting_marking_rate": 3,
      "cc_sw_cong_setting_victim_mask": "0x100000000000000000000000000000006", "cc_ca_cong_setting_port_control": 1,
      "cc_ca_cong_setting_ccti_increase": ["0 1", "15 2"], "cc_ca_cong_setting_ccti_timer": ["0 0x96"],
      "cc_ca_cong_setting_trigger_threshold": ["0 4"], "cc_ca_cong_setting_ccti_min": ["0 1"], "cc_cct": "0:0,3:16383,2:5")")),
                                      with_profiles(), diagnostics);
  ASSERT_TRUE(topology.has_value()) << text_of(diagnostics);
  const SubnetCongestionSpec& spec = topology->congestion_control;
  EXPECT_EQ(spec.threshold, 15u);
  EXPECT_EQ(spec.packet_size, 8u);
  EXPECT_EQ(spec.marking_rate, 3u);
  EXPECT_EQ(spec.victims, std::bitset<256>(6) | std::bitset<256>(1) << 128);
  EXPECT_TRUE(spec.injection.is_by_level);
  EXPECT_EQ(spec.injection.levels[0], (ib::InjectionSetting::Level{150, 1, 4, 1}));
  EXPECT_EQ(spec.injection.levels[15], (ib::InjectionSetting::Level{0, 2, 0, 0}));
  EXPECT_EQ(spec.injection.limit, 2u);
  EXPECT_EQ(spec.injection.table[1], (ib::InjectionDelay{3, 16'383}));
  EXPECT_EQ(spec.injection.table[2], (ib::InjectionDelay{2, 5}));
  EXPECT_TRUE(spec.injection.can_delay(0));
}

TEST(SubnetCongestion, all_findings_at_once) {
  EXPECT_EQ(topology_findings(with_control(R"("cc_sw_cong_setting_threshold": 16, "cc_sw_cong_setting_packetsize": 8,
                "cc_ca_cong_setting_port_control": 2)")),
            "/congestion_control/cc_sw_cong_setting_threshold: 16 is out of range; allowed: 0 to 15\n"
            "/congestion_control/cc_sw_cong_setting_packetsize: unknown key; did you mean \"cc_sw_cong_setting_packet_size\"?\n"
            "/congestion_control/cc_ca_cong_setting_port_control: 2 is out of range; allowed: 0 to 1\n");
  EXPECT_EQ(topology_findings(with_control(R"("cc_sw_cong_setting_victim_mask": "6",
                "cc_ca_cong_setting_ccti_increase": ["0 1", "16 1", "1", "0 256"], "cc_ca_cong_setting_ccti_timer": ["0 65536"],
                "cc_ca_cong_setting_ccti_min": ["3 1"], "cc_cct": "0:0,4:1")")),
            "/congestion_control/cc_sw_cong_setting_victim_mask: \"6\" is not a mask of ports; write hexadecimal digits, bit n for port n, "
            "such as \"0x1e\" for ports 1 to 4\n"
            "/congestion_control/cc_ca_cong_setting_ccti_timer/0: \"0 65536\" is not a service level, 0 to 15, and a value, 0 to 65535; as "
            "OpenSM has it, such as \"0 150\"\n"
            "/congestion_control/cc_ca_cong_setting_ccti_increase/1: \"16 1\" is not a service level, 0 to 15, and a value, 0 to 255; as "
            "OpenSM has it, such as \"0 150\"\n"
            "/congestion_control/cc_ca_cong_setting_ccti_increase/2: \"1\" is not a service level, 0 to 15, and a value, 0 to 255; as "
            "OpenSM has it, such as \"0 150\"\n"
            "/congestion_control/cc_ca_cong_setting_ccti_increase/3: \"0 256\" is not a service level, 0 to 15, and a value, 0 to 255; as "
            "OpenSM has it, such as \"0 150\"\n"
            "/congestion_control/cc_cct: \"4:1\" is not shift:multiplier, 0 to 3 and 0 to 16383; such as \"0:0,0:1,0:2\", the delay behind "
            "a packet as a multiple of its time >> shift\n");
}

TEST(SubnetCongestion, a_table_has_at_most_128_entries_and_the_least_index_is_one_of_them) {
  std::string table = "0:0";
  for (int i = 1; i < 129; ++i) table += ",0:1";
  EXPECT_EQ(topology_findings(with_control(R"("cc_cct": ")" + table + "\"")),
            "/congestion_control/cc_cct: the table has more than 128 entries, which adapters have; leave out what is behind entry 127\n");
  EXPECT_EQ(topology_findings(with_control(R"("cc_ca_cong_setting_ccti_min": ["3 2"], "cc_cct": "0:0,0:1")")),
            "/congestion_control/cc_ca_cong_setting_ccti_min: service level 3 has at least index 2, and the last entry of the table is 1; "
            "give cc_cct more entries\n");
}

TEST(SubnetCongestion, is_for_infiniband_with_the_simulations_own_manager) {
  EXPECT_EQ(topology_findings(with_control("", R"(, "link_layer": "roce")")),
            "/congestion_control: is congestion control of InfiniBand; on Ethernet it is the key of profiles, and the switches' marking\n");
  EXPECT_EQ(topology_findings(with_control("", R"(, "subnet_manager": "none")")),
            "/congestion_control: says what the simulation's own subnet manager sets, and there is none; give OpenSM a configuration file "
            "with congestion_control TRUE and these options\n");
}

}  // namespace
}  // namespace verbatim::config
