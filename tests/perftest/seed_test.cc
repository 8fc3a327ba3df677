// perftest draws its packet sequence numbers from its process id and the time: they follow the seed, and
// nothing else.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/support/verbatim_run.h"

namespace verbatim::perftest {
namespace {

using support::RunReport;

RunReport with_seed(const std::string& seed) {
  return support::run({.commands = {"server=ib_send_lat -n 20", "client=ib_send_lat -n 20 server"},
                       .options = {"--seed", seed}});
}

// " local address: LID 0x01 QPN 0x0047 PSN 0xa2f1ee"
std::vector<std::string> psns(const RunReport& run) {
  std::vector<std::string> found;
  for (const char* host : {"server", "client"}) {
    std::smatch match;
    const std::string& output = run.output(host);
    EXPECT_TRUE(std::regex_search(output, match, std::regex(R"(local address:.* PSN (0x[0-9a-f]+))")))
        << output;
    found.push_back(match[1]);
  }
  return found;
}

TEST(Seed, decides_the_packet_sequence_numbers) {
  std::set<std::string> numbers, digests;
  constexpr int kSeeds = 4;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const RunReport run = with_seed(std::to_string(seed));
    ASSERT_EQ(run.code, 0) << run.story();
    for (const std::string& psn : psns(run)) numbers.insert(psn);
    digests.insert(run.digest());
  }
  EXPECT_EQ(numbers.size(), 2u * kSeeds) << "two ends of each run";
  EXPECT_EQ(digests.size(), std::size_t{kSeeds});
}

TEST(Seed, repeats_them) {
  const RunReport first = with_seed("7"), again = with_seed("7");
  EXPECT_EQ(psns(first), psns(again));
  EXPECT_EQ(first.outputs, again.outputs);
  EXPECT_EQ(first.digest(), again.digest());
  EXPECT_EQ(first.digest().size(), 32u);
}

// Process ids are in Linux' range for any seed.
TEST(Seed, of_any_size_gives_a_process_id) {
  std::set<std::string> pids;
  for (const char* seed : {"1", "2", "30000", "30001", "9223372036854775807"}) {
    const RunReport run = support::run({.commands = {"server=sh -c 'echo $$'"}, .options = {"--seed", seed}});
    ASSERT_EQ(run.code, 0) << run.story();
    const int pid = std::stoi(run.output("server"));
    EXPECT_GE(pid, 1000) << seed;
    EXPECT_LT(pid, 31'000) << seed;
    pids.insert(run.output("server"));
    if (std::string(seed) == "1") {
      EXPECT_EQ(pid, 1000);
    }
  }
  EXPECT_EQ(pids.size(), 4u) << "seeds 30000 apart share their ids";
}

}  // namespace
}  // namespace verbatim::perftest
