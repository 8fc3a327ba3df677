// Workloads that are graphs: resulting values, and findings for invalid keys.
#include "sim/config/graphs.h"
#include "sim/workload/message_graph.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace graph_workloads {
namespace {

constexpr char kStar[] = VERBATIM_SOURCE_DIR "/topologies/star_8.json";
constexpr char kGoal[] =
    "num_ranks 3\nrank 2 {\nsend 5b to 0\nsend 5b to 1\n}\nrank 0 {\nrecv 5b from 2\n}\nrank 1 {\nrecv 5b "
    "from 2\n}\n";

struct Loaded {
  std::optional<ScenarioSpec> spec;
  std::string findings;
};
Loaded load(const std::string& workloads, const std::string& rest = "", const std::string& goal = kGoal) {
  Folder folder;
  folder.write("x.goal", goal);
  Diagnostics diagnostics;
  auto spec = load_scenario(folder.write("s.json", R"({"topology": ")" + std::string(kStar) + R"(", "workloads": [)" +
                                                       workloads + "]" + rest + "}"),
                            with_profiles(), diagnostics);
  EXPECT_EQ(spec.has_value(), diagnostics.empty());
  return {std::move(spec), text_of(diagnostics)};
}

std::vector<DrawnGraph> drawn(const Loaded& loaded) {
  EXPECT_TRUE(loaded.spec.has_value()) << loaded.findings;
  return loaded.spec ? draw_graphs(*loaded.spec) : std::vector<DrawnGraph>();
}

std::uint64_t sent(const DrawnGraph& graph, std::uint32_t rank) {
  return graph.graph->traffic(0, graph.graph->size())[rank].sent;
}

TEST(GraphWorkload, keys_arrive) {
  const Loaded loaded = load(
      R"({"pattern": "all-reduce", "algorithm": "nccl-ring", "hosts": ["h[4-7]"], "size": "1 MiB", "channels": 2,
                                "chunk": "64 KiB", "repeat": 3, "compute": "1 us", "eager_size": "4 KiB"})");
  const auto graphs = drawn(loaded);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].adapters.size(), 4u);
  EXPECT_EQ(loaded.spec->topology.adapters[graphs[0].adapters[0]].name, "h4");
  EXPECT_EQ(graphs[0].collectives.size(), 3u);
  EXPECT_EQ(graphs[0].collectives[0].bytes, 1u << 20);
  EXPECT_EQ(sent(graphs[0], 0), 3u * 2 * 3 * (1u << 18));
  EXPECT_EQ(graphs[0].graph->traffic(0, graphs[0].graph->size())[0].computed_ps, 3'000'000u);
}

TEST(GraphWorkload, sizes_are_those_of_nccl_tests) {
  const auto bytes_of = [](const std::string& keys) {
    return drawn(load("{" + keys + R"(, "size": "1 MiB"})"))[0].collectives[0].bytes;
  };
  for (const char* const pattern : {"broadcast", "all-reduce", "all-gather", "reduce-scatter"}) {
    EXPECT_EQ(bytes_of(R"("pattern": ")" + std::string(pattern) + "\""), 1u << 20) << pattern;
  }
  EXPECT_EQ(bytes_of(R"("pattern": "all-to-all", "algorithm": "direct")"), 8u << 20)
      << "the size is for each other, as of flows";
}

TEST(GraphWorkload, the_root_of_a_broadcast_has_a_name) {
  const auto graphs = drawn(load(R"({"pattern": "broadcast", "algorithm": "chain", "size": "1 MiB", "root": "h3"})"));
  EXPECT_EQ(sent(graphs[0], 2), 0u) << "the last of the chain";
  EXPECT_EQ(sent(graphs[0], 3), 1u << 20);
}

TEST(GraphWorkload, a_goal_file_is_a_workload) {
  const Loaded loaded = load(R"({"file": "x.goal", "hosts": ["h5", "h6", "h7"]})");
  const auto graphs = drawn(loaded);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(loaded.spec->workloads[0].name, "x");
  EXPECT_EQ(graphs[0].adapters.size(), 3u);
  EXPECT_EQ(sent(graphs[0], 2), 10u);
  EXPECT_EQ(loaded.spec->workloads[0].member_queue_pairs, (std::vector<std::uint32_t>{1, 1, 2}));
}

// Two forms of the same trace: a computation, then a send and a receive, then an all-reduce of both ranks.
std::string trace_of_jsonizer(int rank) {
  const std::string peer = std::to_string(1 - rank);
  return R"({"version": "0.0.4"}{"name": "c", "type": "COMP_NODE", "durationMicros": "3", "attr": [{"name": "is_cpu_op", "boolVal": false}]}
    {"id": "7", "type": "COMM_SEND_NODE", "dataDeps": ["0"], "ctrlDeps": ["99"], "attr": [
      {"name": "comm_size", "int64Val": "100"}, {"name": "comm_dst", "int32Val": )" +
         peer + R"(}, {"name": "comm_tag", "int32Val": 5}]}
    {"id": "8", "type": "COMM_RECV_NODE", "dataDeps": ["0"], "attr": [
      {"name": "comm_size", "int64Val": "100"}, {"name": "comm_src", "int32Val": )" +
         peer + R"(}, {"name": "comm_tag", "int32Val": 5}]}
    {"id": "9", "type": "COMM_COLL_NODE", "dataDeps": ["7", "8"], "attr": [{"name": "comm_type", "int64Val": "0"},
      {"name": "comm_size", "uint64Val": "1000"}, {"name": "pg_name", "stringVal": "world {1}"}]})";
}
std::string trace_of_feeder(int rank) {
  const std::string peer = std::to_string(1 - rank);
  return R"({"workload_graph": [{"Id": 0, "Name": "c", "NodeType": 4, "runtime": 3, "is_cpu_op": false, "data_deps": []},
    {"Id": 7, "NodeType": 5, "data_deps": [0], "comm_size": 100, "comm_dst": )" +
         peer + R"(, "comm_tag": 5},
    {"Id": 8, "NodeType": 6, "data_deps": [0], "comm_size": 100, "comm_src": )" +
         peer + R"(, "comm_tag": 5},
    {"Id": 9, "NodeType": 7, "data_deps": [7, 8], "comm_type": 0, "comm_size": 1000}]})";
}

Loaded load_traces(const std::vector<std::string>& traces, const std::string& file = "x.{rank}.json",
                   const std::string& hosts = R"(["h5", "h6"])") {
  Folder folder;
  for (std::size_t i = 0; i < traces.size(); ++i) folder.write("x." + std::to_string(i) + ".json", traces[i]);
  Diagnostics diagnostics;
  auto spec = load_scenario(folder.write("s.json", R"({"topology": ")" + std::string(kStar) + R"(", "workloads": [{"file": ")" +
                                                       file + R"(", "hosts": )" + hosts + "}]}"),
                            with_profiles(), diagnostics);
  std::string findings;
  for (const Finding& finding : diagnostics.findings())
    findings += finding.file.substr(finding.file.rfind('/') + 1) + " " + finding.pointer + ": " + finding.text + "\n";
  return {std::move(spec), findings};
}

std::vector<std::string> operations_of_first(const Loaded& loaded) {
  std::vector<std::string> operations;
  for (const DrawnGraph& graph : drawn(loaded)) {
    for (workload::OperationId id = 0; id < graph.graph->size(); ++id) operations.push_back(text_of((*graph.graph)[id]));
  }
  return operations;
}

TEST(GraphWorkload, execution_traces_are_workloads_in_both_forms) {
  const Loaded loaded = load_traces({trace_of_jsonizer(0), trace_of_jsonizer(1)});
  const auto graphs = drawn(loaded);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(loaded.spec->workloads[0].name, "x");
  EXPECT_EQ(loaded.spec->workloads[0].member_queue_pairs, (std::vector<std::uint32_t>{1, 1}));
  EXPECT_EQ(sent(graphs[0], 0), 100u + 1000u) << "a message, and two halves of the all-reduce";
  EXPECT_EQ(graphs[0].graph->traffic(0, graphs[0].graph->size())[0].computed_ps, 3'000'000u);
  EXPECT_EQ(operations_of_first(loaded), operations_of_first(load_traces({trace_of_feeder(0), trace_of_feeder(1)})));
}

TEST(GraphWorkload, one_execution_trace_is_that_of_all_ranks) {
  const std::string all_reduces = R"({"workload_graph": [
      {"Id": 1, "NodeType": 7, "comm_type": 0, "comm_size": 4096}, {"Id": 2, "NodeType": 7, "comm_type": 9, "data_deps": [1]}]})";
  const auto graphs = drawn(load_traces({all_reduces}, "x.0.json", R"(["h[0-3]"])"));
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].adapters.size(), 4u);
  EXPECT_EQ(sent(graphs[0], 3), 2u * 3 * 1024 + 2) << "a ring, and two rounds of a barrier";
}

TEST(GraphWorkload, wrong_execution_traces_are_refused_by_node) {
  const auto of_node = [](const std::string& node) {
    return load_traces({R"({"workload_graph": [)" + node + "]}"}, "x.0.json").findings;
  };
  EXPECT_EQ(load_traces({trace_of_feeder(0)}).findings.substr(0, 11), "x.1.json : ");
  EXPECT_EQ(load_traces({"\x08\x01"}, "x.0.json").findings.empty(), false);
  EXPECT_EQ(of_node(R"({"Id": 1, "NodeType": 4}, {"Id": 1, "NodeType": 4})"), "x.0.json : there are two nodes with id 1\n");
  EXPECT_EQ(of_node(R"({"Id": 1, "NodeType": 4, "data_deps": [2]})"),
            "x.0.json : node 1 waits for node 2, and there is none\n");
  EXPECT_EQ(of_node(R"({"Id": 1, "NodeType": 4, "data_deps": [2]}, {"Id": 2, "NodeType": 4, "data_deps": [1]})"),
            "x.0.json : nodes wait for each other in a circle\n");
  EXPECT_EQ(of_node(R"({"Id": 1, "NodeType": 5, "comm_size": 5, "comm_dst": 2})"), "x.0.json : node 1 names rank 2 of 2\n"
                                                                                   "x.0.json : node 1 names rank 2 of 2\n");
  EXPECT_EQ(of_node(R"({"Id": -1, "NodeType": 4}, {"Id": 2, "NodeType": 8}, {"Id": 3}, 4, {"Id": 5, "NodeType": 4, "runtime": 1.5})"),
            "x.0.json /workload_graph/0: \"Id\" is no whole number from 0\n"
            "x.0.json /workload_graph/1: 8 is no type of a node\n"
            "x.0.json /workload_graph/2: the node has no type\n"
            "x.0.json /workload_graph/3: the node is no object\n"
            "x.0.json /workload_graph/4: \"runtime\" is no whole number from 0\n");
  EXPECT_EQ(of_node(R"({"Id": 1, "NodeType": 7, "comm_type": 1, "comm_size": 5}, {"Id": 2, "NodeType": 7, "comm_size": 5},
                       {"Id": 3, "NodeType": 7, "comm_type": 0})"),
            "x.0.json /workload_graph/0: REDUCE is not done here\n"
            "x.0.json /workload_graph/1: the collective has no type that is known\n"
            "x.0.json /workload_graph/2: the collective has no bytes\n");
  const std::string small = R"({"workload_graph": [{"Id": 1, "NodeType": 7, "comm_type": 0, "comm_size": 5}]})";
  const std::string large = R"({"workload_graph": [{"Id": 4, "NodeType": 7, "comm_type": 0, "comm_size": 6}]})";
  EXPECT_EQ(load_traces({small, large}).findings,
            "x.1.json : node 4 and node 1 of rank 0 are the same collective, and differ in type or size\n");
  EXPECT_EQ(load_traces({trace_of_jsonizer(0), small}).findings, "") << "they are of different groups";
}

TEST(GraphWorkload, the_order_of_workloads_changes_nothing) {
  const std::string a = R"({"name": "a", "pattern": "barrier", "compute": "1 us", "jitter": 0.5})",
                    b = R"({"file": "x.goal"})";
  const auto one = drawn(load(a + "," + b)), other = drawn(load(b + "," + a));
  ASSERT_EQ(one.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(one[i].graph->size(), other[i].graph->size());
    for (std::uint32_t id = 0; id < one[i].graph->size(); ++id)
      EXPECT_EQ(text_of((*one[i].graph)[id]), text_of((*other[i].graph)[id]));
  }
}

TEST(GraphWorkload, the_ideal_is_bytes_over_the_cable_s_rate) {
  const Loaded loaded = load(R"({"pattern": "all-reduce", "algorithm": "ring", "size": "8 MiB"})");
  const auto graphs = drawn(loaded);
  const auto rates = cable_rates(loaded.spec->topology);
  const auto& one = graphs[0].collectives[0];
  const auto bits = static_cast<unsigned __int128>(2 * 7) * (1 << 20) * 8;
  EXPECT_EQ(ideal_time(rates, graphs[0], one.first, one.past).count(),
            static_cast<std::int64_t>(bits * 1'000'000'000'000 / rates[graphs[0].adapters[0]]));
}

TEST(GraphWorkload, what_does_not_fit_is_refused) {
  const auto findings = [](const std::string& workload) { return load(workload).findings; };
  EXPECT_EQ(findings(R"({"name": "d"})"),
            "/workloads/0: a workload has a pattern or a file; give \"pattern\": \"all-reduce\", or "
            "\"file\": \"x.goal\"\n");
  EXPECT_EQ(findings(R"({"pattern": "all-reduce", "algorithm": "chain", "size": "1 MiB"})"),
            "/workloads/0/algorithm: the pattern \"all-reduce\" is not done by \"chain\"; choose among ring, "
            "tree, halving-doubling, "
            "nccl-ring, nccl-tree\n");
  EXPECT_EQ(findings(R"({"pattern": "all-reduce"})"),
            "/workloads/0/size: there is no size of the pattern \"all-reduce\"; give one, such as \"size\": "
            "\"64 MiB\"\n");
  EXPECT_EQ(findings(R"({"pattern": "barrier", "load": 0.5})"),
            "/workloads/0/load: \"load\" does not apply to the pattern \"barrier\"; leave it out; it belongs "
            "to flows\n");
  EXPECT_EQ(findings(R"({"pattern": "permutation", "size": "1 KiB", "chunk": "1 KiB"})"),
            "/workloads/0/chunk: \"chunk\" does not apply to the pattern \"permutation\"; leave it out; it "
            "belongs to collectives and "
            "patterns of training\n");
  EXPECT_EQ(findings(R"({"pattern": "broadcast", "size": "1 KiB", "root": "h9"})"),
            "/workloads/0/root: \"h9\" is none of the workload's hosts; name one of them\n");
  EXPECT_EQ(findings(R"({"pattern": "expert-parallel", "size": "1 KiB", "experts": 4})"),
            "/workloads/0/experts: 4 experts are fewer than 8 hosts; give each host one\n");
  EXPECT_EQ(findings(R"({"pattern": "all-reduce", "algorithm": "nccl-ring", "size": "1 TiB", "chunk": "1 KiB"})"),
            "/workloads/0: the workload would have about 30064 million operations; 30 million are the most: take "
            "larger chunks, fewer "
            "hosts or fewer repetitions\n");
  EXPECT_EQ(findings(R"({"pattern": "barrier", "hosts": ["h1"]})"),
            "/workloads/0/hosts: the workload has fewer than two hosts; name more\n");
  EXPECT_EQ(findings(R"({"pattern": "barrier", "jitter": 0.1})"),
            "/workloads/0/jitter: \"jitter\" does not apply to the pattern \"barrier\"; leave it out; it "
            "belongs to workloads with "
            "\"compute\"\n");
}

TEST(GraphWorkload, findings_of_a_file_have_its_lines) {
  EXPECT_EQ(load(R"({"file": "x.goal"})", "", "num_ranks 2\nrank 0 {\njump\n}\n").findings,
            "line 3: expected \":\", \"requires\" or \"irequires\" behind \"jump\", found the end of the "
            "line; write `a: calc 10` or `a "
            "requires b`\n");
  EXPECT_EQ(load(R"({"file": "x.goal"})", "", "num_ranks 9\nrank 0 {\ncalc 1\n}\n").findings,
            "/workloads/0/hosts: the file has 9 ranks, and the workload 8 hosts; name more hosts, or use a "
            "larger topology\n");
  EXPECT_EQ(load(R"({"file": "x.goal", "size": "1 KiB", "channels": 2})").findings,
            "/workloads/0/size: \"size\" does not apply to a file of messages; leave it out; it belongs to patterns\n"
            "/workloads/0/channels: \"channels\" does not apply to a file of messages; leave it out; it belongs to "
            "patterns\n");
}

}  // namespace
}  // namespace graph_workloads
}  // namespace verbatim::config
