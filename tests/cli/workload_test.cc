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
  // 7 MiB at 100 Gbps; of 2 (n - 1) / n times 8 MiB each host sends 12 MiB.
  EXPECT_EQ(run.out,
            "incast: 7 flows, 7 MiB, 1 MiB each, from 5.000 us\n"
            "  ideal: 587.202 us, for the bytes of leaf0:1 at 100 Gbps\n"
            "noise: 8 flows, without end\n"
            "all-reduce: 24 messages, 48 MiB, 2 MiB each, from 0.000 us\n"
            "  ideal: 1006.632 us, for the bytes of h1:1 at 100 Gbps\n"
            "\n"
            "  busiest links            bytes   ideal time\n"
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
