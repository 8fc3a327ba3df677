// Common usage errors and their messages: place, error, correction. No test starts a program.
#include <filesystem>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using config::Folder;

// A folder with a topology, a scenario, a program and outputs of runs.
class Desk {
 public:
  Desk() {
    const std::string two_hosts = R"({"name": "fabric", "hosts": [{"name": "server"}, {"name": "client"}],
        "links": [{"a": "server", "b": "client", "rate": "EDR 4x"}]})";
    folder_.write("fabric.json", two_hosts);
    folder_.write("test.json", R"({"topology": "fabric.json", "programs": [{"host": "server", "command": "true"}]})");
    folder_.write("lab/scenario.json", R"({"topology": "../fabric.json", "programs": [{"host": "server", "command": "true"}]})");
    folder_.write("results/run.json", R"({"digest": "0", "virtual_time_ps": 1, "programs": []})");
    folder_.write("crash.replay", R"({"replay": 1, "decisions": []})");
    folder_.write("run.rec", "verbatim-recording 1\n");
    folder_.write("trace.txt", "12.500 us  client  packet-transmitted\n");
    folder_.write("notes.txt", "my notes\n");
    fs::copy_file("/bin/true", folder_.path() + "/app");
    fs::permissions(folder_.write("start.sh", "#!/bin/sh\n"), fs::perms::owner_all);
  }
  const Folder& folder() const { return folder_; }

 private:
  Folder folder_;
};

struct Mistake {
  std::vector<std::string> typed;
  std::string told;  // standard error without its last line
};

void expect_reported(const Desk& desk, const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    std::string typed;
    for (const std::string& word : mistake.typed) typed += word + " ";
    const Finished run = verbatim(mistake.typed, desk.folder().path());
    EXPECT_EQ(run.code, 2) << typed;
    EXPECT_EQ(run.out, "") << typed;
    const std::size_t last = run.err.rfind("verbatim: ");
    EXPECT_EQ(run.err.substr(0, last), mistake.told) << typed;
    EXPECT_NE(run.err.find(" finding", last), std::string::npos) << typed << run.err;
  }
}

TEST(Mistakes, a_program_where_a_scenario_is_expected) {
  const std::string form = "to run it on a simulated host, write `verbatim run --topology TOPOLOGY.json HOST=";
  expect_reported(
      Desk(),
      {{{"run", "./app"}, "./app: this is a program, not a scenario; " + form + "'./app'`\n"},
       {{"run", "app"}, "app: this is a program, not a scenario; " + form + "'./app'`\n"},
       {{"run", "./start.sh"}, "./start.sh: this is a script, not a scenario; " + form + "'./start.sh'`\n"},
       {{"run", "./app", "server"}, "command line: \"./app\" is a program, not a scenario; " + form + "'./app server'`\n"},
       {{"run", "true"}, "command line: \"true\" is a program, not a scenario; " + form + "'true'`\n"},
       {{"run", "server=./app"},
        "command line: \"server=./app\" needs a topology, whose hosts run programs; write `verbatim run --topology TOPOLOGY.json "
        "server='./app'`, or `verbatim run SCENARIO.json`\n"},
       {{"explore", "./app"},
        "./app: this is a program, not a scenario; to run it on a simulated host, write `verbatim explore --topology TOPOLOGY.json "
        "HOST='./app'`\n"},
       {{"run", "--topology", "./app", "server=./app"}, "./app: this is a program, not a topology; " + form + "'./app'`\n"},
       {{"run", "--topology", "fabric.json", "./app"},
        "command line: \"./app\" is not of the form HOST=COMMAND; write it like server='./app'\n"},
       {{"describe", "app"}, "app: this is a program, not a topology; " + form + "'./app'`\n"},
       {{"check", "app"}, "app: this is a program, not a topology, scenario or profile; " + form + "'./app'`\n"}});
}

TEST(Mistakes, one_kind_of_file_where_another_is_expected) {
  const Desk desk;
  expect_reported(
      desk,
      {{{"run", "fabric.json"},
        "fabric.json: this is a topology, not a scenario; write `verbatim run --topology fabric.json server='COMMAND'`\n"},
       {{"explore", "fabric.json"},
        "fabric.json: this is a topology, not a scenario; write `verbatim explore --topology fabric.json server='COMMAND'`\n"},
       {{"run", "--topology", "test.json", "server=true"},
        "test.json: this is a scenario, not a topology; write `verbatim run test.json` without --topology, or name its topology: --topology "
        "fabric.json\n"},
       {{"run", "--topology", "fabric.json", "test.json"},
        "command line: \"test.json\" is not of the form HOST=COMMAND; a scenario names its topology itself: `verbatim run test.json`\n"},
       {{"describe", "lab/scenario.json"},
        "lab/scenario.json: this is a scenario, not a topology; its topology is another file: `verbatim describe fabric.json`\n"},
       {{"describe", "run.rec"},
        "run.rec: this is the recording of a run, not a topology; `verbatim explain run.rec` and `verbatim report run.rec` show it\n"},
       {{"run", "run.rec"},
        "run.rec: this is the recording of a run, not a scenario; `verbatim explain run.rec` and `verbatim report run.rec` show it\n"},
       {{"run", "trace.txt"},
        "trace.txt: this is the trace of a run, not a scenario; `verbatim ladder trace.txt` and `verbatim explain trace.txt` show it\n"},
       {{"run", "crash.replay"}, "crash.replay: this is a replay file, not a scenario; `verbatim replay crash.replay` runs it again\n"},
       {{"check", "results/run.json"},
        "results/run.json: this is the report of a run, not a topology, scenario or profile; `verbatim explain results/run.json` says how it "
        "ended\n"}});
  for (const char* profile : {"edr_hca", "edr_switch", "cpu"}) {
    const std::string path = std::string(VERBATIM_SOURCE_DIR "/topologies/profiles/") + profile + ".json";
    const Finished run = verbatim({"run", path});
    EXPECT_EQ(run.code, 2);
    EXPECT_NE(run.err.find(" profile, not a scenario; profiles are named by the hosts and switches of a topology; `verbatim check " + path),
              std::string::npos)
        << run.err;
  }
}

TEST(Mistakes, files_that_are_not_there_or_no_files) {
  expect_reported(Desk(),
              {{{"run", "tset.json"}, "tset.json: there is no such file; did you mean \"test.json\"?\n"},
               {{"run", "lab/scenari.json"}, "lab/scenari.json: there is no such file; did you mean \"lab/scenario.json\"?\n"},
               {{"describe", "none.json"}, "none.json: there is no such file; check the path\n"},
               {{"run", "lab"}, "lab: is a folder, not a file; did you mean \"lab/scenario.json\"?\n"},
               {{"run", "results"}, "results: is a folder, not a file; it has the results of a run: `verbatim explain results`\n"},
               {{"check", "."}, ".: is a folder, not a file; name a file in it\n"},
               {{"run", "a.json", "b.json"},
                "command line: 2 arguments where one scenario is expected; write `verbatim run SCENARIO.json`, or `verbatim run --topology "
                "TOPOLOGY.json HOST=COMMAND …`\n"}});
}

TEST(Mistakes, in_a_topology) {
  Desk desk;
  desk.folder().write("ring.json", R"({"name": "r", "generate": {"shape": "ring", "hosts": 4, "rate": "EDR"}})");
  desk.folder().write("bad.json", R"({"name": "bad", "hosts": [{"name": "a", "hca": "conectx5"}, {"name": "b", "hca": "conectx5"}, {"name": "a"}],
      "links": [{"a": "a", "b": "sw:1", "rate": "100 GB"}, {"a": "b", "b": "sw:1", "rate": "100"}], "switchs": [{"name": "sw"}]})");
  expect_reported(
      desk,
      {{{"check", "ring.json"}, "ring.json: /generate/shape: \"ring\" is not allowed here; allowed: \"star\", \"leaf_spine\", \"fat_tree\", "
       "\"rail\", \"dragonfly\", \"dragonfly_plus\", \"torus\", \"hyperx\"\n"},
       // Errors of several kinds, reported at once.
       {{"check", "bad.json"},
        "bad.json: /links/0/rate: \"100 GB\" is not a rate; B means bytes, and rates count bits: 100 GB is \"800 Gbps\"\n"
        "bad.json: /links/1/rate: \"100\" has no unit; units are Tbps, Gbps, Mbps, kbps, bps, for example \"100 Gbps\"\n"
        "bad.json: /switchs: unknown key; did you mean \"switches\"?\n"
        "bad.json: /hosts/0/hca: there is no profile \"conectx5\"; did you mean \"connectx5\"? the adapter profiles are connect_ib, "
        "connectx3, connectx4_edr, connectx5, connectx6_hdr, connectx7_ndr, edr_hca, edr_light, edr_roce, edr_roce_light, qdr_hca; or name a file, relative to this one\n"
        "bad.json: /hosts/2/name: the name \"a\" is already that of /hosts/0; give every host and switch a name of its own\n"
        "bad.json: /links/0/b: there is no host or switch \"sw\"; name one of \"hosts\" or \"switches\"\n"
        "bad.json: /links/1/b: there is no host or switch \"sw\"; name one of \"hosts\" or \"switches\"\n"}});
}

TEST(Mistakes, in_a_scenario) {
  Desk desk;
  desk.folder().write("s.json", R"({"topology": "fabrik.json", "programs": [{"host": "server", "command": "no-such-program"}]})");
  desk.folder().write("t.json", R"({"topology": "test.json", "programs": [{"host": "server", "command": "true"}]})");
  desk.folder().write("u.json", R"({"topology": "fabric.json", "programs": [{"host": "sever", "command": "true | cat", "strat": "5 s"},
      {"host": "client", "command": "./nothing", "start": "5"}], "time_limit": 10})");
  const Finished of_topology = verbatim({"run", "s.json"}, desk.folder().path());
  EXPECT_EQ(of_topology.err,
            "s.json: /topology: there is no file \"fabrik.json\"; name a topology's file, relative to the scenario's folder\n"
            "s.json: /programs/0/command: on host server: there is no program \"no-such-program\" in "
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
            "verbatim: 2 findings; nothing was started\n");
  expect_reported(desk, {{{"run", "t.json"},
                      "t.json: /topology: \"test.json\": this is a scenario, not a topology; name a topology's file, relative to the "
                      "scenario's folder\n"}});
  const Finished all = verbatim({"run", "u.json", "--time-limit", "soon"}, desk.folder().path());
  EXPECT_EQ(all.code, 2);
  for (const char* told : {"u.json: /programs/0/command: the character | has a meaning only to a shell",
                           "u.json: /programs/0/strat: unknown key; did you mean \"start\"?\n",
                           "u.json: /programs/1/start: \"5\" has no unit; ",
                           "u.json: /time_limit: 10 has no unit; ",
                           "u.json: /programs/0/host: the topology has no host \"sever\"; did you mean \"server\"?\n",
                           "u.json: /programs/1/command: on host client: ",
                           "--time-limit: \"soon\" is not a duration; ",
                           "verbatim: 7 findings; nothing was started\n"}) {
    EXPECT_NE(all.err.find(told), std::string::npos) << told << " in:\n" << all.err;
  }
}

TEST(Mistakes, a_fabric_that_no_device_can_be_runs_with_one_warning) {
  Desk desk;
  desk.folder().write("fast.json", R"({"name": "f", "hosts": [{"name": "a"}, {"name": "b"}], "links": [{"a": "a", "b": "b", "rate": "HDR 4x"}]})");
  const std::string warning =
      "/links/0/rate: HDR 4x (200 Gbps) is faster than the adapter of \"a\" (the same at 1 other link): profile \"edr_hca\" has at most EDR 4x (100 "
      "Gbps); choose a slower link, or a profile of a faster device\n";
  const Finished checked = verbatim({"check", "fast.json", "fast.json"}, desk.folder().path());
  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(checked.err.find("warning: HDR 4x"), checked.err.rfind("warning: HDR 4x")) << checked.err;
  EXPECT_EQ(checked.err, "fast.json: /links/0/rate: warning: " + warning.substr(warning.find("HDR")));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "--topology", "fast.json", "a=true"},
                                                {"run", "--verify", "--topology", "fast.json", "a=true"}}) {
    const Finished run = verbatim(words, desk.folder().path());
    EXPECT_EQ(run.code, 0) << run.err;
    const std::size_t at = run.err.find("verbatim [warning] fast.json: " + warning);
    EXPECT_NE(at, std::string::npos) << run.err;
    EXPECT_EQ(at, run.err.rfind("verbatim [warning] fast.json: ")) << run.err;
  }
  EXPECT_EQ(verbatim({"run", "--quiet", "--topology", "fast.json", "a=true"}, desk.folder().path()).err, "");
}

}  // namespace
}  // namespace verbatim::cli
