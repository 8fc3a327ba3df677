// `verbatim workload`: demands of flows and collectives on the fabric, computed by hand.
#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace workload_verb {
namespace {

using json = nlohmann::json;

constexpr char kStar[] = VERBATIM_SOURCE_DIR "/topologies/star_8.json";

std::string scenario(const std::string& workloads) {
  return R"({"topology": ")" + std::string(kStar) + R"(", "workloads": [)" + workloads + "]}";
}

TEST(WorkloadVerb, sums_bytes_and_finds_the_busiest_link) {
  config::Folder folder;
  folder.write("s.json", scenario(R"({"pattern": "incast", "to": ["h0"], "size": "1 MiB", "start": "5 us"},
                                     {"pattern": "all-reduce", "algorithm": "ring", "size": "8 MiB", "hosts": ["h[1-4]"]},
                                     {"name": "noise", "pattern": "permutation"})"));
  const Finished run = verbatim({"workload", "s.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  // Incast: 7 MiB at 100 Gbps. All-reduce: each host sends 2 (n - 1) / n times 8 MiB, which is 12 MiB.
  EXPECT_EQ(run.out,
            "incast: 7 flows, 7 MiB, 1 MiB each, from 5.000 us\n"
            "  ideal: 587.202 us, for the bytes of leaf0:1 at 100 Gbps\n"
            "noise: 8 flows, without end\n"
            "all-reduce: 24 messages, 48 MiB, 2 MiB each, from 0.000 us\n"
            "  ideal: 1006.632 us, for the bytes of h1:1 at 100 Gbps\n"
            "\n"
            "  busiest links            bytes         time\n"
            "  h1:1           leaf0:2  13 MiB  1090.519 us\n"
            "  h2:1           leaf0:3  13 MiB  1090.519 us\n"
            "  h3:1           leaf0:4  13 MiB  1090.519 us\n"
            "  h4:1           leaf0:5  13 MiB  1090.519 us\n"
            "  leaf0:2        h1:1     12 MiB  1006.632 us\n"
            "  leaf0:3        h2:1     12 MiB  1006.632 us\n"
            "  leaf0:4        h3:1     12 MiB  1006.632 us\n"
            "  leaf0:5        h4:1     12 MiB  1006.632 us\n"
            "  and 4 more; all with --json\n");
  const json document = json::parse(verbatim({"workload", "--json", "s.json"}, folder.path()).out);
  EXPECT_EQ(document["links"].size(), 12u);
  EXPECT_EQ(document["workloads"][0]["ideal_ps"], 587'202'560);
  EXPECT_EQ(document["workloads"][0]["busiest"]["to"], "h0:1");
}

// Flows of 4 MiB from host i to the host that many places further.
std::string shifted_flows(int hosts, int places) {
  std::string flows;
  for (int i = 0; i < hosts; ++i)
    flows += (i == 0 ? "" : ", ") + std::string(R"({"from": "h)") + std::to_string(i) + R"(", "to": "h)" + std::to_string(i + places) +
             R"(", "bytes": "4 MiB"})";
  return R"({"topology": "t.json", "flows": [)" + flows + "]}";
}

// Eight hosts at each leaf, and four uplinks: the ideal is that of a run that spreads packets evenly over all uplinks,
// however one route of each pair loads them.
TEST(WorkloadVerb, ideal_of_a_fabric_with_several_paths_is_a_bound_for_all_routes) {
  config::Folder folder;
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", "interface_mtu": 9000, "load_balancing": {"by": "packet", "grade": "1 KiB"},
      "generate": {"shape": "leaf_spine", "hosts": 32, "hosts_per_leaf": 8, "spines": 4, "rate": "100 Gbps", "hca": "connectx5", "flow_control": "pfc"}})");
  folder.write("s.json", shifted_flows(8, 9));
  const Finished run = verbatim({"workload", "s.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("  ideal: 671.088 us, for the bytes that leave leaf0 by 4 cables, 400 Gbps together\n"), std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("packets may take others"), std::string::npos) << run.out;
  const json row = json::parse(verbatim({"workload", "--json", "s.json"}, folder.path()).out)["workloads"][0];
  EXPECT_EQ(row["bottleneck"]["switches"], json({"leaf0"}));
  EXPECT_EQ(row["bottleneck"]["direction"], "out");
  EXPECT_EQ(row["bottleneck"]["cables"], 4);
  EXPECT_EQ(row["ideal_ps"], 671'088'640);
  EXPECT_GE(row["busiest"]["ideal_ps"], 671'088'640);
  const Finished real = verbatim({"run", "--quiet", "--out", "out", "s.json"}, folder.path());
  EXPECT_EQ(real.code, 0) << real.err;
  config::Diagnostics diagnostics;
  const json document = json::parse(config::read_file(folder.path() + "/out/run.json", diagnostics).value_or("{}"));
  EXPECT_GE(document["virtual_time_ps"], 671'088'640);
  EXPECT_LT(document["virtual_time_ps"], 1'000'000'000);
}

// Twelve hosts of a pod have 6 cables to the cores, the three of each leaf 3 to the pod's aggregation switches.
TEST(WorkloadVerb, ideal_counts_the_cables_of_a_pod) {
  config::Folder folder;
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", "generate": {"shape": "fat_tree", "k": 6, "hosts": 72,
      "names": "place", "rate": "100 Gbps", "per_tier": {"agg": {"oversubscription": "2:1"}}}})");
  folder.write("s.json", shifted_flows(12, 12));
  const Finished run = verbatim({"workload", "s.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("ideal: 671.088 us, for the bytes that leave the 7 switches pod0-agg0 to pod0-leaf3 by 6 cables, 600 Gbps together"),
            std::string::npos)
      << run.out;
}

// On InfiniBand without adaptive routing the cables of the routes are bounds too.
TEST(WorkloadVerb, ideal_of_fixed_routes_is_that_of_the_busiest_link) {
  config::Folder folder;
  folder.write("t.json", R"({"name": "t", "generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 4, "spines": 4, "rate": "EDR 4x"}})");
  folder.write("s.json", R"({"topology": "t.json", "flows": [{"from": "h0", "to": "h4", "bytes": "4 MiB"}, {"from": "h1", "to": "h4", "bytes": "1 MiB"},
      {"from": "h2", "to": "h5", "bytes": "2 MiB"}]})");
  const json row = json::parse(verbatim({"workload", "--json", "s.json"}, folder.path()).out)["workloads"][0];
  EXPECT_EQ(row["ideal_ps"], row["busiest"]["ideal_ps"]);
  EXPECT_EQ(row["bottleneck"]["bytes"], 5 << 20);
  EXPECT_EQ(row["bottleneck"]["cables"], 1);
}

TEST(WorkloadVerb, a_load_without_end_has_its_share_of_the_links) {
  config::Folder folder;
  const std::string file =
      R"({"topology": ")" + std::string(kStar) + R"(", "workloads": [{"pattern": "random", "load": 0.25, "size": "1 KiB"}], "until": "1 ms"})";
  folder.write("s.json", file);
  const Finished run = verbatim({"workload", "s.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "random: random flows at 25.0000 % of each host's link, from 0.000 us, without end\n");
}

TEST(WorkloadVerb, refuses_scenarios_without_traffic_and_bad_ones) {
  config::Folder folder;
  folder.write("p.json", R"({"topology": ")" + std::string(kStar) + R"(", "programs": [{"host": "h0", "command": "true"}]})");
  Finished run = verbatim({"workload", "p.json"}, folder.path());
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, "verbatim: p.json: there are no workloads and no flows; `verbatim describe` shows the topology\n");
  folder.write("b.json", scenario(R"({"pattern": "permutation", "size": "1 MB"})"));
  run = verbatim({"workload", "b.json"}, folder.path());
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("/workloads/0/size"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace workload_verb
}  // namespace verbatim::cli
