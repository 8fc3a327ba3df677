// Workloads of scenarios: resulting flows, and findings for invalid ones.
#include <algorithm>
#include <map>
#include <set>

#include "sim/config/graphs.h"
#include "sim/config/name_patterns.h"
#include "sim/workload/message_graph.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace workloads {
namespace {

constexpr char kStar[] = VERBATIM_SOURCE_DIR "/topologies/star_8.json";

std::string scenario_text(const std::string& workloads, const std::string& rest = "") {
  return R"({"topology": ")" + std::string(kStar) + R"(", "workloads": [)" + workloads + "]" + rest + "}";
}

std::string findings(const std::string& workloads, const std::string& rest = "") {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_scenario(folder.write("s.json", scenario_text(workloads, rest)), with_profiles(), diagnostics);
  EXPECT_EQ(spec.has_value(), diagnostics.empty());
  return text_of(diagnostics);
}

ScenarioSpec scenario(const std::string& workloads, const std::string& rest = "") {
  Folder folder;
  Diagnostics diagnostics;
  auto spec = load_scenario(folder.write("s.json", scenario_text(workloads, rest)), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec ? std::move(*spec) : ScenarioSpec{};
}

TEST(Workload, every_key_arrives) {
  const ScenarioSpec spec = scenario(
      R"({"name": "shifted", "pattern": "shift", "hosts": ["h[2-4]", "h7"], "distance": 3, "size": "3 MiB",
                                         "start": "5 us", "message_size": "4 KiB", "operation": "send", "queue_pairs": 3, "depth": 7,
                                         "service_level": 2, "background": true})",
      R"(, "until": "1 ms")");
  ASSERT_EQ(spec.traffic.kinds.size(), 1u);
  const workload::FlowKind& kind = spec.traffic.kinds[0];
  EXPECT_EQ(kind.name, "shifted");
  EXPECT_EQ(kind.operation, hca::SourceWork::Operation::kSend);
  EXPECT_EQ(kind.message_bytes, 4096u);
  EXPECT_EQ(kind.queue_pairs, 3u);
  EXPECT_EQ(kind.depth, 7u);
  EXPECT_EQ(kind.service_level, 2u);
  EXPECT_TRUE(kind.is_background);
  ASSERT_EQ(spec.traffic.flows.size(), 4u);
  const workload::FlowPlan& first = spec.traffic.flows[0];
  EXPECT_EQ(spec.topology.adapters[first.from].name, "h2");
  EXPECT_EQ(spec.topology.adapters[first.to].name, "h7");
  EXPECT_EQ(first.bytes, 3u << 20);
  EXPECT_EQ(first.start, Duration(5'000'000));
  EXPECT_EQ(spec.until, Duration(1'000'000'000));
}

TEST(Workload, flows_follow_from_the_seed_and_the_name_alone) {
  const std::string a = R"({"pattern": "permutation", "size": "1 MiB"})";
  const std::string b = R"({"pattern": "random", "load": 0.3, "duration": "1 ms", "sizes": "websearch"})";
  const auto of = [](const ScenarioSpec& spec, const std::string& name) {
    std::vector<workload::FlowPlan> flows;
    for (workload::FlowPlan flow : spec.traffic.flows) {
      if (spec.traffic.kinds[flow.kind].name != name) continue;
      flow.kind = 0;
      flows.push_back(flow);
    }
    EXPECT_FALSE(flows.empty());
    return flows;
  };
  ScenarioSpec one = scenario(a + "," + b);
  const ScenarioSpec other_order = scenario(b + "," + a), other_seed = scenario(a + "," + b, R"(, "seed": 2)");
  for (const char* const name : {"permutation", "random"}) {
    EXPECT_EQ(of(one, name), of(other_order, name));
    EXPECT_NE(of(one, name), of(other_seed, name));
  }
  const std::string named = R"({"name": "other", "pattern": "permutation", "size": "1 MiB"})";
  EXPECT_NE(of(one, "permutation"), of(scenario(named), "other"));
  const std::string fixed = R"(, "seed": 7})";
  EXPECT_EQ(of(scenario(a.substr(0, a.size() - 1) + fixed), "permutation"),
            of(scenario(named.substr(0, named.size() - 1) + fixed, R"(, "seed": 5)"), "other"))
      << "a seed of its own is all that counts";
  one.seed = 2;
  draw_traffic(one);
  EXPECT_EQ(one.traffic.flows, other_seed.traffic.flows);
}

TEST(Workload, without_a_size_flows_have_no_end_and_phases_differ) {
  const ScenarioSpec spec =
      scenario(R"({"pattern": "all-to-all", "start": "1 us", "on": "3 us", "off": "7 us"})", R"(, "until": "1 ms")");
  ASSERT_EQ(spec.traffic.flows.size(), 56u);
  EXPECT_TRUE(spec.traffic.is_background(spec.traffic.flows[0]));
  EXPECT_EQ(spec.traffic.kinds[0].on, Duration(3'000'000));
  std::set<Duration> starts;
  for (const workload::FlowPlan& flow : spec.traffic.flows) {
    EXPECT_TRUE(flow.is_endless());
    EXPECT_GE(flow.start, Duration(1'000'000));
    EXPECT_LT(flow.start, Duration(11'000'000));
    starts.insert(flow.start);
  }
  EXPECT_GT(starts.size(), 50u);
}

TEST(Workload, a_closed_loop_has_so_many_flows_of_each_host_under_way) {
  const ScenarioSpec spec =
      scenario(R"({"pattern": "hot-spot", "to": ["h0"], "share": 1, "flows": 10, "in_flight": 3, "size": "64 KiB"})");
  ASSERT_EQ(spec.traffic.flows.size(), 80u);
  ASSERT_EQ(spec.traffic.triggers.size(), 8u);
  std::map<std::uint32_t, int> at_once, later;
  for (const workload::FlowPlan& flow : spec.traffic.flows) {
    EXPECT_EQ(flow.on_sent, flow.from);
    ++(flow.trigger == workload::FlowPlan::kNone ? at_once : later)[flow.from];
    EXPECT_EQ(flow.to == 0, flow.from != 0) << "the only hot host sends to any";
  }
  for (std::uint32_t host = 0; host < 8; ++host) {
    EXPECT_EQ(at_once[host], 3);
    EXPECT_EQ(later[host], 7);
  }
}

TEST(Workload, sizes_may_come_from_a_file) {
  Folder folder;
  folder.write("sizes.txt", "# bytes percent\n1000 0\n1000 25.5\n\n 2000  25.5 \n2000 100.0\n");
  Diagnostics diagnostics;
  const std::string text = scenario_text(R"({"pattern": "random", "flows": 1000, "sizes": "sizes.txt"})");
  const auto spec = load_scenario(folder.write("s.json", text), with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  const auto small = std::ranges::count(spec->traffic.flows, 1000u, &workload::FlowPlan::bytes);
  EXPECT_NEAR(static_cast<double>(small) / 8000, 0.255, 0.025);
  EXPECT_EQ(small + std::ranges::count(spec->traffic.flows, 2000u, &workload::FlowPlan::bytes), 8000);
}

TEST(Workload, files_of_sizes_are_refused_by_line) {
  const std::pair<const char*, const char*> kTexts[] = {
      {"1000 0\nx 100\n", "line 2: \"x\" is no number of bytes"},
      {"1000 0\n2000\n", "line 2: \"\" is no percentage with four decimals at most"},
      {"1000 0\n2000 100.00001\n", "line 2: \"100.00001\" is no percentage with four decimals at most"},
      {"1000 0\n2000 101\n", "line 2: \"101\" is no percentage with four decimals at most"},
      {"1000 0\n2000 -5\n", "line 2: \"-5\" is no percentage with four decimals at most"},
      {"2000 0\n1000 100\n", "line 2: the line is below the one before it"},
      {"1000 0\n2000 90\n", "line 2: the distribution does not reach from 0 % to 100 %"},
      {"1000 10\n2000 100\n", "line 2: the distribution does not reach from 0 % to 100 %"},
      {"", "line 0: the distribution does not reach from 0 % to 100 %"}};
  for (const auto& [text, finding] : kTexts) {
    Folder folder;
    folder.write("sizes.txt", text);
    Diagnostics diagnostics;
    const std::string whole = scenario_text(R"({"pattern": "random", "flows": 1, "sizes": "sizes.txt"})");
    EXPECT_FALSE(load_scenario(folder.write("s.json", whole), with_profiles(), diagnostics).has_value());
    EXPECT_EQ(text_of(diagnostics), std::string(finding) +
                                        "; lines have bytes and the percentage of flows that are not larger, "
                                        "both ascending, from 0 % to 100 %\n");
  }
}

struct MatrixScenario {
  std::optional<ScenarioSpec> spec;
  std::string findings;
};

// An all-to-all of three hosts with the matrix in a file.
MatrixScenario with_matrix(const std::string& matrix, const std::string& keys = "") {
  Folder folder;
  folder.write("bytes.json", matrix);
  Diagnostics diagnostics;
  const std::string text =
      scenario_text(R"({"pattern": "all-to-all", "hosts": ["h[2-4]"], "matrix": "bytes.json")" + keys + "}");
  MatrixScenario loaded{load_scenario(folder.write("s.json", text), with_profiles(), diagnostics), ""};
  loaded.findings = text_of(diagnostics);
  return loaded;
}

TEST(Workload, an_all_to_all_may_have_the_bytes_of_each_pair) {
  const MatrixScenario loaded = with_matrix(R"([[7, "64 KiB", 0], [1, 0, 2], [0, 0, 0]])");
  ASSERT_TRUE(loaded.spec.has_value()) << loaded.findings;
  std::map<std::pair<std::string, std::string>, std::uint64_t> sent;
  for (const workload::FlowPlan& flow : loaded.spec->traffic.flows) {
    const auto& adapters = loaded.spec->topology.adapters;
    sent[{adapters[flow.from].name, adapters[flow.to].name}] = flow.bytes;
  }
  const std::map<std::pair<std::string, std::string>, std::uint64_t> expected = {
      {{"h2", "h3"}, 65'536}, {{"h3", "h2"}, 1}, {{"h3", "h4"}, 2}};
  EXPECT_EQ(sent, expected);
}

TEST(Workload, a_matrix_that_does_not_fit_is_refused_by_place) {
  const std::string hint = "; write 0 or more bytes, such as 65536 or \"64 KiB\"\n";
  const std::pair<const char*, std::string> kTexts[] = {
      {"{}", "the matrix has not 3 rows; write a list with a row for each of the workload's hosts\n"},
      {"[[0, 1], [0, 1, 2], 5]",
       "/0: the row has not 3 numbers; write the bytes to each of the workload's hosts, its own too\n"
       "/2: the row has not 3 numbers; write the bytes to each of the workload's hosts, its own too\n"},
      {"[[0, -1, 1.5], [0, 1, null], [0, 1, 2000000000000]]",
       "/0/1: -1 is no number of bytes" + hint + "/0/2: 1.5 is no number of bytes" + hint + "/1/2: null is no number of bytes" +
           hint + "/2/2: 2000000000000 is more than 1 TiB" + hint},
      {"[[5, 0, 0], [0, 0, 0], [0, 0, 0]]", "no host sends bytes; give some pair of hosts bytes\n"}};
  for (const auto& [text, finding] : kTexts) {
    const MatrixScenario loaded = with_matrix(text);
    EXPECT_FALSE(loaded.spec.has_value());
    EXPECT_EQ(loaded.findings, finding);
  }
  EXPECT_EQ(with_matrix("[[0, 1, 1], [1, 0, 1], [1, 1, 0]]", R"(, "size": "1 KiB")").findings,
            "/workloads/0/matrix: there is a size, too; give one of them\n");
  EXPECT_EQ(findings(R"({"pattern": "permutation", "size": "1 KiB", "matrix": "x.json"})"),
            "/workloads/0/matrix: \"matrix\" does not apply to the pattern \"permutation\"; leave it out; it belongs to "
            "all-to-all\n"
            "/workloads/0/matrix: there is a size, too; give one of them\n");
}

// A collective with a matrix also uses messages that depend on each other.
TEST(Workload, a_collective_takes_a_matrix) {
  const MatrixScenario loaded =
      with_matrix(R"([[0, 100, 0], [10, 0, 20], [0, 0, 0]])", R"(, "algorithm": "pairwise", "repeat": 2)");
  ASSERT_TRUE(loaded.spec.has_value()) << loaded.findings;
  const std::vector<DrawnGraph> graphs = draw_graphs(*loaded.spec);
  ASSERT_EQ(graphs.size(), 1u);
  const auto traffic = graphs[0].graph->traffic(0, graphs[0].graph->size());
  EXPECT_EQ(traffic[0].sent, 200u);
  EXPECT_EQ(traffic[1].sent, 60u);
  EXPECT_EQ(traffic[2].sent, 0u);
  EXPECT_EQ(traffic[2].received, 40u);
}

TEST(Workload, a_load_without_a_duration_is_one_without_end) {
  const ScenarioSpec spec = scenario(
      R"({"pattern": "hot-spot", "to": ["h1"], "share": 0.5, "load": 0.25, "sizes": "solar", "start": "3 us"})", R"(, "until": "1 ms")");
  EXPECT_TRUE(spec.traffic.flows.empty());
  ASSERT_EQ(spec.traffic.loads.size(), 1u);
  const workload::LoadPlan& load = spec.traffic.loads[0];
  EXPECT_TRUE(spec.traffic.kinds[load.kind].is_background);
  EXPECT_EQ(load.members.size(), 8u);
  EXPECT_EQ(load.load, 250'000u);
  EXPECT_EQ(load.start, Duration(3'000'000));
  EXPECT_EQ(load.targets, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(findings(R"({"pattern": "random", "load": 0.25, "sizes": "solar"})"),
            "/workloads: every workload is in the background, so the run has no end; give \"until\", or a workload a "
            "\"size\"\n");
}

TEST(Workload, all_findings_at_once) {
  EXPECT_EQ(findings(R"({"pattern": "permutaton", "size": "1 MiB"}, {"size": "1 MiB"},
                        {"pattern": "incast", "size": "1 MiB", "load": 0.5, "distance": 2},
                        {"name": "a", "pattern": "incast", "to": ["h0"], "size": "1 MiB", "senders": 8},
                        {"name": "b", "pattern": "shift", "hosts": ["h[0-2]", "h9"], "size": "1 MiB"},
                        {"name": "c", "pattern": "shift", "hosts": ["h[0-"], "size": "1 MiB"},
                        {"name": "d", "pattern": "shift", "distance": 16, "size": "1 MiB", "sizes": "solar"},
                        {"name": "e", "pattern": "random", "sizes": "websarch", "flows": 1},
                        {"name": "f", "pattern": "random", "size": "1 B", "duration": "1 ms"},
                        {"name": "g", "pattern": "random", "size": "1 B"},
                        {"name": "h", "pattern": "hot-spot", "size": "1 B", "flows": 1},
                        {"name": "i", "pattern": "permutation", "size": "1 B", "on": "1 us"},
                        {"name": "i", "pattern": "permutation", "size": "1 B", "start": "2 ms", "traffic_class": 1},
                        {"name": "k", "pattern": "random", "load": 1, "duration": "100 s", "size": "1 B"})",
                     R"(, "until": "1 ms")"),
            "/workloads/0/pattern: \"permutaton\" is not allowed here; did you mean \"permutation\"?\n"
            "/workloads/1: a workload has a pattern or a file; give \"pattern\": \"all-reduce\", or "
            "\"file\": \"x.goal\"\n"
            "/workloads/2/distance: \"distance\" does not apply to the pattern \"incast\"; leave it out; it "
            "belongs to shift\n"
            "/workloads/2/load: \"load\" does not apply to the pattern \"incast\"; leave it out; it belongs "
            "to random and hot-spot\n"
            "/workloads/2/to: an incast has one receiver; name it with \"to\": [\"h0\"]\n"
            "/workloads/3/senders: 8 hosts besides the receiver are asked for, and there are 7; ask for "
            "fewer, or name more with \"hosts\"\n"
            "/workloads/4/hosts/1: the topology has no host \"h9\"; did you mean \"h0\"?\n"
            "/workloads/5/hosts/0: \"h[0-\" has no range such as [0-63]; name hosts of the topology, such as "
            "\"h0\", \"*\" or \"h[0-63]\"\n"
            "/workloads/5/hosts: the workload has fewer than two hosts; name more\n"
            "/workloads/6/sizes: there is a \"size\", too; give one of them\n"
            "/workloads/6/distance: each of 8 hosts would send to itself; give another\n"
            "/workloads/7/sizes: there is no distribution \"websarch\"; did you mean \"websearch\"?\n"
            "/workloads/8: a random workload has a load or a number of flows; give \"load\", or \"flows\"\n"
            "/workloads/8/duration: \"duration\" is that of flows that arrive at a load; give \"load\": 0.5\n"
            "/workloads/9: a random workload has a load or a number of flows; give \"load\", or \"flows\"\n"
            "/workloads/10/to: a hot-spot has hot hosts; name them with \"to\": [\"h0\"]\n"
            "/workloads/10/share: a hot-spot has a share of flows; give one, such as 0.2\n"
            "/workloads/11/on: only flows without end rest; leave out \"on\" and \"off\", or \"size\"\n"
            "/workloads/11/on: \"on\" and \"off\" belong together; give both\n"
            "/workloads/12/name: there are two workloads \"i\"; give each a \"name\" of its own: random "
            "numbers follow from it\n"
            "/workloads/13: the scenario would have more than 20000000 flows; ask for fewer\n");
}

TEST(Workload, the_run_has_an_end) {
  EXPECT_EQ(findings(R"({"pattern": "permutation"})"),
            "/workloads: every workload is in the background, so the run has no end; give "
            "\"until\", or a workload a "
            "\"size\"\n");
  EXPECT_EQ(findings(R"({"pattern": "permutation"})", R"(, "until": "1 ms")"), "");
  EXPECT_EQ(findings(R"({"pattern": "permutation"})", R"(, "programs": [{"host": "h0", "command": "true"}])"), "");
}

TEST(Workload, needs_no_more_than_the_adapters_have) {
  EXPECT_EQ(findings(R"({"pattern": "incast", "to": ["h3"], "size": "1 B", "queue_pairs": 4096},
                        {"pattern": "random", "size": "1 B", "flows": 40, "queue_pairs": 4096})"),
            "/workloads/1/queue_pairs: the adapter of \"h0\" has 131072 queue pairs, and the flows up to "
            "this one need 135168; give its "
            "flows fewer\n");
}

TEST(Workload, flows_may_come_from_a_connection_matrix) {
  Folder folder;
  folder.write("x.cm",
               "Nodes 3\nConnections 3\nTriggers 2\n0->1 id 1 start 5 size 1000 send_done_trigger 1\ntrigger "
               "id 1 oneshot\n"
               "1->2 id 2 trigger 1 size 20 recv_done_trigger 2\ntrigger id 2 oneshot\n2->0 id 3 trigger 2 "
               "size 0 prio 3\n");
  Diagnostics diagnostics;
  const std::string text = scenario_text(R"({"file": "x.cm", "start": "1 us", "hosts": ["h3", "h[5-6]"]})");
  const auto spec = load_scenario(folder.write("s.json", text), with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  ASSERT_EQ(diagnostics.warnings().size(), 1u);
  const workload::Traffic& traffic = spec->traffic;
  ASSERT_EQ(traffic.flows.size(), 3u);
  EXPECT_EQ(traffic.kinds[traffic.flows[0].kind].name, "x");
  EXPECT_EQ(spec->topology.adapters[traffic.flows[0].from].name, "h3");
  EXPECT_EQ(spec->topology.adapters[traffic.flows[2].from].name, "h6");
  EXPECT_EQ(traffic.flows[0].start, Duration(1'000'005));
  EXPECT_EQ(traffic.flows[1].start, Duration(0)) << "after its trigger";
  EXPECT_EQ(traffic.kinds[traffic.flows[0].kind].operation, hca::SourceWork::Operation::kWrite);
  EXPECT_EQ(traffic.kinds[traffic.flows[1].kind].operation, hca::SourceWork::Operation::kSend)
      << "somebody waits for what arrives";
  EXPECT_TRUE(traffic.is_background(traffic.flows[2]));
  EXPECT_FALSE(traffic.is_background(traffic.flows[1]));
}

TEST(Workload, failures_of_a_connection_matrix_are_links_that_are_down) {
  const std::string matrix = "Nodes 2\nConnections 1\n0->1 start 0 size 1\nFailures 1\nfailure switch_type ";
  const auto load = [&](const std::string& failure, Diagnostics& diagnostics) {
    Folder folder;
    folder.write("x.cm", matrix + failure);
    folder.write("t.json", R"({"name": "t", "generate": {"shape": "leaf_spine", "hosts": 8, "rate": "EDR 4x"}})");
    return load_scenario(folder.write("s.json", R"({"topology": "t.json", "workloads": [{"file": "x.cm"}]})"),
                         with_profiles(), diagnostics);
  };
  Diagnostics none;
  const auto spec = load("TOR switch_id 1 link_id 0\n", none);
  ASSERT_TRUE(spec.has_value()) << text_of(none);
  ASSERT_EQ(spec->faults.size(), 1u);
  EXPECT_EQ(spec->faults[0].action, "link_down");
  EXPECT_EQ(spec->faults[0].link, "leaf1:5") << "behind four hosts";
  const std::string hint = "; count switches of a tier, and a switch's links upwards, from 0\n";
  const std::pair<const char*, std::string> kBad[] = {
      {"TOR switch_id 2 link_id 0", "line 5: the topology has no such switch" + hint},
      {"CORE switch_id 0 link_id 0", "line 5: the topology has no such switch" + hint},
      {"TOR switch_id 0 link_id 2", "line 5: \"leaf0\" has 2 links upwards" + hint}};
  for (const auto& [failure, finding] : kBad) {
    Diagnostics diagnostics;
    EXPECT_FALSE(load(failure, diagnostics).has_value());
    EXPECT_EQ(text_of(diagnostics), finding);
  }
}

TEST(Workload, priorities_of_a_list_of_flows_are_those_of_ethernet) {
  Folder folder;
  folder.write("flow.txt", "2\n0 1 3 100 1000 2.0\n1 2 0 100 7 2.0\n");
  for (const bool is_roce : {false, true}) {
    Diagnostics diagnostics;
    const std::string topology = is_roce ? "/topologies/star_5_roce.json" : "/topologies/star_8.json";
    const auto spec = load_scenario(folder.write("s.json", R"({"topology": ")" + std::string(VERBATIM_SOURCE_DIR) +
                                                               topology + R"(", "workloads": [{"file": "flow.txt"}]})"),
                                    with_profiles(), diagnostics);
    ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
    ASSERT_EQ(spec->traffic.kinds.size(), 2u);
    EXPECT_EQ(spec->traffic.kinds[0].traffic_class, is_roce ? 3u << 5 : 0);
    EXPECT_EQ(spec->traffic.kinds[1].traffic_class, 0u);
    EXPECT_EQ(spec->traffic.flows[0].start, Duration(2'000'000'000'000));
  }
}

TEST(Workload, files_are_refused_with_what_does_not_fit) {
  Folder folder;
  folder.write("x.cm", "Nodes 9\nConnections 1\n8->1 start 0 size 1\n");
  folder.write("bad.cm", "Nodes 9\nConnections 1\n8->1 start 0\n");
  Diagnostics diagnostics;
  const std::string text = scenario_text(R"({"file": "x.cm", "size": "1 B", "channels": 3}, {"file": "bad.cm"})");
  EXPECT_FALSE(load_scenario(folder.write("s.json", text), with_profiles(), diagnostics).has_value());
  std::string found = text_of(diagnostics);
  for (std::size_t at; (at = found.find(folder.path())) != std::string::npos;)
    found.replace(at, folder.path().size() + 1, "");
  EXPECT_EQ(found,
            "/workloads/0/channels: \"channels\" does not apply to a file of flows; leave it out; it belongs to "
            "patterns\n"
            "/workloads/0/size: \"size\" does not apply to a file of flows; leave it out; it belongs to patterns\n"
            "/workloads/0/file: flows of x.cm name node 8, and the workload has 8 hosts; use a larger topology, or "
            "name more with "
            "\"hosts\": node 0 is the first\n"
            "line 3: the connection has no size; write `size` and bytes; 0 is without end\n");
}

TEST(NamePatterns, expand_ranges) {
  std::string problem;
  EXPECT_EQ(expand_ranges("h[2-4]", &problem), (std::vector<std::string>{"h2", "h3", "h4"}));
  EXPECT_EQ(expand_ranges("n[08-10]/mlx5_1", &problem),
            (std::vector<std::string>{"n08/mlx5_1", "n09/mlx5_1", "n10/mlx5_1"}));
  EXPECT_EQ(expand_ranges("plain", &problem), (std::vector<std::string>{"plain"}));
  EXPECT_EQ(problem, "");
  for (const char* const bad :
       {"h[", "h[]", "h[1]", "h[-2]", "h[3-1]", "h[1-2", "h[1-2][3-4]", "h[a-b]", "h[0-99999999999999999999]"}) {
    problem.clear();
    EXPECT_TRUE(expand_ranges(bad, &problem).empty()) << bad;
    EXPECT_NE(problem, "") << bad;
  }
  problem.clear();
  EXPECT_TRUE(expand_ranges("h[1-100001]", &problem).empty());
  EXPECT_EQ(problem, "\"h[1-100001]\" expands to more than 100000 names");
}

TEST(NamePatterns, stars_match_all_but_slashes) {
  for (const auto& [pattern, name] :
       {std::pair("*", "h0"), std::pair("h*", "h"), std::pair("*0", "h00"), std::pair("p*-h*", "p1-h2"),
        std::pair("h*/mlx5_1", "h3/mlx5_1"), std::pair("a*b*c", "abbc"), std::pair("h0", "h0")})
    EXPECT_TRUE(matches_stars(pattern, name)) << pattern << " " << name;
  for (const auto& [pattern, name] :
       {std::pair("*", "h0/mlx5_1"), std::pair("h*", "g"), std::pair("h*0", "h1"), std::pair("a*b*c", "abbd"),
        std::pair("", "h"), std::pair("h0", "h01"), std::pair("h*/mlx5_1", "h3/mlx5_2")})
    EXPECT_FALSE(matches_stars(pattern, name)) << pattern << " " << name;
}

}  // namespace
}  // namespace workloads
}  // namespace verbatim::config
