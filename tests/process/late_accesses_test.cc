// With freedom spec and --spec-accesses threads are late between two accesses to memory, with no call between.
#include <set>
#include <string>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

RunReport run_unlocked(const std::string& how, std::int64_t seed, std::vector<std::string> options) {
  support::RunRequest request{.commands = {"server=" + support::quoted(std::string(PROCESS_FOLDER) + "/unlocked") + " " + how}};
  request.options = {"--seed", std::to_string(seed)};
  request.options.insert(request.options.end(), options.begin(), options.end());
  return support::run(request);
}

// What the counter had in the runs of these seeds.
std::set<std::string> counted(const std::string& how, std::int64_t last, const std::vector<std::string>& options) {
  std::set<std::string> outputs;
  for (std::int64_t seed = 1; seed <= last; ++seed) {
    const RunReport run = run_unlocked(how, seed, options);
    EXPECT_EQ(run.code, 0) << run.story();
    outputs.insert(run.output("server"));
  }
  return outputs;
}

class LateAccesses : public ::testing::TestWithParam<const char*> {};

TEST_P(LateAccesses, additions_of_two_are_lost_and_only_so) {
  EXPECT_EQ(counted(GetParam(), 12, {"--freedom", "spec"}), std::set<std::string>{"8\n"});
  const std::set<std::string> late = counted(GetParam(), 24, {"--freedom", "spec", "--spec-accesses"});
  EXPECT_TRUE(late.contains("8\n"));
  EXPECT_TRUE(late.contains("7\n") || late.contains("6\n"));
  for (const std::string& output : late) EXPECT_LE(output, "8\n");
}

TEST_P(LateAccesses, are_the_same_in_slices_and_call_by_call) {
  for (std::int64_t seed = 1; seed <= 12; ++seed) {
    const std::vector<std::string> options = {"--freedom", "spec", "--spec-accesses"};
    const RunReport slices = run_unlocked(GetParam(), seed, options), again = run_unlocked(GetParam(), seed, options);
    EXPECT_EQ(slices.digest(), again.digest()) << slices.story();
    const RunReport oracle = run_unlocked(GetParam(), seed, {"--freedom", "spec", "--spec-accesses", "--call-by-call"});
    EXPECT_EQ(slices.digest(), oracle.digest()) << slices.story();
  }
}

// However soon a thread that waits by looking at memory is poked.
TEST_P(LateAccesses, do_not_depend_on_when_a_thread_that_spins_is_looked_at) {
  for (std::int64_t seed = 1; seed <= 6; ++seed) {
    std::set<std::string> digests;
    for (const char* period : {"20", "50", "1000", "20000"}) {
      digests.insert(run_unlocked(GetParam(), seed, {"--freedom", "spec", "--spec-accesses", "--poke-period", period}).digest());
    }
    EXPECT_EQ(digests.size(), 1u) << "seed " << seed;
  }
}

TEST_P(LateAccesses, are_never_late_with_freedom_friendly) {
  const RunReport with = run_unlocked(GetParam(), 1, {"--spec-accesses"}), without = run_unlocked(GetParam(), 1, {});
  EXPECT_EQ(with.digest(), without.digest()) << with.story();
}

INSTANTIATE_TEST_SUITE_P(Of, LateAccesses, ::testing::Values("threads", "processes"));

// An instruction traps once between two calls, however often it is executed.
TEST(LateAccessesInLoops, cost_no_trap_for_each_turn) {
  const RunReport run = run_unlocked("loop", 2, {"--freedom", "spec", "--spec-accesses"});
  EXPECT_EQ(run.output("server"), "2000000\n") << run.story();
  EXPECT_LT(run.report["wall_seconds"].get<double>(), 2);
}

}  // namespace
}  // namespace verbatim
