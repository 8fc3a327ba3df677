// The key `congestion_control` of adapter profiles: findings for invalid values, all at once.
#include <gtest/gtest.h>

#include "sim/config/tables.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string findings(const std::string& control) {
  Folder folder;
  Diagnostics diagnostics;
  check_file(folder.write("p.json", R"({"profile": "hca", "name": "a", "congestion_control": )" + control + "}"), {}, diagnostics);
  return text_of(diagnostics);
}

TEST(CongestionControl, findings_name_key_and_remedy) {
  EXPECT_EQ(findings(R"({"controller": "dcqcn-mv", "cnp_scope": "qp", "cnp_dscp": 64, "rgp_ai_rate": "5 Mbps",
                         "rpg_time_reset": "1 ps", "rpg_threshold": 0, "rpg_ai_rate": "500 kbps", "dce_tcp_g": 1024})"),
            "/congestion_control/controller: \"dcqcn-mv\" is not allowed here; did you mean \"dcqcn-nv\"?\n"
            "/congestion_control/cnp_scope: \"qp\" is not allowed here; allowed: \"port\", \"destination-ip\", \"queue-pair\"\n"
            "/congestion_control/cnp_dscp: 64 is out of range; allowed: 0 to 63\n"
            "/congestion_control/rgp_ai_rate: unknown key; did you mean \"rpg_ai_rate\"?\n"
            "/congestion_control/rpg_time_reset: \"1 ps\" is out of range; allowed: 1 ns to 131.071 ms\n"
            "/congestion_control/rpg_threshold: 0 is out of range; allowed: 1 to 31\n"
            "/congestion_control/rpg_ai_rate: \"500 kbps\" is out of range; allowed: 1 Mbps to 1 Tbps\n"
            "/congestion_control/dce_tcp_g: 1024 is out of range; allowed: 0 to 1023\n");
}

TEST(CongestionControl, controllers_with_a_window_and_their_round_trip) {
  EXPECT_EQ(findings(R"({"controller": "swfit", "base_round_trip": "0 ns"})"),
            "/congestion_control/controller: \"swfit\" is not allowed here; did you mean \"swift\"?\n"
            "/congestion_control/base_round_trip: \"0 ns\" is out of range; allowed: 1 ns to 131.071 ms\n");
  EXPECT_EQ(findings(R"({"controller": "hpcc", "base_roundtrip": "9 us"})"),
            "/congestion_control/base_roundtrip: unknown key; did you mean \"base_round_trip\"?\n");
  EXPECT_EQ(findings(R"({"controller": "hpcc", "base_round_trip": "9 us", "rpg_ai_rate": "40 Mbps", "rpg_threshold": 5})"), "");
}

TEST(CongestionControl, values_that_do_not_go_together) {
  EXPECT_EQ(findings(R"({"controller": "dcqcn-nv", "rpg_min_rate": "2 Gbps", "rpg_max_rate": "1 Gbps",
                         "rate_to_set_on_first_cnp": "1500 Mbps", "rpg_hai_rate": "50500 kbps", "rpg_byte_reset": 32768})"),
            "/congestion_control/rpg_hai_rate: 50.5 Mbps is not a whole number of Mbps; adapters are set in Mbps; such as 51 Mbps\n"
            "/congestion_control/rpg_max_rate: 1 Gbps is below rpg_min_rate, 2 Gbps; 0 means the rate of the line\n"
            "/congestion_control/rate_to_set_on_first_cnp: 1.5 Gbps is below rpg_min_rate, 2 Gbps; 0 means the rate of the "
            "line\n"
            "/congestion_control/rpg_byte_reset: 32768 is out of range for dcqcn-nv; allowed: 0 to 32767; units of 64 bytes; 0: no "
            "byte counter\n");
  EXPECT_EQ(findings(R"({"controller": "dcqcn-ns3", "rpg_max_rate": "50 Mbps"})"),
            "/congestion_control/rpg_max_rate: 50 Mbps is below rpg_min_rate, 100 Mbps; 0 means the rate of the line\n")
      << "the floor is the controller's own";
  EXPECT_EQ(findings(R"({"controller": "dcqcn-paper", "rpg_byte_reset": 156250, "rpg_max_rate": "0 bps"})"), "");
}

TEST(CongestionControl, a_parameter_that_is_left_out_is_the_controllers_own) {
  const Json json = Json::parse(R"({"profile": "hca", "name": "a", "congestion_control":
      {"controller": "dcqcn-paper", "ecn_capable": true, "rpg_ai_rate": {"value": "20 Mbps", "source": "a test"},
       "min_time_between_cnps": "50 us", "clamp_tgt_rate": true}})");
  Diagnostics diagnostics;
  hca::HcaProfile profile;
  check_object(json, hca_profile_table(), &profile, "p.json", "", diagnostics);
  EXPECT_EQ(text_of(diagnostics), "");
  EXPECT_EQ(profile.congestion_control.controller, "dcqcn-paper");
  EXPECT_TRUE(profile.congestion_control.ecn_capable);
  EXPECT_EQ(profile.congestion_control.min_time_between_cnps, Duration(50'000'000));
  const hca::ReactionPoint& point = profile.congestion_control.reaction_point;
  EXPECT_EQ(point.rpg_ai_rate, 20'000'000);
  EXPECT_TRUE(point.clamp_tgt_rate);
  EXPECT_LT(point.rpg_hai_rate, 0);
  EXPECT_LT(point.rpg_time_reset, Duration(0));
}

std::string warnings(const std::string& control) {
  Folder folder;
  Diagnostics diagnostics;
  check_file(folder.write("p.json", R"({"profile": "hca", "name": "a", "congestion_control": )" + control + "}"), {}, diagnostics);
  EXPECT_EQ(text_of(diagnostics), "");
  std::string text;
  for (const Finding& warning : diagnostics.warnings()) text += warning.pointer + ": " + warning.text + "; " + warning.hint + "\n";
  return text;
}

TEST(CongestionControl, a_changed_controller_with_the_parameters_of_dcqcn_nv_is_a_warning) {
  EXPECT_EQ(warnings(R"({"controller": "hpcc", "rpg_byte_reset": 32767, "rpg_gd": 11, "rpg_time_reset": "300 us", "rpg_threshold": 1,
                         "rpg_ai_rate": "5 Mbps", "rpg_max_rate": "0 bps", "base_round_trip": "13 us"})"),
            "/congestion_control/controller: rpg_threshold 1 and rpg_ai_rate 5 Mbps are those of dcqcn-nv; hpcc has 0 and 40 Mbps "
            "at 100 Gbps; leave out what is not meant for hpcc\n"
            "/congestion_control/controller: hpcc does not use rpg_time_reset, rpg_byte_reset and rpg_gd; leave them out\n");
  EXPECT_EQ(warnings(R"({"controller": "dcqcn-paper", "rpg_time_reset": "300 us", "rpg_ai_rate": "20 Mbps"})"),
            "/congestion_control/controller: rpg_time_reset 300 us is that of dcqcn-nv; dcqcn-paper has 55 us at 100 Gbps; "
            "leave out what is not meant for dcqcn-paper\n");
  EXPECT_EQ(warnings(R"({"controller": "hpcc", "rpg_ai_rate": "50 Mbps", "base_round_trip": "9 us"})"), "");
  EXPECT_EQ(warnings(R"({"controller": "dcqcn-nv", "rpg_ai_rate": "5 Mbps", "base_round_trip": "13 us"})"), "");
  EXPECT_EQ(warnings(R"({"controller": "none", "rpg_ai_rate": "5 Mbps"})"), "");
}

}  // namespace
}  // namespace verbatim::config
