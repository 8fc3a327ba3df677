// Processes that share an opening of a device: imported.c; and a device's reported capabilities:
// capabilities.c. In both modes.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

void expect_right(const std::string& which, const std::string& topology = "two_hosts",
                  const std::string& program = IMPORTED_PROGRAM) {
  support::RunRequest request;
  request.topology = topology;
  request.commands = {"server=" + support::quoted(program) + " " + which};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.output("server"), "right\n") << runs.slices.story();
}

TEST(Import, a_descriptor_that_came_by_a_message_shares_all_that_was_opened) { expect_right("by_message"); }
TEST(Import, the_same_on_ethernet) { expect_right("by_message", "two_hosts_roce"); }
TEST(Import, a_descriptor_that_came_by_fork_shares_all_that_was_opened) { expect_right("by_fork"); }
TEST(Import, an_opening_lives_in_a_message_that_is_under_way) { expect_right("under_way"); }
TEST(Import, what_an_exporter_had_made_lives_on_when_it_is_killed) { expect_right("exporter_killed"); }
TEST(Import, what_an_exporter_had_made_lives_on_when_it_exits) { expect_right("exporter_exits"); }
TEST(Import, what_an_exporter_had_made_lives_on_when_it_executes_another_program) { expect_right("exporter_executes"); }
// Its memory cannot be read any more: zeros.
TEST(Import, what_an_exporter_had_made_lives_on_when_it_crashes) { expect_right("exporter_crashes"); }

TEST(IbvQueryDeviceEx, what_is_told_works_and_nothing_else_on_infiniband) {
  expect_right("infiniband", "two_hosts", CAPABILITIES_PROGRAM);
}
TEST(IbvQueryDeviceEx, what_is_told_works_and_nothing_else_on_ethernet) {
  expect_right("ethernet", "two_hosts_roce", CAPABILITIES_PROGRAM);
}

}  // namespace
}  // namespace verbatim
