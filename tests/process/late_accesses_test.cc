// With freedom spec and --spec-accesses threads are late between two accesses to memory, with no call between.
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cpu_time.h"
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

// Values of the counter in the runs of these seeds.
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
  const double before = support::cpu_of_children();
  const RunReport run = run_unlocked("loop", 2, {"--freedom", "spec", "--spec-accesses"});
  EXPECT_EQ(run.output("server"), "2000000\n") << run.story();
  EXPECT_LT(support::cpu_of_children() - before, 2) << "2,000,000 traps take longer";
}

// Visible orders of two threads' stores on x86: the outcomes of store_buffer.c. Each of them occurs.
struct StoreBufferCase {
  const char* name;
  std::set<std::string> outcomes;
  std::string buffered = {};  // that which needs a store buffer
};
void PrintTo(const StoreBufferCase& which, std::ostream* out) { *out << which.name; }

const std::string k01 = "r0=0 r1=1 r2=0 r3=0", k10 = "r0=1 r1=0 r2=0 r3=0", k11 = "r0=1 r1=1 r2=0 r3=0", k00 = "r0=0 r1=0 r2=0 r3=0";

const StoreBufferCase kStoreBufferCases[] = {
    {"plain", {k00, k01, k10, k11}, k00},
    {"behind_branch", {k00, k01, k10, k11}, k00},
    {"in_function", {k00, k01, k10, k11}, k00},
    {"behind_mfence", {k01, k10, k11}},
    {"behind_fence", {k01, k10, k11}},
    {"behind_exchange", {k01, k10, k11}},
    {"behind_locked", {k01, k10, k11}},
    {"behind_mutex", {k01, k10, k11}},
    {"behind_library", {k01, k10, k11}},
    {"behind_call", {k01, k10, k11}},
    {"behind_cpuid", {k01, k10}},  // which is replaced, with what is beside it: nobody is late there
    {"ordered", {k00, k01, k11}},
    {"forwarded", {"r0=1 r1=0 r2=1 r3=0", "r0=1 r1=0 r2=1 r3=1", "r0=1 r1=1 r2=1 r3=0", "r0=1 r1=1 r2=1 r3=1"}, "r0=1 r1=0 r2=1 r3=0"},
    {"loads", {k00, k01, k10}}};

class StoreBuffer : public ::testing::TestWithParam<StoreBufferCase> {
 protected:
  static RunReport run(std::int64_t seed, const std::vector<std::string>& options) {
    const std::string program = support::quoted(std::string(PROCESS_FOLDER) + "/store_buffer") + " " + GetParam().name;
    support::RunRequest request{.commands = {"server=" + program}};
    request.options = {"--seed", std::to_string(seed)};
    request.options.insert(request.options.end(), options.begin(), options.end());
    return support::run(request);
  }

  static std::set<std::string> outcomes(const RunReport& run) {
    EXPECT_EQ(run.code, 0) << run.story();
    std::set<std::string> found;
    std::istringstream lines(run.output("server"));
    for (std::string line; std::getline(lines, line);) found.insert(line.substr(0, line.find(':')));
    return found;
  }
};

TEST_P(StoreBuffer, stores_are_seen_late_as_x86_allows_and_never_otherwise) {
  std::set<std::string> seen, without;
  for (std::int64_t seed = 1; seed <= 10; ++seed) {
    seen.merge(outcomes(run(seed, {"--freedom", "spec", "--spec-accesses"})));
    if (seed <= 3) without.merge(outcomes(run(seed, {"--freedom", "spec"})));
  }
  EXPECT_EQ(seen, GetParam().outcomes);
  EXPECT_FALSE(without.contains(GetParam().buffered));
}

TEST_P(StoreBuffer, is_the_same_in_slices_and_call_by_call) {
  for (std::int64_t seed = 1; seed <= 4; ++seed) {
    const RunReport slices = run(seed, {"--freedom", "spec", "--spec-accesses"});
    EXPECT_EQ(slices.digest(), run(seed, {"--freedom", "spec", "--spec-accesses", "--call-by-call"}).digest()) << slices.story();
  }
}

INSTANTIATE_TEST_SUITE_P(Tests, StoreBuffer, ::testing::ValuesIn(kStoreBufferCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace verbatim
