// Exit codes and messages of `verbatim check` and of invalid command lines. No test here starts a program.
#include "tests/cli/command.h"
#include "tests/config/helpers.h"
#include "tests/config/shapes.h"

namespace verbatim::cli {
namespace {

using config::Folder;

TEST(Check, shipped_files_are_valid) {
  const Finished run = verbatim({"check", "topologies/two_hosts.json", "topologies/two_hosts_direct.json",
                                 "scenarios/rc_pingpong.json", "topologies/profiles/edr_hca.json",
                                 "topologies/profiles/edr_switch.json", "topologies/profiles/cpu.json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "topologies/two_hosts.json: a valid topology\n"
            "topologies/two_hosts_direct.json: a valid topology\n"
            "scenarios/rc_pingpong.json: a valid scenario\n"
            "topologies/profiles/edr_hca.json: a valid hca profile\n"
            "topologies/profiles/edr_switch.json: a valid switch profile\n"
            "topologies/profiles/cpu.json: a valid cpu profile\n");
  EXPECT_EQ(run.err, "");
}

// Profiles are found beside the executable, for any topology path and working directory.
TEST(Check, profiles_are_found_from_anywhere) {
  Folder folder;
  folder.write("my topology.json", R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}],
                                       "links": [{"a": "a", "b": "b", "rate": "EDR 4x"}]})");
  const Finished run = verbatim({"check", "my topology.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "my topology.json: a valid topology\n");
}

TEST(Check, all_findings_of_all_files_at_once) {
  Folder folder;
  folder.write("a.json", "{\"name\": \"t\",\n  \"hosts\": [}");
  folder.write("b.json", R"({"name": "t", "hosts": [{"name": "x", "hcaa": "edr_hca"}],
                             "links": [{"a": "x", "b": "x", "rate": "200 Gbp"}]})");
  const Finished run = verbatim({"check", "a.json", "none.json", "b.json"}, folder.path());
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(
      run.err,
      "a.json: line 2, column 13: this is not valid JSON: unexpected '}'; expected '[', '{', or a literal\n"
      "none.json: there is no such file; check the path\n"
      "b.json: /hosts/0/hcaa: unknown key; did you mean \"hca\"?\n"
      "b.json: /links/0/rate: \"200 Gbp\" is not a rate; did you mean \"200 Gbps\"?\n"
      "b.json: /links/0: both ends of the cable are at \"x\"; a cable joins two different devices\n"
      "verbatim: 5 findings\n");
}

// Four switches in a ring are no fat tree.
TEST(Check, what_no_routing_engine_can_route_is_refused_by_check_describe_and_run) {
  const std::string problem =
      "t.json: /routing_engine: the routing engine ftree cannot route this fabric: a fat tree has two to eight ranks of switches, and this fabric has 1; ";
  Folder folder;
  folder.write("t.json", config::ring_text({.more = R"(, "routing_engine": "ftree,no_fallback")"}));
  folder.write("s.json", R"({"topology": "t.json", "flows": [{"from": "h0-0", "to": "h1-0", "bytes": "1 KiB"}]})");
  for (const char* command : {"check", "describe", "run"}) {
    const Finished run = verbatim({command, std::string(command) == "run" ? "s.json" : "t.json"}, folder.path());
    EXPECT_EQ(run.code, 2) << command << run.err;
    EXPECT_NE(run.err.find(problem + "choose another engine, or leave out \"no_fallback\""), std::string::npos) << command << run.err;
  }
  folder.write("t.json", config::ring_text({.more = R"(, "routing_engine": "ftree")"}));
  const Finished run = verbatim({"run", "s.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find(problem + "minhop routes it, as OpenSM would have it"), std::string::npos) << run.err;
}

TEST(Check, one_good_and_one_bad_file) {
  Folder folder;
  folder.write("bad.json", "[1]");
  const Finished run = verbatim(
      {"check", std::string(VERBATIM_SOURCE_DIR) + "/topologies/two_hosts.json", "bad.json"}, folder.path());
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.out.find("two_hosts.json: a valid topology\n"), std::string::npos);
  EXPECT_EQ(run.err,
            "bad.json: this is neither a topology, nor a scenario, nor a profile; a topology has \"hosts\" and \"links\", or \"generate\"; a scenario has "
            "\"topology\" and \"programs\"; a profile has \"profile\": \"hca\", \"switch\" or \"cpu\"\n"
            "verbatim: 1 finding\n");
}

TEST(Check, hostile_files_are_findings_and_nothing_worse) {
  Folder folder;
  const std::string texts[] = {"",
                               "null",
                               "\"\"",
                               std::string(100'000, '['),
                               std::string(1000, '\xff'),
                               std::string("{\"hosts\": \0}", 12),
                               "{\"hosts\": 1e400, \"links\": [null, [], {}]}",
                               "{\"programs\": {}, \"topology\": \"/\"}",
                               "{\"programs\": [{}], \"topology\": \"s\"}",
                               "{\"hosts\": [{}], \"switches\": [{}], \"links\": [{}], \"partitions\": [{}], \"generate\": {}}",
                               "{\"hosts\": [{\"name\": \"a\", \"vlans\": [{}], \"further_adapters\": [{}, {}]}], \"link_layer\": \"roce\"}"};
  for (const std::string& text : texts) {
    folder.write("s", text);
    const Finished run = verbatim({"check", "s"}, folder.path());
    EXPECT_EQ(run.code, 2) << text.substr(0, 50) << run.err;
    EXPECT_NE(run.err.find("finding"), std::string::npos);
  }
}

// The file is valid; another machine may have the program.
TEST(Check, a_program_that_is_missing_here_is_a_warning) {
  config::Folder folder;
  folder.write("t.json", R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}], "links": [{"a": "a", "b": "b", "rate": "EDR 4x"}]})");
  folder.write("s.json", R"({"topology": "t.json", "programs": [{"host": "a", "command": "no-such-program"}, {"host": "b", "command": "true"}]})");
  const Finished run = verbatim({"check", "s.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "s.json: a valid scenario\n");
  EXPECT_EQ(run.err.find("s.json: /programs/0/command: warning: on host a: there is no program \"no-such-program\" in "), 0u) << run.err;
  EXPECT_EQ(run.err.find("/programs/1"), std::string::npos) << run.err;
}

struct Usage {
  std::vector<std::string> words;
  const char* message;
};

TEST(Usage, mistakes_get_exit_code_2_and_a_sentence) {
  const Usage kUsages[] = {
      {{}, "write `verbatim COMMAND`; the commands are run, new, import, explore, "},
      {{"lab"}, "write `verbatim lab COMMAND`; the commands are list, start, run, check; `verbatim lab --help`"},
      {{"lab", "strat"}, "the commands are list, start, run, check; did you mean start?"},
      {{"rum"}, "there is no verb \"rum\"; did you mean \"run\"?"},
      {{"check"}, "nothing to check; name files, or use --host"},
      {{"check", "--hots"}, "`verbatim check` has no option --hots; did you mean --host?"},
      {{"run", "--topolgy", "t.json", "s=true"}, "`verbatim run` has no option --topolgy; did you mean --topology?"},
      {{"lab", "run", "--traces=x"}, "`verbatim lab run` has no option --traces; did you mean --trace?"},
      {{"describe", "--zzz"}, "`verbatim describe` has no option --zzz; `verbatim describe --help` lists them"},
      {{"describe"}, "`verbatim describe` needs TOPOLOGY, topology file; see `verbatim describe --help`"},
      {{"replay", "a", "b"}, "`verbatim replay` takes no argument \"b\"; see `verbatim replay --help`"},
      {{"run", "--out"}, "--out: 1 required FOLDER missing; see `verbatim run --help`"},
      {{"describe", "none.json"}, "none.json: there is no such file"},
      {{"run", "--seed", "x", "s.json"}, "--seed: \"x\" is not a whole number from 0; see"},
      {{"run", "--seed", "-1", "s.json"}, "--seed"},
      {{"run", "--jobs", "0", "s.json"}, "--jobs: \"0\" is not a whole number from 1 to 4096; see"},
      {{"run", "--log", "loud", "s.json"}, "--log: \"loud\" is none of trace, debug, info, warn, error, off; see"},
      {{"run", "--freedom", "sepc", "s.json"}, "; did you mean spec?"},
      {{"run", "--check", "write-taget=warn", "s.json"}, "--check: there is no check write-taget; did you mean write-target?"},
      {{"run", "--check", "nothing-like=warn", "s.json"}, "there is no check nothing-like; names are all, missed-wakeup, "},
      {{"run", "--core", "-2", "s.json"}, "--core"},
  };
  for (const Usage& usage : kUsages) {
    const Finished run = verbatim(usage.words);
    EXPECT_EQ(run.code, 2) << usage.message;
    EXPECT_NE(run.err.find(usage.message), std::string::npos) << run.err;
    EXPECT_EQ(run.out, "");
  }
}

TEST(Usage, version_and_help_go_to_standard_output) {
  const Finished version = verbatim({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "verbatim 0.1.0\n");
  const Finished help = verbatim({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("describe"), std::string::npos);
  EXPECT_EQ(help.err, "");
}

TEST(Usage, a_full_disk_behind_standard_output_is_not_success) {
  const Finished run =
      run_command({"sh", "-c", "\"$0\" describe topologies/two_hosts.json >/dev/full", VERBATIM_PROGRAM});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err, "verbatim: standard output is not complete: No space left on device\n");
}

}  // namespace
}  // namespace verbatim::cli
