// `run --seeds`: reports failing seeds in order for any number of parallel runs, and how to repeat one.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

// Fails when the seed's first random byte is divisible by four.
const char kSometimes[] =
    "client=/usr/bin/python3 -I -c 'import os, sys; sys.exit(3 * (os.urandom(1)[0] % 4 == 0))'";

TEST(Seeds, wrong_ranges_and_what_does_not_go_with_them) {
  for (const char* range : {"5..1", "a..b", "1..", "..3", "1...3", "-1..3", "1,3"}) {
    const Finished run =
        verbatim({"run", "--topology", kTopology, "--seeds=" + std::string(range), "server=true"});
    EXPECT_EQ(run.code, 2) << range;
    EXPECT_NE(run.err.find("is not a range of seeds; write it like \"1..200\"\n"), std::string::npos)
        << run.err;
  }
  const Finished run = verbatim({"run", "--topology", kTopology, "--seeds", "1..2", "--seed", "1", "--trace",
                                 "t", "--pcap", "p", "server=true"});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("--seeds: cannot be used with --seed;"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("--seeds: cannot be used with --trace;"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("--seeds: cannot be used with --pcap;"), std::string::npos) << run.err;
}

TEST(Seeds, all_as_expected) {
  const Finished run =
      verbatim({"run", "--topology", kTopology, "--seeds", "7..9", "server=echo hello", "client=true"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "seeds 7..9: 3 as expected, 0 failed\n");
  EXPECT_EQ(verbatim({"run", "--topology", kTopology, "--seeds", "4", "server=true"}).out,
            "seeds 4..4: 1 as expected, 0 failed\n");
}

TEST(Seeds, of_flows_have_the_range_of_completion_times) {
  const config::Folder folder;
  folder.write("s.json", R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/leaf_spine_16_roce.json",
      "workloads": [{"pattern": "permutation", "size": "64 KiB"}]})");
  const Finished run = verbatim({"run", "--seeds", "1..3", "--out", "out", "s.json"}, folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("3 as expected, 0 failed\n  mean completion time: [0-9.]+ us \\(seed [123]\\) to [0-9.]+ us \\(seed [123]\\)\n"
                                                    "  median [^\n]*\n  p99 [^\n]*\n  longest [^\n]*\n")))
      << run.out;
  EXPECT_NE(verbatim({"run", "--seeds", "1..3", "s.json"}, folder.path()).out.find("`verbatim sweep s.json --vary seed=1..3`"), std::string::npos);
}

TEST(Seeds, failing_ones_are_named_in_order_and_repeated_by_the_command_shown) {
  const auto run_with = [](const char* jobs) {
    return verbatim({"run", "--topology", kTopology, "--seeds", "1..20", "--jobs", jobs, kSometimes});
  };
  const Finished one = run_with("1"), four = run_with("4");
  EXPECT_EQ(one.code, 1) << one.out << one.err;
  EXPECT_EQ(one.out, four.out);
  EXPECT_EQ(one.code, four.code);
  std::vector<int> failed;
  std::istringstream lines(one.out);
  std::string line, repeat;
  while (std::getline(lines, line)) {
    int seed = 0;
    if (std::sscanf(line.c_str(), "seed %d: exit code 1", &seed) == 1)
      failed.push_back(seed);
    if (line.starts_with("repeat: ")) repeat = line.substr(8);
  }
  ASSERT_FALSE(failed.empty());
  // A failure is described once; other seeds with the same kind of failure refer to it.
  const auto told = one.out.find(": exit code 1: on host client, ");
  EXPECT_NE(told, std::string::npos) << one.out;
  EXPECT_EQ(one.out.find(": exit code 1: on host client, ", told + 1), std::string::npos) << one.out;
  EXPECT_LT(failed.size(), 20u);
  EXPECT_TRUE(std::is_sorted(failed.begin(), failed.end()));
  const std::string summary = "seeds 1..20: " + std::to_string(20 - failed.size()) + " as expected, " +
                              std::to_string(failed.size()) + " failed\n";
  EXPECT_NE(one.out.find(summary), std::string::npos) << one.out;
  EXPECT_NE(repeat.find(" --seed " + std::to_string(failed.front()) + " "), std::string::npos) << repeat;
  EXPECT_EQ(run_command({"/bin/sh", "-c", repeat}).code, 1) << repeat;
}

// Messages of a failure contain no real time, which differs in each run and on each machine.
TEST(Seeds, what_is_told_of_a_failure_does_not_depend_on_real_time) {
  const Finished run = verbatim({"run", "--topology", kTopology, "--seeds", "1..1",
                                 "client=/usr/bin/python3 -I -c 'import sys; sum(range(90_000_000)); sys.exit(3)'"});
  EXPECT_TRUE(run.out.starts_with("seed 1: exit code 1: on host client, ")) << run.out;
}

TEST(Seeds, what_cannot_be_started_ends_them_with_a_summary) {
  // A usage error of the first run; no other run starts.
  const Finished run = verbatim({"run", "--topology", kTopology, "--seeds", "1..50", "--jobs", "1", "--out",
                                 "/dev/null/nowhere", "server=true"});
  EXPECT_EQ(run.code, 2) << run.out << run.err;
  EXPECT_NE(run.out.find("seeds 1..50: 0 as expected, 1 failed, 49 did not finish\n"), std::string::npos) << run.out;
}

TEST(Seeds, what_is_left_in_the_folder) {
  config::Folder folder;
  const std::string out = folder.path() + "/out";
  const Finished run = verbatim(
      {"run", "--topology", kTopology, "--seeds", "1..12", "--out", out, "--freedom", "spec", kSometimes});
  std::ifstream file(out + "/seeds.json");
  const auto json = nlohmann::json::parse(file);
  ASSERT_EQ(json["seeds"].size(), 12u);
  std::size_t failed = 0;
  for (const auto& entry : json["seeds"]) {
    const bool as_expected = entry["exit_code"] == 0;
    failed += as_expected ? 0 : 1;
    EXPECT_EQ(entry["digest"].get<std::string>().size(), 32u);
    const std::string of_seed = out + "/seed-" + std::to_string(entry["seed"].get<int>());
    EXPECT_EQ(std::filesystem::exists(of_seed + "/run.json"), !as_expected);
  }
  EXPECT_EQ(json["failed"].size(), failed);
  EXPECT_GT(failed, 0u) << run.out;
}

}  // namespace
}  // namespace verbatim::cli
