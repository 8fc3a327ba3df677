// With --freedom spec and --spec-failures links fail, adapters fail and programs are killed, at times that
// the seed decides.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

// The programs sleep during waits: polling through a timeout would take minutes call by call.
RunReport run_pair(std::int64_t seed, const std::vector<std::string>& options) {
  support::RunRequest request{.commands = {"server=ibv_rc_pingpong -e -n 500", "client=ibv_rc_pingpong -e -n 500 server"}};
  request.options = {"--seed", std::to_string(seed)};
  request.options.insert(request.options.end(), options.begin(), options.end());
  return support::run(request);
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(DrawnFailures, each_kind_comes_within_the_budget_and_is_told) {
  int links = 0, adapters = 0, programs = 0;
  for (std::int64_t seed = 1; seed <= 24; ++seed) {
    const RunReport run = run_pair(seed, {"--freedom", "spec", "--spec-failures", "1"});
    const auto& told = run.report["drawn_failures"];
    ASSERT_LE(told.size(), 1u) << run.story();
    if (told.empty()) continue;
    const std::string what = told[0].get<std::string>();
    EXPECT_TRUE(holds(run.err, ("freedom: " + what).c_str())) << run.story();
    links += holds(what, "went down");
    adapters += holds(what, "failed at");
    programs += holds(what, "was killed");
    // A program that the run kills has ended as expected.
    EXPECT_FALSE(holds(what, "was killed") && holds(run.err, "SIGKILL")) << run.story();
  }
  EXPECT_GT(links, 0);
  EXPECT_GT(adapters, 0);
  EXPECT_GT(programs, 0);
}

TEST(DrawnFailures, are_the_same_in_slices_and_call_by_call) {
  for (std::int64_t seed = 1; seed <= 8; ++seed) {
    const std::vector<std::string> options = {"--freedom", "spec", "--spec-failures", "3"};
    const RunReport slices = run_pair(seed, options);
    std::vector<std::string> one_by_one = options;
    one_by_one.emplace_back("--call-by-call");
    EXPECT_EQ(slices.digest(), run_pair(seed, one_by_one).digest()) << slices.story();
  }
}

TEST(DrawnFailures, do_not_come_where_nothing_is_free_or_the_budget_is_none) {
  EXPECT_EQ(run_pair(1, {"--spec-failures", "9"}).digest(), run_pair(1, {}).digest());
  for (std::int64_t seed = 1; seed <= 3; ++seed)
    EXPECT_TRUE(run_pair(seed, {"--freedom", "spec"}).report["drawn_failures"].empty());
}

}  // namespace
}  // namespace verbatim
