// A process killed at each verbs call in turn, and at moments in between, has no effect on others: killed.c,
// and a pair of programs on the same adapters.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

TEST(Killed, at_each_verbs_call_in_turn_nobody_else_notices) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(KILLED_PROGRAM) + " 40", "server=ib_send_lat -n 1000",
                      "client=ib_send_lat -n 1000 server"};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  for (const auto& program : runs.slices.report["programs"]) EXPECT_EQ(program["exit_code"], 0) << runs.slices.story();
  EXPECT_EQ(runs.slices.output("server"),
            "whole: 0\nbefore a call: 47 of 47 killed, 0 wrong\nat a moment: killed, 0 wrong\nright\n")
      << runs.slices.story();
}

}  // namespace
}  // namespace verbatim
