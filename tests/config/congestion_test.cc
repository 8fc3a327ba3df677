// Flow control of cables, shared memory and marking in input files: resulting values, and findings for
// invalid ones.
#include "sim/config/resolve_congestion.h"

#include "sim/config/headroom.h"
#include "sim/config/link_params.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string star(const std::string& generate, const std::string& link_layer = "roce") {
  return R"({"name": "star", "link_layer": ")" + link_layer +
         R"(", "generate": {"shape": "star", "hosts": 2, "rate": "100 Gbps", "length": "5 m")" + generate + "}}";
}

std::string pause_findings(const std::string& generate, const std::string& link_layer = "roce") {
  Folder folder;
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", star(generate, link_layer)), with_profiles(), diagnostics);
  EXPECT_EQ(topology.has_value(), diagnostics.empty());
  return text_of(diagnostics);
}

TopologySpec loaded(const std::string& generate) {
  Folder folder;
  Diagnostics diagnostics;
  folder.write("wide.json", R"({"profile": "hca", "name": "wide", "receive_buffer": "1 MiB"})");
  const auto topology = load_topology(folder.write("t.json", star(generate)), with_profiles(), diagnostics);
  EXPECT_TRUE(topology.has_value()) << text_of(diagnostics);
  return topology ? *topology : TopologySpec{};
}

TEST(Priorities, are_lists_of_numbers_and_ranges) {
  EXPECT_EQ(parse_priorities("3"), 1u << 3);
  EXPECT_EQ(parse_priorities("3,4"), 3u << 3);
  EXPECT_EQ(parse_priorities("0-7"), 0xff);
  EXPECT_EQ(parse_priorities("0-1,7"), 0x83);
  for (const char* const wrong : {"", "8", "3,", ",3", "3-", "4-3", "3 4", "33", "a", "0-7-9"}) {
    EXPECT_FALSE(parse_priorities(wrong).has_value()) << wrong;
  }
}

TEST(PauseKeys, a_switch_with_shared_memory_pauses_unless_the_file_says_otherwise) {
  EXPECT_EQ(loaded(R"(, "switch": "spectrum")").links[0].flow_control, "pfc");
  EXPECT_EQ(loaded(R"(, "switch": "ethernet_switch")").links[0].flow_control, "credits");
  EXPECT_EQ(loaded(R"(, "switch": "spectrum", "flow_control": "none")").links[0].flow_control, "none");
}

TEST(PauseKeys, every_key_arrives) {
  const TopologySpec topology = loaded(R"(, "switch": "ethernet_switch", "flow_control": "pfc",
      "pfc": {"lossless_priorities": "0", "quanta": 1000, "response": "ieee", "headroom": "60 KiB"})");
  const fabric::LinkParams link = link_params_of(topology.links[0], true);
  EXPECT_EQ(link.flow_control, fabric::FlowControlKind::kPause);
  EXPECT_EQ(link.lossless_lanes, 1u);
  EXPECT_EQ(link.pause_quanta, 1'000u);
  EXPECT_EQ(link.pause_response, Duration(394 * 64 * 80)) << "quanta of 512 bits at 100 Gb/s";
  EXPECT_EQ(link.headroom_bytes, 60u << 10);
}

TEST(PauseKeys, headroom_is_the_bound_or_sonics) {
  const TopologySpec bound = loaded(R"(, "switch": "spectrum")");
  EXPECT_EQ(bound.links[0].headroom_bytes, headroom_bound(link_params_of(bound.links[0], true), 64, 4'224, 96));
  const TopologySpec sonic = loaded(R"(, "switch": "spectrum", "pfc": {"headroom": "sonic"}, "hca": "wide")");
  EXPECT_EQ(sonic.links[0].headroom_bytes, sonic_headroom({.cable_mm = 5'000, .cell_bytes = 96}));
}

TEST(PauseKeys, a_rate_that_is_none_is_the_only_finding) {
  Folder folder;
  Diagnostics diagnostics;
  load_topology(folder.write("t.json", R"({"name": "star", "link_layer": "roce", "generate":
      {"shape": "star", "hosts": 2, "rate": "90 Gbps", "length": "5 m", "switch": "hpcc_switch", "hca": "edr_roce"}})"),
                with_profiles(), diagnostics);
  EXPECT_NE(text_of(diagnostics).find("is not the data rate of any InfiniBand link"), std::string::npos) << text_of(diagnostics);
}

TEST(PauseKeys, all_findings_at_once) {
  EXPECT_EQ(pause_findings(R"(, "switch": "spectrum", "flow_control": "pause",
                              "pfc": {"lossless_priority": "3", "quanta": 70000, "response": "ideal"})"),
            "/generate/flow_control: \"pause\" is not allowed here; allowed: \"credits\", \"pfc\", \"none\"\n"
            "/generate/pfc/lossless_priority: unknown key; did you mean \"lossless_priorities\"?\n"
            "/generate/pfc/quanta: 70000 is out of range; allowed: 1 to 65535\n");
}

TEST(PauseKeys, what_cannot_be_is_refused) {
  EXPECT_EQ(pause_findings(R"(, "flow_control": "pfc")", "infiniband"),
            "/generate/flow_control: links of InfiniBand have credits; leave it out, or choose the link layer \"roce\"\n");
  EXPECT_EQ(pause_findings(R"(, "switch": "spectrum", "pfc": {"lossless_priorities": "3-8"})"),
            "/generate/pfc/lossless_priorities: \"3-8\" is not a list of priorities, 0 to 7; write \"3\", \"3,4\" or \"0-7\"\n");
  EXPECT_EQ(pause_findings(R"(, "switch": "spectrum", "pfc": {"lossless_priorities": "3"})"),
            "/generate/pfc/lossless_priorities: \"h0\" has 1 lane, so priorities are 0 to 0; give its profile \"virtual_lanes\": 8\n");
  EXPECT_EQ(pause_findings(R"(, "switch": "spectrum", "pfc": {"response": "fast"})"),
            "/generate/pfc/response: \"fast\" is neither \"ideal\" nor \"ieee\" nor a duration; write, for example, \"2 us\"\n");
  EXPECT_EQ(pause_findings(R"(, "switch": "spectrum", "pfc": {"quanta": 100})"),
            "/generate/pfc/quanta: a pause of 100 quanta may end before it can be repeated; allowed: 136 to 65535\n");
  EXPECT_EQ(pause_findings(R"(, "switch": "spectrum", "pfc": {"headroom": "much"})"),
            "/generate/pfc/headroom: \"much\" is neither \"bound\" nor \"sonic\" nor a size; write, for example, \"80 KiB\"\n");
  EXPECT_EQ(pause_findings(R"(, "switch": "spectrum", "pfc": {"headroom": "80 KiB"})"),
            "/generate/pfc/headroom: \"h0\" has 64 KiB for each lane, and the headroom takes 80 KiB of it; give its profile a larger "
            "receive_buffer, or the cable less length, response time or headroom\n");
}

// Two hosts at a switch with shared memory; h0 has eight lanes and the given keys.
std::string mismatch_findings(const std::string& hca, const std::string& link, const std::string& keys = "", TopologySpec* loaded = nullptr) {
  Folder folder;
  Diagnostics diagnostics;
  folder.write("mine.json", R"({"profile": "hca", "name": "mine", "virtual_lanes": 8, "receive_buffer": "1 MiB")" + hca + "}");
  const auto topology = load_topology(
      folder.write("t.json", R"({"name": "t", "link_layer": "roce")" + keys + R"(, "hosts": [{"name": "h0", "hca": "mine"}, {"name": "h1", "hca": "mine"}],
        "switches": [{"name": "s", "profile": "spectrum", "ports": 2}],
        "links": [{"a": "h0", "b": "s:1", "rate": "100 Gbps", "length": "5 m")" + link + R"(},
                  {"a": "h1", "b": "s:2", "rate": "100 Gbps", "length": "5 m", "pfc": {"lossless_priorities": "3"}}]})"),
      with_profiles(), diagnostics);
  EXPECT_EQ(topology.has_value(), diagnostics.empty());
  if (topology && loaded != nullptr) *loaded = *topology;
  return text_of(diagnostics);
}

constexpr char kEndsOfA[] = R"(, "pfc": {"lossless_priorities": "3", "ends": "a"})";
constexpr char kPcp[] = R"(, "trust": "pcp", "dscp_to_priority": [{"dscp": "24", "priority": 4}])";
constexpr char kOtherMap[] = R"(, "trust": "dscp", "dscp_to_priority": [{"dscp": "24", "priority": 4}])";
constexpr char kSameLossless[] = R"(, "pfc": {"lossless_priorities": "5"})";

TEST(Mismatch, of_the_ends_of_a_cable_is_refused) {
  EXPECT_EQ(mismatch_findings("", kEndsOfA),
            "/links/0/pfc/ends: \"h0\" pauses and is paused, and \"s\" at the other end of its cable drops what finds no space and knows no pauses; "
            "leave \"ends\" out, or give the topology \"allow_mismatch\": true to see what happens\n");
  EXPECT_EQ(mismatch_findings(kOtherMap, kSameLossless),
            "/links/1: packets with DSCP 24 have priority 4 at \"h1\" and priority 3 at \"s\", of which one at least is lossless; give both profiles the "
            "same \"dscp_to_priority\", or give the topology \"allow_mismatch\": true to see what happens\n")
      << "on the first cable neither 3 nor 4 is lossless";
  EXPECT_EQ(mismatch_findings(kPcp, kSameLossless), "") << "the adapter does not look at it";
}

TEST(Mismatch, is_allowed_on_demand_and_kept_for_the_run) {
  TopologySpec topology;
  EXPECT_EQ(mismatch_findings(kOtherMap, kEndsOfA, R"(, "allow_mismatch": true)", &topology), "");
  ASSERT_EQ(topology.mismatches.size(), 3u);
  EXPECT_EQ(topology.mismatches[0].substr(0, 24), "\"h0\" pauses and is pause");
  const LinkSpec& link = topology.links[0];
  EXPECT_TRUE(link.has_pauses_at(link.end_a));
  EXPECT_FALSE(link.has_pauses_at(link.end_b));
}

std::string with_switch(const std::string& keys, const std::string& generate = "") {
  Folder folder;
  Diagnostics diagnostics;
  folder.write("mine.json", R"({"profile": "switch", "name": "mine", "virtual_lanes": 8, )" + keys + "}");
  const auto topology = load_topology(folder.write("t.json", star(R"(, "switch": "mine")" + generate)), with_profiles(), diagnostics);
  EXPECT_EQ(topology.has_value(), diagnostics.empty());
  return text_of(diagnostics);
}

TEST(WatchdogKeys, arrive) {
  const TopologySpec topology = loaded(R"(, "switch": "spectrum")");
  EXPECT_FALSE(fabric::watchdog_of(topology.switches[0].switch_profile.watchdog).has_value()) << "SONiC's is off until it is started";
  EXPECT_EQ(with_switch(R"("pfc_watchdog": {"action": "dropp", "detection_time": "0 s"})"),
            "/pfc_watchdog/action: \"dropp\" is not allowed here; did you mean \"drop\"?\n"
            "/pfc_watchdog/detection_time: \"0 s\" is out of range; allowed: 1 ns to 1000 s\n");
}

TEST(SharedMemoryKeys, reserves_and_headrooms_must_fit) {
  EXPECT_EQ(with_switch(R"("shared_memory": {"size": "40 KiB", "reserved": "4 KiB"})", R"(, "pfc": {"headroom": "16 KiB"})"),
            "/generate: the shared memory of \"leaf0\" has 40 KiB, of which reserves and headrooms of its ports need 40 KiB; pause fewer "
            "priorities (\"lossless_priorities\"), or give less headroom or more memory\n");
  EXPECT_EQ(with_switch(R"("shared_memory": {"size": "41 KiB", "reserved": "4 KiB"})", R"(, "pfc": {"headroom": "16 KiB"})"), "");
}

TEST(SharedMemoryKeys, alpha_has_a_range) {
  EXPECT_EQ(with_switch(R"("shared_memory": {"size": "1 MiB", "lossless_alpha_log2": 8, "lossy_alpha_log2": -9})"),
            "/shared_memory/lossless_alpha_log2: 8 is out of range; allowed: -8 to 7\n"
            "/shared_memory/lossy_alpha_log2: -9 is out of range; allowed: -8 to 7\n");
}

TEST(MarkingKeys, curves_that_cannot_be_are_refused) {
  EXPECT_EQ(with_switch(R"("marking": {"queues": [{"priorities": "3", "kmin": "200 KiB", "kmax": "100 KiB"},
                                                  {"priorities": "2-4", "kmin": "1 KiB", "kmax": "2 KiB"},
                                                  {"priorities": "9", "kmin": "1 KiB", "kmax": "2 KiB"}]})"),
            "/marking/queues/0/kmin: kmin, 200 KiB, is above kmax, 100 KiB; the probability rises from kmin to kmax\n"
            "/marking/queues/1/priorities: another entry has the curve of one of these priorities; give each priority one curve\n"
            "/marking/queues/2/priorities: \"9\" is not a list of priorities, 0 to 7; write \"3\", \"3,4\" or \"0-7\"\n");
}

TEST(MarkingKeys, the_probability_is_a_percentage) {
  EXPECT_EQ(with_switch(R"("marking": {"queues": [{"kmin": "1 KiB", "kmax": "2 KiB", "pmax_percent": 101}]})"),
            "/marking/queues/0/pmax_percent: 101 is out of range; allowed: 1 to 100\n");
}

TEST(MarkingKeys, thresholds_are_in_proportion_to_the_rate) {
  const TopologySpec topology = loaded(R"(, "switch": "hpcc_switch")");
  const fabric::MarkingProfile& marking = topology.switches[0].switch_profile.marking;
  const auto at_25g = fabric::marking_of(marking, ByteTime{320, 1});
  EXPECT_EQ(at_25g->where, fabric::MarkingParams::Where::kDequeue);
  EXPECT_EQ(at_25g->curves[3], (fabric::MarkingCurve{100'000, 400'000, 200'000}));
  EXPECT_EQ(at_25g->curves[0], fabric::MarkingCurve{}) << "HPCC never marks its priority 0";
  EXPECT_EQ(fabric::marking_of(fabric::MarkingProfile{}, ByteTime{320, 1}), nullptr);
}

std::string traffic_warnings(const std::string& nic, const std::string& flows, const std::string& switch_profile = "hpcc_switch",
                             const std::string& trust = "dscp") {
  Folder folder;
  Diagnostics diagnostics;
  folder.write("nic.json", R"({"profile": "hca", "name": "nic", "virtual_lanes": 8, "trust": ")" + trust +
                               R"(", "congestion_control": {)" + nic + "}}");
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", "generate": {"shape": "star", "hosts": 2, "rate": "100 Gbps",
                             "hca": "nic.json", "switch": ")" + switch_profile + "\"}}");
  load_scenario(folder.write("s.json", R"({"name": "s", "topology": "t.json", )" + flows + "}"), with_profiles(), diagnostics);
  EXPECT_EQ(text_of(diagnostics), "");
  std::string text;
  for (const Finding& warning : diagnostics.warnings()) text += warning.pointer + ": " + warning.text + "; " + warning.hint + "\n";
  return text;
}

TEST(Marking, traffic_that_no_switch_marks_is_a_warning_if_its_controller_needs_marks) {
  const std::string nv = R"("controller": "dcqcn-nv", "ecn_capable": true)";
  const std::string plain = R"("flows": [{"from": "h1", "to": "h0", "bytes": "1 MiB"})";
  EXPECT_EQ(traffic_warnings(nv, plain + "]"),
            "/flows/0: its packets have priority 0, and hpcc-switch marks 1-7: dcqcn-nv is not notified of congestion; "
            "give \"traffic_class\" 96 for priority 3, or mark this priority with \"marking\" of the switches' profile\n");
  const std::string marked = R"({"from": "h0", "to": "h1", "bytes": "1 MiB", "traffic_class": 96}, )";
  const std::string more = R"(, {"from": "h1", "to": "h0", "bytes": "2 MiB"}, {"from": "h0", "to": "h1", "bytes": "1 MiB"}])";
  EXPECT_EQ(traffic_warnings(nv, R"("flows": [)" + marked + plain.substr(plain.find('{')) + more),
            "/flows/1: the packets of these flows and of 2 other entries have priority 0, and hpcc-switch marks 1-7: dcqcn-nv is "
            "not notified of congestion; give \"traffic_class\" 96 for priority 3, or mark this priority with \"marking\" of the "
            "switches' profile\n");
  EXPECT_EQ(traffic_warnings(nv, R"("workloads": [{"pattern": "incast", "to": ["h0"], "size": "1 MiB"}])").substr(0, 14), "/workloads/0: ");
  EXPECT_EQ(traffic_warnings(nv, R"("flows": [{"from": "h1", "to": "h0", "bytes": "1 MiB", "traffic_class": 96}])"), "");
  EXPECT_EQ(traffic_warnings(nv, plain + "]", "spectrum"), "");
  EXPECT_EQ(traffic_warnings(nv, plain + "]", "ethernet_switch"), "") << "no marks at all are seen at once";
  EXPECT_EQ(traffic_warnings(R"("controller": "swift")", plain + "]"), "");
}

TEST(Pauses, traffic_in_another_lane_than_the_priority_that_the_switch_pauses_is_a_warning) {
  const std::string none = R"("controller": "none")";
  const auto flow = [](const std::string& keys) { return R"({"from": "h1", "to": "h0", "bytes": "1 MiB")" + keys + "}"; };
  const std::string classed = flow(R"(, "traffic_class": 104)");
  EXPECT_EQ(traffic_warnings(none, R"("flows": [)" + classed + "," + classed.substr(0, classed.size() - 1) + R"(, "start": "1 us"}])", "spectrum", "pcp"),
            "/flows/0: nic trusts VLAN tags and sends packets of service level 0 by lane 0, and spectrum trusts DSCP and gives traffic "
            "class 104 priority 3: its pauses do not stop these packets, and it drops what finds no space; the same of 1 other entry; give the profile of the "
            "adapters \"trust\": \"dscp\", or the traffic the \"service_level\" of that priority\n");
  EXPECT_EQ(traffic_warnings(none, R"("flows": [)" + classed + "]", "spectrum", "dscp"), "");
  EXPECT_EQ(traffic_warnings(none, R"("flows": [)" + flow(R"(, "traffic_class": 104, "service_level": 3)") + "]", "spectrum", "pcp"), "");
  EXPECT_EQ(traffic_warnings(none, R"("flows": [)" + flow("") + "]", "spectrum", "pcp"), "");
}

}  // namespace
}  // namespace verbatim::config
