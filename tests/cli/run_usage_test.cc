// Bad input to `verbatim run`: exit code 2, a sentence for each mistake, and nothing started.
#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

TEST(RunUsage, no_or_wrong_arguments) {
  EXPECT_EQ(verbatim({"run"}).code, 2);
  EXPECT_EQ(verbatim({"run", "--topology", kTopology}).code, 2);
  const Finished run = verbatim({"run", "server=true"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err,
            "command line: \"server=true\" needs a topology, whose hosts run programs; write `verbatim run --topology TOPOLOGY.json "
            "server='true'`, or `verbatim run SCENARIO.json`\n"
            "verbatim: 1 finding; nothing was started\n");
}

TEST(RunUsage, all_mistakes_at_once) {
  config::Folder folder;
  const Finished run = verbatim({"run", "--topology", kTopology, "--time-limit", "10 parsecs", "sever=true",
                                 "client", "server=a|b", "client=no-such-program", "client=", "server=true"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  for (const char* message : {"command line: the topology has no host \"sever\"; did you mean \"server\"?\n",
                              "command line: \"client\" is not of the form HOST=COMMAND; write it like",
                              "command line: \"server=a|b\": the character | has a meaning only to a shell",
                              "command line: \"client=\" names no command;",
                              "--time-limit: \"10 parsecs\" is not a duration; units are s, ms, us, ns, ps\n",
                              "no-such-program", "verbatim: 6 findings; nothing was started\n"}) {
    EXPECT_NE(run.err.find(message), std::string::npos) << message << " in:\n" << run.err;
  }
}

TEST(RunUsage, a_limit_without_a_unit_is_in_seconds) {
  const Finished run = verbatim({"run", "--topology", kTopology, "--time-limit", "10", "server=true"});
  EXPECT_EQ(run.err, "--time-limit: \"10\" has no unit; write it with a unit, such as \"10 s\"\nverbatim: 1 finding; nothing was started\n");
}

TEST(RunUsage, a_name_in_braces_without_a_range_is_warned_of) {
  const Finished run = verbatim({"run", "--topology", kTopology, "server=echo {n} {{m}} {a b}", "client=awk '{print}' /dev/null"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("{n} in a command is text, since nothing gives its range; for a number write --range n=LEAST..MOST\n"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("{print}"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("{m}"), std::string::npos) << run.err;
  EXPECT_EQ(verbatim({"run", "--topology", kTopology, "--range", "n=1..2", "server=echo {n}"}).err.find("is text"), std::string::npos);
}

TEST(RunUsage, a_file_apart_from_its_option_is_told_how_it_is_given) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "--explain-latency", "tables.txt", "scenario.json"},
        std::vector<std::string>{"run", "--topology", kTopology, "--explain-latency", "tables.txt", "server=true"}}) {
    const Finished run = verbatim(arguments);
    EXPECT_EQ(run.code, 2);
    EXPECT_NE(run.err.find("; a file for the tables is given as --explain-latency=FILE\n"), std::string::npos)
        << run.err;
  }
  EXPECT_EQ(verbatim({"run", "server=true"}).err.find("--explain-latency"), std::string::npos);
}

TEST(RunUsage, two_results_in_one_file_are_refused) {
  config::Folder folder;
  const std::string file = folder.path() + "/results";
  const Finished run = verbatim({"run", "--topology", kTopology, "--trace", file, "--explain-latency=" + file, "server=true"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, "--explain-latency: \"" + file + "\" is already the file of --trace; name another\n"
                     "verbatim: 1 finding; nothing was started\n");
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(verbatim({"run", "--topology", kTopology, "--trace", "/dev/null", "--pcap", "/dev/null", "server=true"}).code, 0);
}

TEST(RunUsage, background_on_the_command_line) {
  const Finished run = verbatim({"run", "--topology", kTopology, "server=sleep 100 &", "client=sleep 1"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("virtual time 1.1000"), std::string::npos) << run.err;
  const Finished nothing_else = verbatim({"run", "--topology", kTopology, "server=sleep 100 &"});
  EXPECT_EQ(nothing_else.code, 2);
  EXPECT_NE(nothing_else.err.find("command line: every program is marked \"background\"; "),
            std::string::npos)
      << nothing_else.err;
}

TEST(RunUsage, programs_that_cannot_be_simulated_are_refused_before_anything_starts) {
  config::Folder folder;
  const std::string text = folder.write("text", "not a program\n");
  const std::string mark = folder.path() + "/mark";
  const Finished run = verbatim({"run", "--topology", kTopology, "server=touch " + mark,
                                 "client=no-such-program", "client=" + text, "client=/"});
  EXPECT_EQ(run.code, 2);
  EXPECT_FALSE(std::filesystem::exists(mark)) << "something was started";
  EXPECT_NE(run.err.find("verbatim: 3 findings; nothing was started\n"), std::string::npos) << run.err;
}

TEST(RunUsage, scenario_findings_name_the_pointer) {
  config::Folder folder;
  folder.write("s.json", R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/two_hosts.json",
                             "programs": [{"host": "server", "command": "true"}, {"host": "client", "command": "no-such-program"}]})");
  const Finished run = verbatim({"run", "s.json"}, folder.path());
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err.find("s.json: /programs/1/command: on host client: there is no program \"no-such-program\""), 0u) << run.err;
}

TEST(RunUsage, unwritable_results_are_found_before_the_start) {
  config::Folder folder;
  const std::string mark = folder.path() + "/mark";
  const std::string file = folder.write("file", "");
  Finished run = verbatim({"run", "--topology", kTopology, "--out", file + "/out", "server=touch " + mark});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("nothing was started"), std::string::npos) << run.err;
  run = verbatim(
      {"run", "--topology", kTopology, "--trace", folder.path() + "/none/trace", "server=touch " + mark});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("nothing was started"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(mark));
}

}  // namespace
}  // namespace verbatim::cli
