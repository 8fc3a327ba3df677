// `verbatim import` as a user types it, and the pictures of `verbatim describe`.
#include "sim/config/json_text.h"
#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

constexpr const char* kEdges = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n";

TEST(Import, writes_a_topology_that_is_valid_and_says_what_it_assumed) {
  config::Folder folder;
  folder.write("net.txt", kEdges);
  const Finished made = verbatim({"import", "net.txt", "-o", "t.json"}, folder.path());
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(
      made.out,
      "t.json: roce, 2 hosts, 1 switch, 2 links, from edge list of HPCC\n"
      "assumed: cables have the delays of the file, as \"transceiver_delay\"\n  change: \"transceiver_delay\" of the links\n"
      "assumed: flows without a priority, such as those of connection matrices, have priority 0, which hpcc_switch does not mark\n"
      "  change: \"traffic_class\" of the flows: 96 for priority 3\n"
      "assumed: latencies, buffers and lanes of the profiles edr_roce, hpcc_switch, processors cpu\n"
      "  change: --hca, --switch and --cpu, or \"hca\", \"profile\" and \"cpu\" of hosts and switches\n");
  EXPECT_EQ(verbatim({"check", "t.json"}, folder.path()).out, "t.json: a valid topology\n");
}

// A switch profile beside the topology, and a cable length selected by the names of its ends.
TEST(Import, writes_profiles_of_switches_and_takes_lengths) {
  config::Folder folder;
  folder.write("sonic.json", R"({"DEVICE_METADATA": {"localhost": {"hostname": "leaf1"}},
      "PORT": {"Ethernet0": {"speed": "100000"}, "Ethernet4": {"speed": "100000"}},
      "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "h1"}, "Ethernet4": {"name": "h2"}},
      "WRED_PROFILE": {"W": {"ecn": "ecn_all", "green_min_threshold": "100000", "green_max_threshold": "200000",
                             "green_drop_probability": "10"}},
      "QUEUE": {"Ethernet0|3": {"wred_profile": "W"}, "Ethernet4|3": {"wred_profile": "W"}}})");
  folder.write("lengths.csv", "h2,leaf1,17 m\n");
  const Finished made = verbatim({"import", "sonic.json", "-o", "t.json", "--lengths", "lengths.csv"}, folder.path());
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("profile of switches: t-leaf1.json\n"), std::string::npos) << made.out;
  EXPECT_EQ(verbatim({"check", "t.json"}, folder.path()).out, "t.json: a valid topology\n");
  config::Diagnostics diagnostics;
  const auto text = config::read_file(folder.path() + "/t.json", diagnostics);
  ASSERT_TRUE(text.has_value());
  EXPECT_NE(text->find(R"("length": "17 m")"), std::string::npos) << *text;
  folder.write("lengths.csv", "h2,leaf2,17 m\n");
  const Finished wrong = verbatim({"import", "sonic.json", "-o", "u.json", "--lengths", "lengths.csv"}, folder.path());
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err,
            "lengths.csv: line 1: there is no cable from \"h2\" to \"leaf2\"; name its ends as the topology does: a host, a switch, or a "
            "port such as leaf1:3\nverbatim: 1 finding; nothing was written\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/u.json"));
}

TEST(Import, refuses_wrong_lines_and_writes_nothing) {
  config::Folder folder;
  folder.write("net.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 7 100Gbps 1us 0\n");
  const Finished made = verbatim({"import", "net.txt", "-o", "t.json"}, folder.path());
  EXPECT_EQ(made.code, 2);
  EXPECT_EQ(
      made.err,
      "net.txt: line 4: \"7\" is not the number of a node; nodes are 0 to 2\nverbatim: 1 finding; nothing was written\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/t.json"));
  const Finished over = verbatim({"import", "net.txt", "--format", "hpccc", "-o", "t.json"}, folder.path());
  EXPECT_EQ(over.code, 2);
}

TEST(Import, reads_a_folder_and_leaves_other_files_out) {
  config::Folder folder;
  folder.write("f/net.txt", kEdges);
  folder.write("f/notes.md", "hello\n");
  const Finished made = verbatim({"import", "f", "-o", "t.json", "--json"}, folder.path());
  EXPECT_EQ(made.code, 0) << made.err;
  config::Diagnostics diagnostics;
  const auto document = config::parse_json(made.out, "answer", diagnostics);
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["hosts"], 2);
  EXPECT_EQ((*document)["assumptions"].size(), 3u);
  EXPECT_NE(verbatim({"import", "f", "-o", "u.json"}, folder.path()).out.find("left out: 1 file of another kind\n"),
            std::string::npos);
  EXPECT_EQ(verbatim({"import", "nowhere", "-o", "u.json"}, folder.path()).code, 2);
}

TEST(Import, its_options_are_the_defaults_of_the_topology) {
  config::Folder folder;
  folder.write("net",
               "Switch 8 \"S\"\n[1] \"A\"[1]\n[2] \"B\"[1]\n\nCa 1 \"A\"\n[1] \"S\"[1]\n\nCa 1 \"B\"\n[1] \"S\"[2]\n");
  ASSERT_EQ(verbatim({"import", "net", "-o", "t.json", "--rate", "HDR 4x", "--length", "30 m", "--hca", "connectx7_ndr"},
                     folder.path())
                .code,
            0);
  const Finished described = verbatim({"describe", "t.json"}, folder.path());
  EXPECT_NE(described.out.find("S:1  --  A:1  HDR 4x  200 Gbps  30 m"), std::string::npos) << described.out << described.err;
  EXPECT_NE(described.out.find("hca connectx-7"), std::string::npos) << described.out;
  EXPECT_EQ(verbatim({"import", "net", "-o", "t.json", "--rate", "30 m"}, folder.path()).code, 2);
}

TEST(Describe, writes_pictures_and_graphs) {
  config::Folder folder;
  folder.write(
      "t.json",
      R"({"name": "t", "generate": {"shape": "leaf_spine", "hosts": 4, "hosts_per_leaf": 2, "spines": 1, "rate": "EDR 4x"}})");
  const Finished made = verbatim({"describe", "t.json", "--picture", "t.svg", "--dot", "t.dot"}, folder.path());
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, "");
  std::ifstream dot(folder.path() + "/t.dot"), svg(folder.path() + "/t.svg");
  const std::string graph((std::istreambuf_iterator<char>(dot)), {}), picture((std::istreambuf_iterator<char>(svg)), {});
  EXPECT_NE(graph.find("  { rank=same; \"leaf0\"; \"leaf1\"; }\n"), std::string::npos) << graph;
  EXPECT_NE(graph.find("  \"h0\" -- \"leaf0\" [taillabel=\"1\", headlabel=\"1\", label=\"100 Gbps\"];\n"), std::string::npos)
      << graph;
  EXPECT_NE(picture.find(">spine0</text>"), std::string::npos) << picture;
  EXPECT_NE(picture.find(">4 hosts</text>"), std::string::npos) << picture;
  EXPECT_EQ(verbatim({"describe", "t.json", "--picture", "t.json"}, folder.path()).code, 2);
}

}  // namespace
}  // namespace verbatim::cli
