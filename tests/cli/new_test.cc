// Results of `verbatim new` can be run at once from every folder; programs beside a scenario are found from
// every folder.
#include <sys/stat.h>

#include <set>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using config::Folder;

std::string content(const std::string& path) {
  config::Diagnostics diagnostics;
  return config::read_file(path, diagnostics).value_or("");
}

std::string digest_of(const Finished& run) {
  const std::size_t at = run.err.find("digest ");
  return at == run.err.npos ? "no digest in: " + run.err : run.err.substr(at, 39);
}

TEST(New, two_hosts_run_at_once) {
  Folder folder;
  const Finished made = verbatim({"new", "lab"}, folder.path());
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out,
            "lab/topology.json: 2 hosts, star (all hosts at one switch), EDR 4x\n"
            "lab/scenario.json: ibv_rc_pingpong, on every second host the client of the one before; put in your own program\n"
            "lab/README.md: how\n"
            "next: verbatim run lab/scenario.json\n");
  const Finished run = verbatim({"run", "lab/scenario.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("client| 8192000 bytes in"), std::string::npos) << run.out;
  EXPECT_EQ(run.err.find("warning"), std::string::npos) << run.err;
}

// Paths in the folder are relative: it can be moved and named by any path, and the digest stays the same.
TEST(New, the_folder_runs_by_every_path_and_can_be_moved) {
  Folder folder;
  ASSERT_EQ(verbatim({"new", "here/my lab"}, folder.path()).code, 0);
  const std::string there = folder.path() + "/here/my lab";
  fs::create_directory_symlink("here/my lab", folder.path() + "/link");
  fs::create_directories(folder.path() + "/a/b");
  std::set<std::string> digests;
  digests.insert(digest_of(verbatim({"run", "scenario.json"}, there)));
  digests.insert(digest_of(verbatim({"run", "here/my lab/scenario.json"}, folder.path())));
  digests.insert(digest_of(verbatim({"run", "link/scenario.json"}, folder.path())));
  digests.insert(digest_of(verbatim({"run", there + "/scenario.json"}, "/")));
  digests.insert(digest_of(verbatim({"run", "../../link/scenario.json"}, folder.path() + "/a/b")));
  fs::rename(there, folder.path() + "/moved");
  digests.insert(digest_of(verbatim({"run", "moved/scenario.json"}, folder.path())));
  EXPECT_EQ(digests.size(), 1u) << *digests.begin() << "\n" << *digests.rbegin();
  EXPECT_EQ(digests.begin()->substr(0, 7), "digest ");
}

TEST(New, congestion_and_oversubscription_are_options_and_the_flow_control_is_said) {
  Folder folder;
  const Finished plain = verbatim({"new", "plain", "--shape", "fat_tree", "--hosts", "16", "--link-layer", "roce"}, folder.path());
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_NE(plain.out.find("100 Gbps RoCEv2 with credits instead of PFC, and without ECN\n"), std::string::npos) << plain.out;
  const Finished made = verbatim({"new", "tree", "--shape", "fat_tree", "--hosts", "16", "--link-layer", "roce", "--pfc", "--controller", "hpcc",
                                  "--oversubscription", "2:1"},
                                 folder.path());
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("RoCEv2 with PFC and ECN, oversubscription 2:1, controller hpcc\n"), std::string::npos) << made.out;
  const Finished described = verbatim({"describe", "tree/topology.json"}, folder.path());
  EXPECT_NE(described.out.find("congestion control hpcc"), std::string::npos) << described.out;
  EXPECT_EQ(verbatim({"run", "--quiet", "tree/scenario.json"}, folder.path()).code, 0);
  const Finished star = verbatim({"new", "star", "--link-layer", "roce", "--pfc"}, folder.path());
  EXPECT_EQ(star.code, 0) << star.err;
  EXPECT_EQ(verbatim({"run", "--quiet", "star/scenario.json"}, folder.path()).code, 0);
  const Finished refused = verbatim({"new", "x", "--pfc", "--controller", "hpc", "--oversubscription", "much"}, folder.path());
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--pfc: links of InfiniBand have credits"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--controller: \"hpc\" is not a controller; did you mean \"hpcc\"?"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--oversubscription: \"much\" is not a ratio of ports"), std::string::npos) << refused.err;
}

struct Shape {
  std::vector<std::string> options;
  const char* describes;
};

TEST(New, every_shape_and_rate_is_valid_without_a_warning) {
  const Shape kShapes[] = {
      {{"--shape", "direct"}, "infiniband, 2 hosts, 0 switches, 1 link\n"},
      {{"--shape", "direct", "--link-layer", "roce"}, "roce, 2 hosts, 0 switches, 1 link\n"},
      {{"--shape", "star", "--hosts", "3"}, "infiniband, 3 hosts, 1 switch, 3 links\n"},
      {{"--shape", "star", "--hosts", "36"}, "infiniband, 36 hosts, 1 switch, 36 links\n"},
      {{"--shape", "leaf_spine", "--hosts", "3"}, "infiniband, 3 hosts, 3 switches, 5 links\n"},
      {{"--shape", "leaf_spine", "--hosts", "16", "--link-layer", "roce"}, "roce, 16 hosts, 6 switches, 24 links\n"},
      {{"--shape", "leaf_spine", "--hosts", "65"}, "infiniband, 65 hosts, 13 switches, 105 links\n"},
      {{"--rate", "QDR"}, "infiniband, 2 hosts"},
      {{"--rate", "FDR 4x"}, "infiniband, 2 hosts"},
      {{"--rate", "100 Gbps"}, "infiniband, 2 hosts"},
      {{"--rate", "hdr"}, "infiniband, 2 hosts"},
      {{"--rate", "NDR 4x", "--hosts", "64", "--shape", "star"}, "infiniband, 64 hosts"},
      {{"--rate", "25 Gbps", "--link-layer", "roce"}, "roce, 2 hosts"}};
  Folder folder;
  for (std::size_t i = 0; i < std::size(kShapes); ++i) {
    const std::string name = "n" + std::to_string(i);
    std::vector<std::string> words = {"new", name};
    words.insert(words.end(), kShapes[i].options.begin(), kShapes[i].options.end());
    const Finished made = verbatim(words, folder.path());
    EXPECT_EQ(made.code, 0) << made.err;
    const Finished checked = verbatim({"check", name + "/topology.json", name + "/scenario.json"}, folder.path());
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_EQ(checked.err, "") << name;
    const Finished described = verbatim({"describe", name + "/topology.json"}, folder.path());
    EXPECT_EQ(described.out.substr(0, name.size() + 2 + std::string(kShapes[i].describes).size()), name + ": " + kShapes[i].describes);
  }
}

TEST(New, ethernet_and_several_pairs_run) {
  Folder folder;
  ASSERT_EQ(verbatim({"new", "n", "--hosts", "5", "--shape", "leaf_spine", "--link-layer", "roce"}, folder.path()).code, 0);
  const Finished run = verbatim({"run", "n/scenario.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* line : {"h1| 8192000 bytes", "h3| 8192000 bytes"}) EXPECT_NE(run.out.find(line), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("h4|"), std::string::npos) << "it has no partner";
}

// Every shape of the generator, in the size that the guide shows and in a small one, with both link layers.
TEST(New, every_generated_shape_has_flows_that_run_at_once) {
  struct Made {
    const char* shape;
    const char* hosts;
    const char* describes;
  };
  const Made kMade[] = {{"fat_tree", "64", "64 hosts, 48 switches, 192 links\n"},   {"rail", "8", "8 hosts, 12 switches, 64 links\n"},
                        {"dragonfly", "12", "12 hosts, 8 switches, "},              {"dragonfly_plus", "20", "20 hosts, 20 switches, 50 links\n"},
                        {"torus", "36", "36 hosts, 9 switches, 54 links\n"},       {"hyperx", "36", "36 hosts, 9 switches, 54 links\n"},
                        {"leaf_spine", "80", "80 hosts, 13 switches, 120 links\n"}};
  Folder folder;
  for (const Made& made : kMade) {
    for (const auto& [layer, rate] : {std::pair("infiniband", "EDR 4x"), std::pair("roce", "400 Gbps")}) {
      const std::string name = std::string(made.shape) + "-" + layer;
      const Finished written = verbatim({"new", name, "--shape", made.shape, "--hosts", made.hosts, "--link-layer", layer, "--rate", rate}, folder.path());
      EXPECT_EQ(written.code, 0) << written.err;
      EXPECT_EQ(written.err, "") << name;
      EXPECT_NE(written.out.find("scenario.json: a flow of 1 MiB from each host to the one half of all hosts further on"), std::string::npos) << written.out;
      const Finished checked = verbatim({"check", name + "/topology.json", name + "/scenario.json"}, folder.path());
      EXPECT_EQ(checked.code, 0) << checked.err;
      EXPECT_EQ(checked.err, "") << name;
      const Finished described = verbatim({"describe", name + "/topology.json"}, folder.path());
      const std::string begin = name + ": " + layer + ", " + made.describes;
      EXPECT_EQ(described.out.substr(0, begin.size()), begin);
      const Finished run = verbatim({"run", name + "/scenario.json"}, folder.path());
      EXPECT_EQ(run.code, 0) << name << ": " << run.err;
      EXPECT_EQ(run.err.find("warning"), std::string::npos) << name << ": " << run.err;
    }
  }
}

struct Refusal {
  std::vector<std::string> options;
  const char* message;
};

TEST(New, refuses_what_it_cannot_make_and_leaves_nothing) {
  const Refusal kRefusals[] = {
      {{"--hosts", "0"}, "--hosts: 0 hosts do not make a star; star (all hosts at one switch) has 2 to 10000 hosts\n"},
      {{"--hosts", "-3"}, "--hosts: -3 hosts do not make a star"},
      {{"--hosts", "3", "--shape", "direct"}, "--hosts: 3 hosts do not make a direct; direct (two hosts on one cable) has 2 hosts\n"},
      {{"--shape", "strar"}, "--shape: \"strar\" is not a shape; did you mean \"star\"? the shapes are direct, star, leaf_spine, fat_tree, rail, "
       "dragonfly, dragonfly_plus, torus, hyperx\n"},
      {{"--rate", "150 Gbps"},
       "--rate: \"150 Gbps\" is not a rate that `new` has devices for; on infiniband it has QDR 4x, FDR 4x, EDR 4x, HDR 4x, NDR 4x; "
       "other rates can be written into topology.json\n"},
      {{"--rate", "fast", "--link-layer", "roce"},
       "--rate: \"fast\" is not a rate that `new` has devices for; on roce it has 25 Gbps, 50 Gbps, 100 Gbps, 200 Gbps, 400 Gbps; other rates "
       "can be written into topology.json\n"},
      {{"--link-layer", "ethernet"}, "--link-layer: \"ethernet\" is not known; the link layers are infiniband, roce\n"},
      {{"--hosts", "37"}, "--hosts: the switch \"leaf0\" needs 37 ports, but a switch of profile \"edr_switch\" has 36; "},
      {{"--hosts", "1000", "--shape", "star"}, "--hosts: a switch of this \"star\" would have 1000 ports"}};
  for (const Refusal& refusal : kRefusals) {
    Folder folder;
    std::vector<std::string> words = {"new", "n"};
    words.insert(words.end(), refusal.options.begin(), refusal.options.end());
    const Finished made = verbatim(words, folder.path());
    EXPECT_EQ(made.code, 2) << refusal.message;
    EXPECT_NE(made.err.find(refusal.message), std::string::npos) << made.err;
    EXPECT_NE(made.err.find("; nothing was written\n"), std::string::npos) << made.err;
    EXPECT_TRUE(fs::is_empty(folder.path())) << refusal.message;
  }
}

TEST(New, does_not_touch_what_is_there) {
  Folder folder;
  folder.write("full/mine", "text");
  folder.write("file", "text");
  fs::create_symlink("nowhere", folder.path() + "/dangling");
  for (const char* taken : {"full", "file", "dangling", "."}) {
    const Finished made = verbatim({"new", taken}, folder.path());
    EXPECT_EQ(made.code, 2);
    EXPECT_EQ(made.err, "verbatim: \"" + std::string(taken) + "\" is there already and is not an empty folder; name another\n");
  }
  EXPECT_EQ(content(folder.path() + "/full/mine"), "text");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 3);
  fs::create_directory(folder.path() + "/empty");
  fs::create_directory_symlink("empty", folder.path() + "/link");
  EXPECT_EQ(verbatim({"new", "link/"}, folder.path()).code, 0);
  EXPECT_TRUE(fs::is_symlink(folder.path() + "/link"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() + "/empty"), fs::directory_iterator()), 3);
  const Finished below = verbatim({"new", "file/below"}, folder.path());
  EXPECT_EQ(below.code, 2);
  EXPECT_NE(below.err.find("nothing was written"), std::string::npos) << below.err;
}

TEST(New, the_folder_that_one_stands_in_stays_the_same_one) {
  Folder folder;
  const Finished made = run_command({"sh", "-c", "\"$0\" new . && ls", VERBATIM_PROGRAM}, folder.path());
  EXPECT_NE(made.out.find("next: verbatim run ./scenario.json\nREADME.md\nscenario.json\ntopology.json\n"), std::string::npos) << made.out << made.err;
}

TEST(New, a_place_where_nothing_can_be_written) {
  const Finished made = verbatim({"new", "/proc/sys/new"});
  EXPECT_EQ(made.code, 2);
  EXPECT_NE(made.err.find("nothing was written"), std::string::npos) << made.err;
}

TEST(New, answers_in_json) {
  Folder folder;
  const Finished made = verbatim({"new", "n", "--json"}, folder.path());
  EXPECT_EQ(made.code, 0);
  EXPECT_NE(made.out.find("\"next\": \"verbatim run n/scenario.json\""), std::string::npos) << made.out;
}

// A program beside its scenario, with "cwd": ".".
TEST(Paths, programs_beside_a_scenario_start_from_every_folder) {
  Folder folder;
  folder.write("my lab/topology.json", content(std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology));
  folder.write("my lab/scenario.json", R"({"topology": "topology.json", "programs": [
      {"host": "server", "command": "./app one", "cwd": ".", "expect_output": ["it is one"]},
      {"host": "client", "command": "../app two", "cwd": "sub", "expect_output": ["it is two"]}]})");
  fs::create_directory(folder.path() + "/my lab/sub");
  fs::permissions(folder.write("my lab/app", "#!/bin/sh\necho it is $1\n"), fs::perms::owner_all);
  fs::create_directory_symlink("my lab", folder.path() + "/link");
  for (const auto& [from, named] : {std::pair<std::string, std::string>{"/my lab", "scenario.json"},
                                    {"", "my lab/scenario.json"},
                                    {"", "./my lab/scenario.json"},
                                    {"", "link/scenario.json"},
                                    {"/link", "scenario.json"},
                                    {"/my lab/sub", "../scenario.json"}}) {
    const Finished run = verbatim({"run", named}, folder.path() + from);
    EXPECT_EQ(run.code, 0) << from << " " << named << ": " << run.err;
    EXPECT_EQ(run.out, "client| it is two\nserver| it is one\n");
  }
}

TEST(Paths, a_program_beside_the_scenario_without_cwd_gets_a_hint) {
  Folder folder;
  folder.write("lab/scenario.json", R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/two_hosts.json",
                                        "programs": [{"host": "server", "command": "./app"}]})");
  fs::permissions(folder.write("lab/app", "#!/bin/sh\n"), fs::perms::owner_all);
  const Finished run = verbatim({"run", "lab/scenario.json"}, folder.path());
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("lab/scenario.json: /programs/0/command: on host server: "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("; it lies beside the scenario: add \"cwd\": \".\" to start it in the scenario's folder\n"), std::string::npos)
      << run.err;
}

}  // namespace
}  // namespace verbatim::cli
