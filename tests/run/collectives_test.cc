// Runs with collectives, training patterns and GOAL files, alone and together with programs.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using ::testing::HasSubstr;

RunReport run(const std::string& keys, const std::vector<std::string>& options = {}, const std::string& topology = "star_8",
              const std::string& goal = "") {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() + "/s.json";
  std::ofstream(path) << R"({"topology": ")" << support::topology(topology) << R"(", )" << keys << "}";
  std::ofstream(folder.path() + "/x.goal") << goal;
  return support::run({.scenario = path, .options = options});
}

TEST(Collectives, an_all_reduce_has_time_bandwidth_and_ideal) {
  const RunReport result = run(
      R"("workloads": [{"pattern": "all-reduce", "algorithm": "ring", "size": "8 MiB", "start": "5 us"}])", {"--verify"});
  ASSERT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, HasSubstr("both runs have the same trace"));
  const auto& all = result.report["collectives"];
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["name"], "all-reduce");
  EXPECT_EQ(all[0]["algorithm"], "ring");
  EXPECT_EQ(all[0]["hosts"], 8);
  EXPECT_EQ(all[0]["bytes"], 8 << 20);
  EXPECT_EQ(all[0]["messages"], 8 * 14);
  EXPECT_EQ(all[0]["operations"], all[0]["ended"]);
  const auto& one = all[0]["runs"][0];
  EXPECT_EQ(one["start_ps"], 5'000'000);
  const auto time = one["time_ps"].get<std::int64_t>();
  EXPECT_EQ(time, one["finish_ps"].get<std::int64_t>() - 5'000'000);
  // 14 parts of 1 MiB, plus headers and latencies of the steps.
  EXPECT_GT(time, one["ideal_ps"].get<std::int64_t>());
  EXPECT_LT(time * 8 / 10, one["ideal_ps"].get<std::int64_t>());
  const auto algorithm = one["algorithm_bytes_per_second"].get<std::int64_t>();
  EXPECT_EQ(algorithm, static_cast<std::int64_t>(static_cast<unsigned __int128>(8 << 20) * 1'000'000'000'000 / time));
  EXPECT_NEAR(one["bus_bytes_per_second"].get<double>(), double(algorithm) * 14 / 8, 2.0);
  EXPECT_THAT(result.out, HasSubstr("all-reduce: all-reduce by ring, 8 hosts, 8 MiB: "));
  EXPECT_THAT(result.out, HasSubstr(" GB/s; ideal "));
}

TEST(Collectives, the_order_of_workloads_changes_nothing) {
  const std::string a = R"({"name": "a", "pattern": "all-to-all", "algorithm": "pairwise", "size": "64 KiB"})";
  const std::string b = R"({"name": "b", "pattern": "pipeline", "size": "64 KiB", "compute": "3 us", "jitter": 0.3})";
  const RunReport one = run("\"workloads\": [" + a + "," + b + "]"), other = run("\"workloads\": [" + b + "," + a + "]");
  ASSERT_EQ(one.code, 0) << one.story();
  EXPECT_EQ(one.report["digest"], other.report["digest"]);
  const RunReport seeded = run("\"seed\": 2, \"workloads\": [" + a + "," + b + "]");
  EXPECT_NE(one.report["digest"], seeded.report["digest"]);
}

TEST(Collectives, a_goal_file_runs) {
  const RunReport result = run(R"("workloads": [{"file": "x.goal", "operation": "send"}])", {}, "two_hosts",
                               "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 100000b to 1\nb requires a\n}\n"
                               "rank 1 {\nrecv 100000b from -1\n}\n");
  ASSERT_EQ(result.code, 0) << result.story();
  const auto& one = result.report["collectives"][0];
  EXPECT_EQ(one["pattern"], "goal");
  EXPECT_EQ(one["bytes"], 100'000);
  EXPECT_GT(one["finish_ps"], 1'000'000 + 100'000 * 80);
}

TEST(Collectives, what_waits_for_ever_is_a_deadlock) {
  const std::string workload = R"("workloads": [{"file": "x.goal"}])";
  const std::string goal = "num_ranks 2\nrank 0 {\nrecv 5b from 1 tag 1\n}\nrank 1 {\nsend 5b to 0 tag 2\n}\n";
  const RunReport result = run(workload, {}, "two_hosts", goal);
  EXPECT_EQ(result.code, 3) << result.story();
  EXPECT_EQ(result.report["outcome"], "deadlock");
  EXPECT_THAT(result.err,
              HasSubstr("x is deadlocked: 1 of 2 operations have ended, and the others wait for what never happens"));
  EXPECT_THAT(result.err, HasSubstr("x: rank 0: receive of 5 bytes from rank 1, tag 1, waits for a message"));
  EXPECT_THAT(result.err, HasSubstr("x: rank 1: send of 5 bytes to rank 0, tag 2, has arrived, and no receive takes it"));
  EXPECT_EQ(result.report["collectives"][0]["waiting"].size(), 2u);
  EXPECT_EQ(run(workload + R"(, "expect": {"outcome": "deadlock"})", {}, "two_hosts", goal).code, 0);
}

TEST(Collectives, a_broken_cable_is_a_failure) {
  const RunReport result = run(R"("workloads": [{"pattern": "all-reduce", "size": "64 MiB"}],
                                 "faults": [{"action": "link_down", "link": "h3", "at": "100 us"}])");
  EXPECT_EQ(result.code, 1) << result.story();
  EXPECT_THAT(result.err, HasSubstr("failed: IBV_WC_RETRY_EXC_ERR"));
}

TEST(Collectives, they_run_beside_programs) {
  const std::string programs = R"("programs": [{"host": "server", "command": "ibv_rc_pingpong -n 100"},
                                                {"host": "client", "command": "ibv_rc_pingpong -n 100 server", "start": "1 ms"}])";
  const RunReport result = run(programs + R"(, "workloads": [{"pattern": "all-reduce", "size": "16 MiB", "repeat": 3}])",
                               {"--verify"}, "two_hosts");
  ASSERT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.report["collectives"][0]["runs"].size(), 3u);
}

TEST(Collectives, until_cuts_them_off) {
  const RunReport result = run(R"("workloads": [{"pattern": "all-reduce", "size": "64 MiB"}], "until": "1 ms")");
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.out, HasSubstr(" operations have ended"));
}

}  // namespace
}  // namespace verbatim
