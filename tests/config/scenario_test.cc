#include <gtest/gtest.h>

#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string with(const std::string& programs, const std::string& more = "") {
  return R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/two_hosts.json", "programs": [)" + programs +
         "]" + more + "}";
}

std::string scenario_findings(const std::string& text) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(folder.write("s.json", text), with_profiles(), diagnostics);
  EXPECT_EQ(spec.has_value(), diagnostics.empty());
  std::string result = text_of(diagnostics);
  if (const std::size_t at = result.find(folder.path()); at != std::string::npos) {
    result.replace(at, folder.path().size(), "SOMEWHERE");
  }
  return result;
}

TEST(Scenario, shipped_one_says_what_the_readme_says) {
  Diagnostics diagnostics;
  const auto spec = load_scenario(VERBATIM_SOURCE_DIR "/scenarios/rc_pingpong.json", {}, diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  ASSERT_EQ(spec->programs.size(), 2u);
  EXPECT_EQ(spec->programs[0].command, (std::vector<std::string>{"ibv_rc_pingpong"}));
  EXPECT_EQ(spec->programs[1].command, (std::vector<std::string>{"ibv_rc_pingpong", "server"}));
  EXPECT_EQ(spec->programs[1].start, Duration(100'000'000'000));
  EXPECT_EQ(spec->programs[1].host_index, 1u);
  EXPECT_EQ(spec->topology.name, "two_hosts");
}

TEST(Scenario, every_key_arrives) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(
      folder.write("s.json",
                   with(R"({"host": "client", "command": ["a", "b c"], "start": "1 us", "env": {"X": "1=2"},
                                      "cwd": ".", "expect_exit": 3, "expect_output": ["x", "y"]},
                                     {"host": "server", "command": "a 'b c'", "expect_exit": "SIGSEGV"})",
                        R"(, "seed": 9, "time_limit": "2 s", "name": "n", "description": "d",
                                     "freedom": "spec", "spec": {"faults": 2, "failing_calls": 3, "failures": 4, "accesses": true},
                                     "expect": {"outcome": "deadlock", "digest": "0123456789abcdef0123456789abcdef",
                                                "virtual_time_max": "3 s"})")),
      with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  const ProgramSpec& first = spec->programs.at(0);
  EXPECT_EQ(first.command, (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(first.start, Duration(1'000'000));
  EXPECT_EQ(first.environment.at("X"), "1=2");
  EXPECT_EQ(first.working_directory, folder.path());
  EXPECT_EQ(first.expect_exit, "3");
  EXPECT_EQ(first.expect_output, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(spec->programs.at(1).command, first.command);
  EXPECT_EQ(spec->programs.at(1).expect_exit, "SIGSEGV");
  EXPECT_EQ(spec->seed, 9);
  EXPECT_EQ(spec->freedom, "spec");
  EXPECT_EQ(spec->spec.faults, 2);
  EXPECT_EQ(spec->spec.failing_calls, 3);
  EXPECT_EQ(spec->spec.failures, 4);
  EXPECT_TRUE(spec->spec.accesses);
  EXPECT_EQ(spec->time_limit, Duration(2'000'000'000'000));
  EXPECT_EQ(spec->expect.outcome, "deadlock");
  EXPECT_EQ(spec->expect.virtual_time_max, Duration(3'000'000'000'000));
}

TEST(Scenario, findings_of_programs) {
  EXPECT_EQ(scenario_findings(with("")),
            "/programs: there is no program; add at least one {\"host\": …, \"command\": …}, or \"flows\" with "
            "{\"from\": …, \"to\": …, \"bytes\": …}, or \"workloads\" with {\"pattern\": …, \"size\": …}\n");
  EXPECT_EQ(scenario_findings(with(
                R"({"host": "sever", "command": "a"}, {"host": "x.y", "command": ""}, {"command": "a | b"},
                             {"host": "client", "command": ["a", 7], "expect_exit": 256, "cwd": "nowhere"})")),
            "/programs/1/command: the command is empty; write it like \"ibv_rc_pingpong server\"\n"
            "/programs/2/command: the character | has a meaning only to a shell, and commands run without "
            "one; or write "
            "the command as a list of words\n"
            "/programs/2: the key \"host\" is missing; a host of the topology\n"
            "/programs/3/command/1: 7 is a number where a string is expected\n"
            "/programs/3/expect_exit: 256 is out of range; an exit code is 0 to 255\n"
            "/programs/0/host: the topology has no host \"sever\"; did you mean \"server\"?\n"
            "/programs/1/host: the topology has no host \"x.y\"; its hosts are server, client\n"
            "/programs/3/cwd: \"SOMEWHERE/nowhere\" is not a directory; make it, or leave the key out\n");
}

TEST(Scenario, findings_of_expectations) {
  EXPECT_EQ(scenario_findings(with(R"({"host": "client", "command": "a", "expect_exit": "SIGFOO"})",
                          R"(, "seed": -1, "expect": {"outcome": "dead-lock", "digest": "XYZ"})")),
            "/programs/0/expect_exit: \"SIGFOO\" is neither an exit code nor a signal; write 0 to 255, or a "
            "name such as "
            "\"SIGSEGV\"\n"
            "/seed: -1 is out of range; allowed: 0 to 9223372036854775807\n"
            "/expect/outcome: \"dead-lock\" is not allowed here; did you mean \"deadlock\"?\n"
            "/expect/digest: \"XYZ\" is not a digest; a digest has 32 digits 0-9a-f, as `verbatim run` "
            "prints it\n");
}

TEST(Scenario, topology_is_beside_the_scenario) {
  Folder folder;
  Diagnostics diagnostics;
  load_scenario(folder.write("deep/s.json",
                             R"({"topology": "../t.json", "programs": [{"host": "a", "command": "x"}]})"),
                with_profiles(), diagnostics);
  ASSERT_EQ(diagnostics.findings().size(), 1u);
  EXPECT_EQ(diagnostics.findings()[0].text, "there is no file \"" + folder.path() + "/t.json\"");
  folder.write("t.json", "{\"hosts\": 1}");
  Diagnostics second;
  load_scenario(folder.path() + "/deep/s.json", with_profiles(), second);
  EXPECT_EQ(second.findings().at(0).file, folder.path() + "/t.json")
      << "findings name the file they are about";
}

TEST(Scenario, a_topology_instead_of_a_scenario_is_explained) {
  Diagnostics diagnostics;
  load_scenario(VERBATIM_SOURCE_DIR "/topologies/two_hosts.json", with_profiles(), diagnostics);
  EXPECT_EQ(text_of(diagnostics),
            "this is a topology, not a scenario; write `verbatim run --topology " VERBATIM_SOURCE_DIR
            "/topologies/two_hosts.json server='COMMAND'`\n");
}

TEST(Beside, paths_meet) {
  EXPECT_EQ(beside("scenarios/a.json", "../topologies/t.json"), "topologies/t.json");
  EXPECT_EQ(beside("a.json", "t.json"), "t.json");
  EXPECT_EQ(beside("a.json", "../t.json"), "../t.json");
  EXPECT_EQ(beside("../a.json", "../t.json"), "../../t.json");
  EXPECT_EQ(beside("/x/a.json", "../../t.json"), "/../t.json");
  EXPECT_EQ(beside("x/a.json", "/t.json"), "/t.json");
  EXPECT_EQ(beside("x/y/a.json", "./t.json"), "x/y/t.json");
  EXPECT_EQ(beside("x/y/a.json", "."), "x/y");
  EXPECT_EQ(beside("a.json", "."), ".");
  EXPECT_EQ(beside("/a.json", "."), "/.");
}

}  // namespace
}  // namespace verbatim::config
