// `--slurm` with a real Slurm of two nodes on this machine, which the test starts and stops (cluster.sh).
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using support::text_of_file;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const char kCluster[] = VERBATIM_SOURCE_DIR "/tests/slurm/cluster.sh";

// One cluster for all tests.
class Slurm : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new support::TemporaryFolder;
    const Finished started = run_command({"bash", kCluster, "start", cluster_->path()}, "/");
    reason_ = started.out.starts_with("ready") ? "" : started.out + started.err;
    ::setenv("SLURM_CONF", (cluster_->path() + "/slurm.conf").c_str(), 1);
  }
  static void TearDownTestSuite() {
    run_command({"bash", kCluster, "stop", cluster_->path()}, "/");
    delete cluster_;
  }
  void SetUp() override {
    if (!reason_.empty()) GTEST_SKIP() << reason_;
    fs::copy_file(std::string(VERBATIM_LITMUS) + "/last_byte", path("program"));
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  Finished divide(std::vector<std::string> options) const {
    options.insert(options.begin(), "explore");
    options.insert(options.end(), {"--topology", support::topology("two_hosts"), "server=./program buggy",
                                   "client=./program buggy server"});
    return verbatim(std::move(options), folder_.path());
  }
  Finished collect(std::vector<std::string> options) const {
    options.insert(options.begin(), {"explore", "--collect"});
    return verbatim(std::move(options), folder_.path());
  }
  // Whether all jobs have ended within a minute.
  static bool await_jobs() {
    for (int i = 0; i < 300; ++i) {
      if (run_command({"squeue", "--noheader"}).out.empty()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return false;
  }
  // The process that runs a share; 0: none.
  static pid_t process_of_share(const std::string& folder, const std::string& share) {
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != name.npos) continue;
      const std::string words = text_of_file(entry.path() / "cmdline");
      if (words.find(std::string("\0share\0", 7)) != words.npos &&
          words.ends_with(folder + std::string(1, '\0') + share + std::string(1, '\0')))
        return std::atoi(name.c_str());
    }
    return 0;
  }

  static inline support::TemporaryFolder* cluster_ = nullptr;
  static inline std::string reason_;
  support::TemporaryFolder folder_;
};

TEST_F(Slurm, an_array_on_two_nodes_gives_the_same_as_one_share_by_hand) {
  const Finished submitted =
      divide({"--runs", "500", "--shares", "5", "--slurm=--time=5 --comment='two words'", "--out", "array"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_THAT(submitted.out, HasSubstr("5 units in 5 shares"));
  EXPECT_THAT(submitted.out, HasSubstr("submitted: job "));
  ASSERT_TRUE(await_jobs());
  const Finished merged = collect({"array"});
  EXPECT_EQ(merged.code, 1) << merged.out << merged.err;
  EXPECT_THAT(merged.out, HasSubstr("explored 500 schedules"));
  EXPECT_THAT(merged.out, Not(HasSubstr("missing")));
  std::string results;
  for (const fs::directory_entry& entry : fs::directory_iterator(path("array/results")))
    results += text_of_file(entry.path());
  EXPECT_THAT(results, HasSubstr("\"machine\":\"n1\""));
  EXPECT_THAT(results, HasSubstr("\"machine\":\"n2\""));

  ASSERT_EQ(divide({"--runs", "500", "--shares", "1", "--out", "hand"}).code, 0);
  EXPECT_EQ(run_command({path("hand/job.sh"), "0"}).code, 0);
  collect({"hand"});
  const Json array = Json::parse(text_of_file(path("array/explore.json"))),
             hand = Json::parse(text_of_file(path("hand/explore.json")));
  EXPECT_EQ(array["digest"], hand["digest"]);
  EXPECT_EQ(array["failures"][0]["decisions"], hand["failures"][0]["decisions"]);
}

TEST_F(Slurm, a_killed_task_is_named_and_only_its_share_is_submitted_again) {
  ASSERT_EQ(divide({"--runs", "1600", "--shares", "2", "--slurm", "--out", "s"}).code, 0);
  pid_t victim = 0;
  for (int i = 0;
       i < 1000 &&
       (victim == 0 || text_of_file(path("s/results/share-0.1.jsonl")).find("\"unit\"") == std::string::npos);
       ++i) {
    victim = process_of_share(path("s"), "0");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_NE(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  EXPECT_THAT(collect({"s", "--json"}).out, HasSubstr("\"missing_shares\""));
  ASSERT_TRUE(await_jobs());
  const Finished half = collect({"s", "--slurm"});
  EXPECT_EQ(half.code, 1) << half.err;
  EXPECT_THAT(half.out, HasSubstr(" of share 0, whose last attempt (results/share-0.1.jsonl, machine n"));
  EXPECT_THAT(half.out, Not(HasSubstr(" of share 1")));
  EXPECT_THAT(half.out, HasSubstr("submitted again: 1 share, job "));
  ASSERT_TRUE(await_jobs());
  EXPECT_FALSE(fs::exists(path("s/results/share-1.2.jsonl")));
  EXPECT_THAT(collect({"s"}).out, HasSubstr("explored 1600 schedules"));
}

TEST_F(Slurm, a_node_with_another_program_refuses_and_is_named) {
  ASSERT_EQ(divide({"--runs", "200", "--shares", "2", "--out", "s"}).code, 0);
  fs::copy_file(path("program"), path("sound"));
  std::ofstream(path("program"), std::ios::app) << "x";
  EXPECT_THAT(collect({"s", "--slurm"}).out, HasSubstr("submitted again: 2 shares, job "));
  ASSERT_TRUE(await_jobs());
  const Finished refused = collect({"s"});
  EXPECT_EQ(refused.code, 71) << refused.out << refused.err;
  for (const char* share : {"0", "1"})
    EXPECT_THAT(refused.out, ::testing::ContainsRegex(
                                 "results/share-" + std::string(share) +
                                 ".1.jsonl of machine n[12]: refused: [^\n]*/program has another content"));
  EXPECT_THAT(refused.out, HasSubstr("incomplete: 0 of 2 units have results"));
  fs::rename(path("sound"), path("program"));
  EXPECT_THAT(collect({"s", "--slurm"}).out, HasSubstr("submitted again: 2 shares"));
  ASSERT_TRUE(await_jobs());
  EXPECT_THAT(collect({"s"}).out, HasSubstr("explored 200 schedules"));
}

TEST_F(Slurm, options_that_sbatch_refuses_are_shown) {
  const Finished refused = divide({"--runs", "200", "--slurm=--partition=nowhere", "--out", "s"});
  EXPECT_EQ(refused.code, 71) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("no job was submitted: sbatch: error: "));
}

// Without the commands of Slurm there is a sentence.
TEST(WithoutSlurm, a_missing_sbatch_is_named) {
  support::TemporaryFolder folder;
  const Finished run =
      run_command({VERBATIM_PROGRAM, "run", "--seeds", "1..2", "--slurm", "--out", folder.path() + "/s",
                   "--topology", support::topology("two_hosts"), "server=/bin/true"},
                  "/", [] { ::setenv("PATH", "/nowhere", 1); });
  EXPECT_EQ(run.code, 71) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("no job was submitted: sbatch is not installed here"));
}

}  // namespace
}  // namespace verbatim::cli
