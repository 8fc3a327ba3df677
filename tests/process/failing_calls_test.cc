// With freedom spec and a budget, calls fail without need. A program that handles this gets all its bytes.
#include <sstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

struct Counts {
  long again = 0, part = 0, interrupted = 0, spurious = 0;
  void add(const std::string& output) {
    std::istringstream text(output);
    long values[4] = {};
    for (long& value : values) text >> value;
    again += values[0], part += values[1], interrupted += values[2], spurious += values[3];
  }
};

RunReport run_careful(std::int64_t seed, int budget, bool handles, bool call_by_call = false) {
  const std::string path = support::quoted(std::string(PROCESS_FOLDER) + "/careful");
  const std::string program = (handles ? "env HANDLES_SIGNALS=1 " : "") + path;
  support::RunRequest request{.commands = {"server=" + program, "client=" + program + " server"}};
  request.options = {"--freedom", "spec", "--seed", std::to_string(seed), "--spec-failing-calls", std::to_string(budget)};
  if (call_by_call) request.options.push_back("--call-by-call");
  return support::run(request);
}

struct Series {
  Counts server, client;
  long reported = 0;
};

Series run_seeds(std::int64_t last, int budget, bool handles) {
  Series series;
  for (std::int64_t seed = 1; seed <= last; ++seed) {
    const RunReport run = run_careful(seed, budget, handles);
    EXPECT_EQ(run.code, 0) << run.story();
    series.server.add(run.output("server"));
    series.client.add(run.output("client"));
    const long failed = run.report["failing_calls"].get<long>();
    EXPECT_LE(failed, 2 * budget);
    series.reported += failed;
  }
  return series;
}

TEST(FailingCalls, each_kind_comes_and_none_without_a_budget) {
  const Series many = run_seeds(12, 20, true);
  EXPECT_GT(many.reported, 0);
  EXPECT_GT(many.server.spurious, 0);
  EXPECT_GT(many.server.part, 0);
  EXPECT_GT(many.server.interrupted, 0);
  EXPECT_GT(many.client.part, 0);
  EXPECT_GT(many.client.interrupted, 0);
  const Series none = run_seeds(3, 0, true);
  EXPECT_EQ(none.reported, 0);
  EXPECT_EQ(none.server.interrupted + none.client.interrupted + none.client.part, 0);
}

// epoll_wait returns when a process is stopped and continued; the client does not use it.
TEST(FailingCalls, without_a_handler_nothing_is_interrupted_but_what_a_stop_interrupts) {
  EXPECT_EQ(run_seeds(6, 20, false).client.interrupted, 0);
}

TEST(FailingCalls, are_the_same_in_slices_and_call_by_call) {
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    const RunReport slices = run_careful(seed, 10, true), oracle = run_careful(seed, 10, true, true);
    EXPECT_EQ(slices.digest(), oracle.digest()) << slices.story();
    EXPECT_EQ(slices.report["failing_calls"], oracle.report["failing_calls"]);
  }
}

}  // namespace
}  // namespace verbatim
