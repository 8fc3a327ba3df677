#include <gmock/gmock.h>

#include <filesystem>
#include <regex>
#include <set>

#include "sim/config/tables.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string profile_findings(const std::string& text) {
  Folder folder;
  Diagnostics diagnostics;
  check_file(folder.write("p.json", text), {}, diagnostics);
  return text_of(diagnostics);
}

// Tables that may have one source for all values.
const std::set<std::string_view> kOneSource = {"a stage", "lane arbitration", "marking", "a PFC watchdog"};

// Every latency, capacity and size is a documented parameter: a shipped profile sets each value and names its
// source.
void expect_complete(const Json& json, const Object& object, bool has_source, const std::string& where) {
  for (const Field& field : object.fields) {
    const std::string key(field.key);
    const std::string at = where + "/" + key;
    if (field.kind == Kind::kIgnored || key == "name" || key == "profile") continue;
    // Optional tables of lanes; the source of the table covers their defaults.
    if (field.kind == Kind::kObjects || (object.title == "lane arbitration" && key == "strict")) continue;
    ASSERT_TRUE(json.contains(key)) << at << " is not set";
    if (field.kind == Kind::kObject) {
      if (field.object->title == "shared memory" && json[key]["size"] == "0 B") continue;  // there is no shared memory
      expect_complete(json[key], *field.object, json[key].contains("source"), at);
    } else if (!has_source || !kOneSource.contains(object.title)) {
      EXPECT_TRUE(json[key].is_object() && json[key].contains("source")) << at << " has no source";
    }
  }
}

// Each profile in topologies/profiles with its table.
struct Shipped {
  std::string name;
  const Object& table;
  Json json;
};

std::vector<Shipped> shipped() {
  std::vector<Shipped> all;
  for (const auto& entry : std::filesystem::directory_iterator(VERBATIM_SOURCE_DIR "/topologies/profiles")) {
    Diagnostics diagnostics;
    const auto json = read_json(entry.path(), diagnostics);
    EXPECT_TRUE(json.has_value()) << text_of(diagnostics);
    if (!json) continue;
    check_file(entry.path(), {}, diagnostics);
    EXPECT_TRUE(diagnostics.empty()) << text_of(diagnostics);
    const std::string kind = json->at("profile");
    const Object& table = kind == "hca" ? hca_profile_table() : kind == "switch" ? switch_profile_table() : cpu_profile_table();
    all.push_back({entry.path().stem(), table, *json});
  }
  EXPECT_GE(all.size(), 18u);
  return all;
}

TEST(Profile, shipped_ones_set_every_parameter_and_name_its_source) {
  for (const Shipped& profile : shipped()) {
    SCOPED_TRACE(profile.name);
    expect_complete(profile.json, profile.table, false, profile.name);
  }
}

// If the source of a stage has a rate in millions per second, the interval of the stage corresponds to its
// first number.
TEST(Profile, stages_take_as_many_a_second_as_their_sources_say) {
  static const std::regex kRate("([0-9.]+) (?:to [0-9.]+ )?million");
  int compared = 0;
  for (const Shipped& shipped : shipped()) {
    if (&shipped.table != &hca_profile_table()) continue;
    Diagnostics diagnostics;
    hca::HcaProfile profile;
    check_object(shipped.json, hca_profile_table(), &profile, shipped.name, "", diagnostics);
    for (const auto& [key, stage] :
         {std::pair("wqe_decode", profile.wqe_decode), std::pair("packetize", profile.packetize),
          std::pair("receive_check", profile.receive_check)}) {
      const std::string source = shipped.json[key]["source"];
      std::smatch match;
      if (!std::regex_search(source, match, kRate)) continue;
      const double rate = static_cast<double>(profile.core_clock_hz) / stage.interval_cycles / 1e6;
      EXPECT_NEAR(rate / std::stod(match[1]), 1, 0.05) << shipped.name << "/" << key << ": " << source;
      ++compared;
    }
  }
  EXPECT_GE(compared, 15);
}

TEST(Profile, of_loss_recovery_is_checked) {
  EXPECT_EQ(profile_findings(R"({"profile": "hca", "name": "a", "loss_recovery": {"nak_generation": "2 s", "log_tx_psn_window": 13}})"),
            "/loss_recovery/nak_generation: \"2 s\" is out of range; allowed: 0 ps to 1 s\n"
            "/loss_recovery/log_tx_psn_window: 13 is out of range; allowed: 3 to 12\n");
}

void expect_marks(const Json& json, const std::string& where) {
  if (json.is_string()) {
    const std::string text = json;
    if (text.find("Breaking Band") == std::string::npos) return;
    EXPECT_NE(text.find("from memory"), std::string::npos) << where << ": " << text;
  } else if (json.is_structured()) {
    for (const auto& [key, value] : json.items()) expect_marks(value, where + "/" + key);
  }
}

TEST(Profile, what_is_quoted_from_memory_says_so) {
  for (const Shipped& profile : shipped()) expect_marks(profile.json, profile.name);
}

TEST(Profile, every_row_of_every_table_has_a_meaning_and_a_place) {
  for (const Object* table : {&hca_profile_table(), &switch_profile_table(), &cpu_profile_table(),
                              &topology_table(), &scenario_table()}) {
    std::set<std::string_view> keys;
    for (const Field& field : table->fields) {
      EXPECT_FALSE(field.doc.empty()) << field.key;
      EXPECT_TRUE(keys.insert(field.key).second) << field.key << " occurs twice";
      EXPECT_TRUE(field.store != nullptr || field.member != nullptr || field.kind == Kind::kIgnored ||
                  field.key == "profile")
          << field.key;
    }
  }
}

TEST(Profile, values_arrive_in_base_units) {
  Diagnostics diagnostics;
  const auto json =
      parse_json(R"({"profile": "hca", "name": "x", "core_clock": "250 MHz", "event_latency": "2 us",
      "pcie": {"lanes": 8, "one_way_latency": {"value": "100 ns", "source": "s"}},
      "doorbell": {"latency_cycles": 7, "interval_cycles": 3}, "max_mr_size": "1 GiB"})",
                 "p", diagnostics);
  hca::HcaProfile profile;
  check_object(*json, hca_profile_table(), &profile, "p", "", diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << text_of(diagnostics);
  EXPECT_EQ(profile.core_clock_hz, 250'000'000u);
  EXPECT_EQ(profile.event_latency, Duration(2'000'000));
  EXPECT_EQ(profile.pcie.lanes, 8u);
  EXPECT_EQ(profile.pcie.one_way_latency, Duration(100'000));
  EXPECT_EQ(profile.doorbell.latency_cycles, 7u);
  EXPECT_EQ(profile.doorbell.interval_cycles, 3u);
  EXPECT_EQ(profile.max_mr_size, 1ull << 30);
  EXPECT_EQ(profile.max_qp, hca::HcaProfile().max_qp) << "what is not set keeps the default";
}

TEST(Profile, findings) {
  EXPECT_EQ(
      profile_findings(R"({"profile": "hca", "name": "x", "pcie": {"lanes": 3, "mps": 1}, "virtual_lanes": 16,
                         "receive_buffer": "4 KiB", "max_mtu": {"value": 6, "source": 7, "unit": "x"}, "max_qp": {}})"),
      "/pcie/lanes: 3 is not allowed here; allowed: 1, 2, 4, 8, 16\n"
      "/pcie/mps: unknown key; a PCI Express connection has the keys generation, lanes, max_payload_bytes, "
      "max_read_request_bytes, read_completion_boundary_bytes, write_header_bytes, read_header_bytes, "
      "completion_header_bytes, outstanding_reads, dllp_interval_bytes, write_combining_delay, "
      "one_way_latency, memory_read_latency, memory_write_latency\n"
      "/virtual_lanes: 16 is out of range; allowed: 1 to 15\n"
      "/receive_buffer: \"4 KiB\" is out of range; allowed: 4224 B to 64 MiB\n"
      "/max_mtu/source: 7 is not a string; say where the value is from\n"
      "/max_mtu/unit: unknown key; a value with its source has the keys value and source\n"
      "/max_mtu/value: 6 is out of range; allowed: 1 to 5\n"
      "/max_qp: the key \"value\" is missing; write {\"value\": …, \"source\": \"…\"}\n");
  EXPECT_EQ(profile_findings(R"({"profile": "gpu"})"),
            "this is neither a topology, nor a scenario, nor a profile; a topology has \"hosts\" and \"links\", or \"generate\"; a scenario has "
            "\"topology\" and \"programs\"; a profile has \"profile\": \"hca\", \"switch\" or \"cpu\"\n");
}

std::string switch_findings(const std::string& lanes, const std::string& arbitration) {
  return profile_findings(R"({"profile": "switch", "name": "x", "virtual_lanes": )" + lanes + R"(, "arbitration": )" +
                  arbitration + "}");
}

TEST(Profile, lanes_of_service_levels_and_the_lifetime_of_a_switch_arrive) {
  Diagnostics diagnostics;
  fabric::SwitchProfile profile;
  const auto json = parse_json(R"({"profile": "switch", "name": "x", "lifetime": "4096 ns", "sl_to_vl": [
                                    {"level": 3, "lane": 1}, {"level": 15, "lane": 15}]})",
                               "x.json", diagnostics);
  ASSERT_TRUE(json);
  check_object(*json, switch_profile_table(), &profile, "x.json", "", diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << text_of(diagnostics);
  EXPECT_EQ(profile.lifetime, Duration(4'096'000));
  EXPECT_EQ(profile.sl_to_vl, (std::vector<fabric::LevelMapping>{{3, 1}, {15, 15}}));
}

TEST(Profile, dscp_values_and_ranges_arrive) {
  Folder folder;
  for (const char* const kind : {"hca", "switch"}) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(profile_findings(R"({"profile": ")" + std::string(kind) + R"(", "name": "x", "trust": "dscp",
                                   "dscp_to_priority": [{"dscp": "0-7", "priority": 7}, {"dscp": "63", "priority": 0}]})"),
              "");
    EXPECT_EQ(profile_findings(R"({"profile": ")" + std::string(kind) + R"(", "name": "x", "trust": "l3",
                                   "dscp_to_priority": [{"dscp": "26", "priority": 8}, {"dscp": 26, "priority": 1}, {"priority": -1}]})"),
              "/trust: \"l3\" is not allowed here; allowed: \"pcp\", \"dscp\"\n"
              "/dscp_to_priority/0/priority: 8 is out of range; allowed: 0 to 7\n"
              "/dscp_to_priority/1/dscp: 26 is a number where a string is expected\n"
              "/dscp_to_priority/2/priority: -1 is out of range; allowed: 0 to 7\n"
              "/dscp_to_priority/2: the key \"dscp\" is missing; a value, 0 to 63, or a range such as \"24-31\"\n");
    EXPECT_EQ(profile_findings(R"({"profile": ")" + std::string(kind) + R"(", "name": "x", "dscp_to_priority": [
                                   {"dscp": "24-31", "priority": 3}, {"dscp": "8-26", "priority": 1}, {"dscp": "64", "priority": 1},
                                   {"dscp": "9-8", "priority": 1}, {"dscp": "a", "priority": 1}, {"dscp": "8-", "priority": 1}]})"),
              "/dscp_to_priority/1/dscp: the priority of DSCP 24 is given by /dscp_to_priority/0 already; name each value once\n"
              "/dscp_to_priority/2/dscp: \"64\" is neither a DSCP value nor a range of them; values are 0 to 63; write \"26\", or a range "
              "such as \"24-31\"\n"
              "/dscp_to_priority/3/dscp: \"9-8\" is neither a DSCP value nor a range of them; values are 0 to 63; write \"26\", or a range "
              "such as \"24-31\"\n"
              "/dscp_to_priority/4/dscp: \"a\" is neither a DSCP value nor a range of them; values are 0 to 63; write \"26\", or a range "
              "such as \"24-31\"\n"
              "/dscp_to_priority/5/dscp: \"8-\" is neither a DSCP value nor a range of them; values are 0 to 63; write \"26\", or a range "
              "such as \"24-31\"\n");
  }
}

TEST(Profile, arbitration_tables_arrive) {
  Folder folder;
  Diagnostics diagnostics;
  const auto json = parse_json(R"({"profile": "switch", "name": "x", "virtual_lanes": 2, "arbitration": {
      "high_limit": {"value": 3, "source": "s"}, "high": [{"lane": 1, "weight": 8}],
      "low": [{"lane": 0, "weight": 255}, {"lane": 1, "weight": 0}]}})",
                               "p", diagnostics);
  fabric::SwitchProfile profile;
  check_object(*json, switch_profile_table(), &profile, "p", "", diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << text_of(diagnostics);
  EXPECT_EQ(profile.arbitration.high_limit, 3u);
  EXPECT_EQ(profile.arbitration.high, (std::vector<fabric::ArbitrationEntry>{{1, 8}}));
  EXPECT_EQ(profile.arbitration.low, (std::vector<fabric::ArbitrationEntry>{{0, 255}, {1, 0}}));
}

TEST(Profile, every_lane_has_weight_in_an_arbitration_table) {
  EXPECT_EQ(switch_findings("15", "{}"), "") << "the defaults serve all";
  EXPECT_EQ(switch_findings("2", R"({"high": [{"lane": 1, "weight": 1}], "low": [{"lane": 0, "weight": 0}]})"),
            "/arbitration: lane 0 has no weight in either table; its packets would never leave; give it an entry in "
            "\"high\" or \"low\", or lower \"virtual_lanes\"\n");
  EXPECT_EQ(switch_findings("1", R"({"high_limit": 256, "low": [{"lane": 15, "weight": 256}, {}]})"),
            "/arbitration/high_limit: 256 is out of range; allowed: 0 to 255\n"
            "/arbitration/low/0/lane: 15 is out of range; allowed: 0 to 14\n"
            "/arbitration/low/0/weight: 256 is out of range; allowed: 0 to 255\n"
            "/arbitration/low/1: the key \"lane\" is missing; data lane\n"
            "/arbitration/low/1: the key \"weight\" is missing; data that it may send in this turn, in units of 64 bytes; "
            "0: no turn\n");
  std::string many = R"({"lane": 0, "weight": 1})";
  for (int i = 0; i < 64; ++i) many += R"(, {"lane": 0, "weight": 1})";
  EXPECT_EQ(switch_findings("1", R"({"low": [)" + many + "]}"),
            "/arbitration/low: 65 entries are more than a table has; at most 64\n");
}

TEST(Profile, lanes_on_ethernet_are_strict_or_share_the_line) {
  EXPECT_EQ(switch_findings("3", R"({"strict": "2", "shares": [{"lane": 0, "weight": 14}, {"lane": 1, "weight": 15}]})"), "");
  EXPECT_EQ(switch_findings("2", R"({"strict": "0,1"})"), "");
  EXPECT_EQ(switch_findings("3", R"({"strict": "2", "shares": [{"lane": 0, "weight": 1}]})"),
            "/arbitration: lane 1 has no weight in \"shares\", and is not strict; its packets would never leave; give it an entry in "
            "\"shares\", or lower \"virtual_lanes\"\n");
  EXPECT_EQ(switch_findings("3", R"({"strict": "2-1", "shares": [{"lane": 0, "weight": 1}, {"lane": 0, "weight": 0}]})"),
            "/arbitration/strict: \"2-1\" is not a list of lanes, 0 to 7; write \"6\", \"6,7\" or \"5-7\"\n"
            "/arbitration/shares/1/lane: lane 0 has another entry already; a lane is strict, or has one share\n"
            "/arbitration/shares/1/weight: a lane without weight would never send; 1 to 255\n");
  EXPECT_EQ(switch_findings("3", R"({"strict": "2", "shares": [{"lane": 2, "weight": 1}]})"),
            "/arbitration/shares/0/lane: lane 2 is strict already; a lane is strict, or has one share\n");
}

// A poll must advance the clock: otherwise a polling loop would remain at one instant for ever.
TEST(Profile, polling_cannot_be_free) {
  const std::string text =
      profile_findings(R"({"profile": "cpu", "name": "x", "call_costs": {"poll_empty": "0 s"}})");
  EXPECT_NE(text.find("/call_costs/poll_empty: \"0 s\" is out of range; allowed: 1 ns to 1 s\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("the key \"post_send\" is missing"), std::string::npos);
}

std::string changed(const std::string& changes) {
  return R"({"name": "t", "link_layer": "roce", "profile_changes": )" + changes +
         R"(, "generate": {"shape": "star", "hosts": 2, "rate": "100 Gbps", "hca": "edr_roce", "switch": "spectrum"}})";
}

TEST(ProfileChanges, replace_single_values_of_a_profile_in_this_topology) {
  Folder folder;
  Diagnostics diagnostics;
  const auto plain = load_topology(folder.write("p.json", changed("{}")), with_profiles(), diagnostics);
  const auto topology = load_topology(
      folder.write("t.json", changed(R"({"edr_roce": {"congestion_control": {"controller": "hpcc"}, "virtual_lanes": {"value": 4, "source": "x"}},
                                         "spectrum": {"ports_max": 33}})")),
      with_profiles(), diagnostics);
  ASSERT_TRUE(plain && topology) << text_of(diagnostics);
  const hca::HcaProfile& before = plain->hosts[1].hca_profile, &after = topology->hosts[1].hca_profile;
  EXPECT_EQ(before.congestion_control.controller, "dcqcn-nv");
  EXPECT_EQ(after.congestion_control.controller, "hpcc");
  EXPECT_EQ(after.virtual_lanes, 4u);
  EXPECT_EQ(after.processing_units, before.processing_units) << "other values stay";
  EXPECT_EQ(topology->switches[0].switch_profile.ports_max, 33u);
}

TEST(ProfileChanges, findings_have_their_place_in_the_topology) {
  EXPECT_EQ(topology_findings(changed(R"({"edr_roce": {"congestion_control": {"controler": "hpcc"}}})")).substr(0, 70),
            "/profile_changes/edr_roce/congestion_control/controler: unknown key; d");
  EXPECT_EQ(topology_findings(changed(R"({"spectrum": {"ports_max": "many"}})")),
            "/profile_changes/spectrum/ports_max: \"many\" is a string where a whole number is expected\n");
  EXPECT_EQ(topology_findings(changed(R"({"edr_roc": {}})")),
            "/profile_changes/edr_roc: nothing here has the profile \"edr_roc\"; did you mean \"edr_roce\"?\n");
  EXPECT_THAT(topology_findings(changed(R"({"edr_roce": 5})")), ::testing::StartsWith("/profile_changes/edr_roce: 5 is a number where an object is expected"));
  EXPECT_THAT(topology_findings(changed(R"(["edr_roce"])")), ::testing::HasSubstr("an object of objects is expected"));
}

// edr_roce has the parameters of dcqcn-nv, and base_round_trip for hpcc and swift.
TEST(ProfileChanges, another_controller_has_parameters_of_its_own) {
  const auto point_of = [](const std::string& control) {
    Folder folder;
    Diagnostics diagnostics;
    const auto topology = load_topology(folder.write("t.json", changed(R"({"edr_roce": {"congestion_control": )" + control + "}}")),
                                        with_profiles(), diagnostics);
    EXPECT_TRUE(topology.has_value()) << text_of(diagnostics);
    return topology ? topology->hca_profile(topology->adapters[0]).congestion_control.reaction_point : hca::ReactionPoint{};
  };
  const hca::ReactionPoint hpcc = point_of(R"({"controller": "hpcc", "rpg_min_rate": "7 Mbps"})");
  EXPECT_EQ(hpcc.rpg_ai_rate, hca::ReactionPoint::kNotSet);
  EXPECT_EQ(hpcc.rpg_threshold, hca::ReactionPoint::kNotSet);
  EXPECT_LT(hpcc.rpg_time_reset, Duration(0));
  EXPECT_EQ(hpcc.rpg_min_rate, 7'000'000);
  EXPECT_EQ(hpcc.base_round_trip, std::chrono::microseconds(13));
  EXPECT_EQ(point_of(R"({"controller": "dcqcn-nv"})").rpg_ai_rate, 5'000'000);
  EXPECT_EQ(point_of(R"({"rpg_threshold": 3})").rpg_ai_rate, 5'000'000);
}

}  // namespace
}  // namespace verbatim::config
