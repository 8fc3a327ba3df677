// Events that a program writes to its own rdma_cm channel.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

TEST(WrittenEvents, arrive_in_order_with_their_argument) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(WRITTEN_EVENTS_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.output("server"), "right\n") << runs.slices.story();
}

}  // namespace
}  // namespace verbatim
