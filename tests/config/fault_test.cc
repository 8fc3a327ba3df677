// Faults of scenarios and of the command line: resulting values, and findings for invalid ones.
#include "sim/config/tables.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

constexpr char kTopology[] = VERBATIM_SOURCE_DIR "/topologies/two_hosts.json";

std::string scenario(const std::string& faults) {
  return std::string(R"({"topology": ")") + kTopology +
         R"(", "programs": [{"host": "server", "command": "a"}], "faults": [)" + faults + "]}";
}

// Faults of links that the topology does not have.
TEST(Fault, is_not_looked_for_in_a_topology_that_is_wrong) {
  Folder folder;
  Diagnostics diagnostics;
  folder.write("t.json", R"({"name": "t", "hots": [{"name": "server"}, {"name": "client"}],
      "links": [{"a": "server", "b": "client", "rate": "EDR 4x", "length": "2 m"}]})");
  const auto spec = load_scenario(
      folder.write("s.json", R"({"topology": "t.json", "programs": [{"host": "server", "command": "a"}],
                                 "faults": [{"action": "drop", "from": "server"}]})"),
      with_profiles(), diagnostics);
  EXPECT_FALSE(spec.has_value());
  EXPECT_EQ(text_of(diagnostics).find("faults"), std::string::npos) << text_of(diagnostics);
}

std::string fault_findings(const std::string& faults) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(folder.write("s.json", scenario(faults)), with_profiles(), diagnostics);
  EXPECT_EQ(spec.has_value(), diagnostics.empty());
  return text_of(diagnostics);
}

TEST(Fault, every_key_arrives) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(
      folder.write(
          "s.json",
          scenario(R"({"action": "delay", "from": "client", "to": "leaf0:2", "opcode": "Send Only", "nth": 2,
                       "every": 3, "count": 0, "after": "1 ms", "delay": "5 us"},
                      {"action": "corrupt", "to": "client:1", "icrc": "valid", "byte": 9},
                      {"action": "link_down", "link": "leaf0:1", "at": "1 ms", "until": "2 ms"})")),
      with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  const FaultSpec& delay = spec->faults.at(0);
  EXPECT_EQ(delay.action, "delay");
  EXPECT_EQ(delay.end, (Endpoint{false, 1, 1})) << "the client's port";
  EXPECT_EQ(delay.opcode, "Send Only");
  EXPECT_EQ(delay.nth, 2);
  EXPECT_EQ(delay.every, 3);
  EXPECT_EQ(delay.count, 0);
  EXPECT_EQ(delay.after, Duration(1'000'000'000));
  EXPECT_EQ(delay.delay, Duration(5'000'000));
  EXPECT_EQ(spec->faults[1].end, (Endpoint{true, 0, 2})) << "what comes to the client leaves leaf0:2";
  EXPECT_EQ(spec->faults[1].icrc, "valid");
  EXPECT_EQ(spec->faults[1].byte, 9);
  EXPECT_EQ(spec->faults[2].end, (Endpoint{true, 0, 1}));
  EXPECT_EQ(spec->faults[2].at, Duration(1'000'000'000));
  EXPECT_EQ(spec->faults[2].until, Duration(2'000'000'000));
}

TEST(Fault, all_findings_at_once) {
  EXPECT_EQ(
      fault_findings(R"({"action": "loose", "from": "client"},
                        {"action": "drop", "from": "clint"},
                        {"action": "drop", "from": "client", "opcode": "Send only"},
                        {"action": "drop", "from": "client", "nth": 0, "count": -1},
                        {"action": "drop"},
                        {"action": "drop", "from": "client", "to": "server"},
                        {"action": "duplicate", "from": "client", "delay": "1 us", "link": "client"},
                        {"action": "delay", "to": "leaf0"},
                        {"action": "drop", "from": "client", "n": 3})"),
      "/faults/0/action: \"loose\" is not allowed here; allowed: \"drop\", \"duplicate\", \"corrupt\", "
      "\"delay\", \"mark\", \"link_down\", \"pause_storm\", \"device_fatal\"\n"
      "/faults/2/opcode: \"Send only\" is not allowed here; did you mean \"Send Only\"?\n"
      "/faults/3/nth: 0 is out of range; allowed: 1 to 9223372036854775807\n"
      "/faults/3/count: -1 is out of range; allowed: 0 to 9223372036854775807\n"
      "/faults/8/n: unknown key; a fault has the keys action, network, protocol, from, to, opcode, nth, "
      "every, count, rate, burst, burst_lengths, after, "
      "delay, icrc, byte, link, host, at, until, priorities\n"
      "/faults/1/from: no link has the end \"clint\"; did you mean \"client\"?\n"
      "/faults/4: the link is missing; name the end where packets leave as \"from\", or where they arrive as "
      "\"to\"\n"
      "/faults/5: no link joins \"client\" and \"server\"; the other end of \"client\" is \"leaf0:2\"\n"
      "/faults/6/link: a fault with the action \"duplicate\" has no \"link\"; it belongs to \"link_down\"; "
      "name an end of the link as \"from\" or \"to\"\n"
      "/faults/6/delay: a fault with the action \"duplicate\" has no \"delay\"; it belongs to \"delay\"\n"
      "/faults/7: the key \"delay\" is missing; give the delay of the packet, such as \"5 us\"\n"
      "/faults/7/to: no link has the end \"leaf0\"; name an end as the topology's links do, such as "
      "\"server\"\n");
}

TEST(Fault, of_chance_has_a_rate_and_maybe_bursts) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(
      folder.write("s.json", scenario(R"({"action": "drop", "from": "client", "rate": 1e-4},
                                         {"action": "drop", "to": "client", "rate": 0.25, "burst": 4, "burst_lengths": "geometric", "count": 7},
                                         {"action": "drop", "to": "client", "rate": 0},
                                         {"action": "drop", "to": "client", "nth": 3, "burst": 2})")),
      with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  EXPECT_EQ(spec->faults[0].rate, 100'000'000) << "of 10^12";
  EXPECT_EQ(spec->faults[0].times(), 0) << "no limit";
  EXPECT_EQ(spec->faults[0].burst, 1);
  EXPECT_EQ(spec->faults[1].rate, 250'000'000'000);
  EXPECT_EQ(spec->faults[1].burst, 4);
  EXPECT_EQ(spec->faults[1].burst_lengths, "geometric");
  EXPECT_EQ(spec->faults[1].times(), 7);
  EXPECT_TRUE(spec->faults[2].is_random()) << "never";
  EXPECT_FALSE(spec->faults[3].is_random());
  EXPECT_EQ(spec->faults[3].times(), 1);
}

TEST(Fault, findings_of_chance) {
  EXPECT_EQ(
      fault_findings(R"({"action": "drop", "from": "client", "rate": "1e-4"},
                        {"action": "drop", "from": "client", "rate": 1.5},
                        {"action": "drop", "from": "client", "rate": 1e-13},
                        {"action": "drop", "from": "client", "rate": -1, "burst": 0},
                        {"action": "drop", "from": "client", "rate": 0.5, "every": 2},
                        {"action": "drop", "from": "client", "burst_lengths": "random"},
                        {"action": "link_down", "link": "client", "rate": 0.5, "burst": 2},
                        {"action": "drop", "network": "management", "rate": 0.5})"),
      "/faults/0/rate: \"1e-4\" is a string where a number from 0 to 1 is expected; write it like 1e-4\n"
      "/faults/1/rate: 1.5 is out of range; allowed: 0 to 1; the least number above 0 is 1e-12\n"
      "/faults/2/rate: 1e-13 is out of range; allowed: 0 to 1; the least number above 0 is 1e-12\n"
      "/faults/3/rate: -1 is out of range; allowed: 0 to 1; the least number above 0 is 1e-12\n"
      "/faults/3/burst: 0 is out of range; allowed: 1 to 1000000\n"
      "/faults/5/burst_lengths: \"random\" is not allowed here; allowed: \"fixed\", \"geometric\"\n"
      "/faults/4/every: a fault has a \"rate\" or an \"every\", not both; \"rate\" is a probability, \"every\" a number of packets\n"
      "/faults/6/rate: a fault with the action \"link_down\" has no \"rate\"; it belongs to faults of packets\n"
      "/faults/6/burst: a fault with the action \"link_down\" has no \"burst\"; it belongs to faults of packets\n"
      "/faults/7/rate: a fault with the action \"drop\" has no \"rate\"; it belongs to faults of the fabric\n");
}

TEST(Fault, findings_of_links) {
  EXPECT_EQ(
      fault_findings(R"({"action": "link_down", "at": "1 us"},
                        {"action": "link_down", "link": "leaf0:7", "at": "2 us", "until": "2 us"},
                        {"action": "link_down", "link": "client", "from": "client", "nth": 2})"),
      "/faults/0: the key \"link\" is missing; name one of the link's ends\n"
      "/faults/1/until: the link would be up again at 2 us, not after it fails at 2 us; both are virtual "
      "times from the start of the run\n"
      "/faults/1/link: no link has the end \"leaf0:7\"; did you mean \"leaf0:1\"?\n"
      "/faults/2/from: a fault with the action \"link_down\" has no \"from\"; it belongs to faults of "
      "packets; a link fails in both directions\n"
      "/faults/2/nth: a fault with the action \"link_down\" has no \"nth\"; it belongs to faults of "
      "packets\n");
}

// Storm findings for an Ethernet star with a shared-memory switch, unless `generate` replaces it.
std::string storm_findings(const std::string& faults, const std::string& generate = R"(, "switch": "spectrum")", std::vector<FaultSpec>* found = nullptr) {
  Folder folder;
  Diagnostics diagnostics;
  folder.write("wide.json", R"({"profile": "hca", "name": "wide", "virtual_lanes": 8, "receive_buffer": "1 MiB"})");
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", "generate": {"shape": "star", "hosts": 2, "hca": "wide", "rate": "100 Gbps", "length": "5 m")" +
                             generate + "}}");
  const auto spec = load_scenario(folder.write("s.json", R"({"topology": "t.json", "flows": [{"from": "h0", "to": "h1", "bytes": "1 KiB"}], "faults": [)" + faults + "]}"),
                                  with_profiles(), diagnostics);
  if (spec && found != nullptr) *found = spec->faults;
  return text_of(diagnostics);
}

TEST(Fault, a_pause_storm_names_the_end_that_asks_for_pauses) {
  std::vector<FaultSpec> faults;
  EXPECT_EQ(storm_findings(R"({"action": "pause_storm", "from": "h1", "at": "1 ms", "until": "5 ms", "priorities": "3,5"},
                              {"action": "pause_storm", "to": "h1"},
                              {"action": "pause_storm", "from": "leaf0:1", "to": "h0"})",
                           R"(, "switch": "spectrum", "pfc": {"lossless_priorities": "3-5"})", &faults),
            "");
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[0].end, (Endpoint{false, 1, 1}));
  EXPECT_EQ(faults[0].storming_lanes, 1u << 3 | 1u << 5);
  EXPECT_EQ(faults[0].at, Duration(1'000'000'000));
  EXPECT_EQ(faults[0].until, Duration(5'000'000'000));
  EXPECT_EQ(faults[1].end, (Endpoint{true, 0, 2}));
  EXPECT_EQ(faults[1].storming_lanes, 7u << 3) << "all that are lossless";
  EXPECT_EQ(faults[2].end, (Endpoint{true, 0, 1}));
}

TEST(Fault, findings_of_pause_storms) {
  EXPECT_EQ(storm_findings(R"({"action": "pause_storm"},
                              {"action": "pause_storm", "from": "h1", "at": "5 ms", "until": "5 ms", "nth": 2, "link": "h1"},
                              {"action": "pause_storm", "from": "h1", "priorities": "2"},
                              {"action": "pause_storm", "from": "h1", "priorities": "8"},
                              {"action": "drop", "from": "h1", "priorities": "3"})",
                           R"(, "switch": "spectrum", "pfc": {"lossless_priorities": "3"})"),
            "/faults/0: the link is missing; name the end where pauses leave as \"from\", or where they arrive as \"to\"\n"
            "/faults/1/link: a fault with the action \"pause_storm\" has no \"link\"; it belongs to \"link_down\"; name the end that asks for pauses "
            "as \"from\"\n"
            "/faults/1/nth: a fault with the action \"pause_storm\" has no \"nth\"; it belongs to faults of packets\n"
            "/faults/1/until: the storm would be over at 5 ms, not after it begins at 5 ms; both are virtual times from the start of the run\n"
            "/faults/2/priorities: \"2\" has priorities that the cable does not pause; its lossless_priorities are \"3\", as far as both ends have "
            "lanes\n"
            "/faults/3/priorities: \"8\" is not a list of priorities, 0 to 7; write \"3\", \"3,4\" or \"0-7\"\n"
            "/faults/4/priorities: a fault with the action \"drop\" has no \"priorities\"; it belongs to \"pause_storm\"\n");
  EXPECT_EQ(storm_findings(R"({"action": "pause_storm", "from": "h1"})", R"(, "switch": "spectrum", "flow_control": "none")"),
            "/faults/0/from: the cable of \"h1\" has no pauses; give it \"flow_control\": \"pfc\" at both ends, or a switch whose ports share "
            "memory\n");
}

TEST(Fault, of_an_adapter_names_its_host) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(
      folder.write("s.json", scenario(R"({"action": "device_fatal", "host": "client", "at": "3 ms"})")), with_profiles(),
      diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  EXPECT_EQ(spec->faults[0].adapter_index, std::size_t{1});
  EXPECT_EQ(spec->faults[0].at, Duration(3'000'000'000));
}

TEST(Fault, of_a_further_adapter_names_its_host_and_device) {
  for (const std::string topology : {"rails_2_roce", "rails_4"}) {
    Folder folder;
    Diagnostics diagnostics;
    const std::string host = topology == "rails_4" ? "h1" : "client";
    const std::string file = R"({"topology": ")" VERBATIM_SOURCE_DIR "/topologies/" + topology + R"(.json",
        "programs": [{"host": ")" + host + R"(", "command": "true"}],
        "faults": [{"action": "device_fatal", "host": ")" + host + R"(/mlx5_1", "at": "3 ms"},
                   {"action": "drop", "from": ")" + host + R"(/mlx5_1"}]})";
    const auto spec = load_scenario(folder.write("s.json", file), with_profiles(), diagnostics);
    ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
    const std::size_t adapter = spec->topology.adapters_of(1).at(1);
    EXPECT_EQ(spec->faults[0].adapter_index, adapter);
    EXPECT_EQ(spec->faults[1].end, (Endpoint{false, adapter, 1}));
  }
}

TEST(Fault, findings_of_adapters) {
  EXPECT_EQ(
      fault_findings(R"({"action": "device_fatal", "at": "1 us"},
                        {"action": "device_fatal", "host": "clint", "until": "2 us"},
                        {"action": "device_fatal", "host": "client", "link": "client", "nth": 2},
                        {"action": "drop", "from": "client", "host": "client"},
                        {"action": "link_down", "link": "client", "host": "client"})"),
      "/faults/0: the key \"host\" is missing; name the host whose adapter fails\n"
      "/faults/1/until: a fault with the action \"device_fatal\" has no \"until\"; it belongs to faults of "
      "links; an adapter fails for good\n"
      "/faults/1/host: no host is named \"clint\"; did you mean \"client\"?\n"
      "/faults/2/link: a fault with the action \"device_fatal\" has no \"link\"; it belongs to faults of "
      "links; name the adapter's host as \"host\"\n"
      "/faults/2/nth: a fault with the action \"device_fatal\" has no \"nth\"; it belongs to faults of "
      "packets\n"
      "/faults/3/host: a fault with the action \"drop\" has no \"host\"; it belongs to \"device_fatal\"\n"
      "/faults/4/host: a fault with the action \"link_down\" has no \"host\"; it belongs to \"device_fatal\"\n");
}

TEST(Fault, of_the_management_network_names_hosts) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(
      folder.write("s.json", scenario(R"({"action": "drop", "network": "management", "protocol": "tcp",
                                          "from": "client", "nth": 2},
                                         {"action": "delay", "network": "management", "delay": "1 ms"})")),
      with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  EXPECT_EQ(spec->faults[0].from_host, std::size_t{1});
  EXPECT_EQ(spec->faults[0].to_host, std::nullopt);
  EXPECT_EQ(spec->faults[1].from_host, std::nullopt);
}

TEST(Fault, findings_of_the_management_network) {
  EXPECT_EQ(
      fault_findings(R"({"action": "corrupt", "network": "management"},
                        {"action": "drop", "network": "management", "from": "leaf0:1", "to": "serve"},
                        {"action": "delay", "network": "management", "opcode": "Send Only"},
                        {"action": "drop", "from": "client", "protocol": "udp"})"),
      "/faults/0/action: the management network has no fault \"corrupt\"; allowed: \"drop\" and \"delay\"\n"
      "/faults/1/from: no host is named \"leaf0:1\"; the management network joins hosts, such as "
      "\"server\"\n"
      "/faults/1/to: no host is named \"serve\"; did you mean \"server\"?\n"
      "/faults/2/opcode: a fault with the action \"delay\" has no \"opcode\"; it belongs to faults of the "
      "fabric\n"
      "/faults/2: the key \"delay\" is missing; give the delay of the packet, such as \"5 us\"\n"
      "/faults/3/protocol: a fault with the action \"drop\" has no \"protocol\"; it belongs to faults of "
      "the management network\n");
}

TEST(Fault, the_command_line_takes_one_as_text) {
  Diagnostics diagnostics;
  const auto topology = load_topology(kTopology, with_profiles(), diagnostics);
  ASSERT_TRUE(topology.has_value());
  EXPECT_TRUE(parse_fault(R"({"action": "drop", "from": "client"})", *topology, "--fault", diagnostics));
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_FALSE(parse_fault(R"({"action": "drop")", *topology, "--fault", diagnostics));
  EXPECT_FALSE(parse_fault(R"({"action": "drop", "from": "x"})", *topology, "--fault", diagnostics));
  ASSERT_EQ(diagnostics.findings().size(), 2u);
  EXPECT_EQ(diagnostics.findings()[1].file, "--fault");
  EXPECT_EQ(diagnostics.findings()[1].pointer, "/from");
}

TEST(Fault, programs_are_killed_after_they_start_and_not_all_are_in_the_background) {
  Folder folder;
  Diagnostics diagnostics;
  load_scenario(
      folder.write("s.json", std::string(R"({"topology": ")") + kTopology +
                                 R"(", "programs": [{"host": "server", "command": "a", "start": "2 ms",
                                               "kill": "1 ms", "background": true}]})"),
      with_profiles(), diagnostics);
  EXPECT_EQ(
      text_of(diagnostics),
      "/programs: every program is marked \"background\"; a background program is ended when the others "
      "have ended; leave \"background\" out of one program\n"
      "/programs/0/kill: the program is killed at 1 ms, before it starts; both are virtual times from the "
      "start of the run\n");
}

}  // namespace
}  // namespace verbatim::config
