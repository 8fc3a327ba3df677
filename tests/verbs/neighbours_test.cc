// On Ethernet the kernel resolves a peer's address: a missing peer costs the time of unanswered queries, an
// impossible address nothing.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

TEST(Neighbours, an_address_that_nobody_has_takes_the_time_of_neighbour_discovery) {
  support::RunRequest request;
  request.topology = "two_hosts_roce";
  request.commands = {"server=" + support::quoted(NEIGHBOURS_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.output("server"),
            "nobody: ETIMEDOUT after 1000 ms\n"
            "nobody over IPv4: ETIMEDOUT after 1000 ms\n"
            "zero: EINVAL after 0 ms\n"
            "IPv4 from IPv6: EINVAL after 0 ms\n"
            "IPv6 from IPv4: EINVAL after 0 ms\n"
            "empty index: ENODATA after 0 ms\n"
            "connection to nobody: ETIMEDOUT after 1000 ms, state 1\n"
            "connection to a group: EINVAL after 0 ms, state 1\n"
            "meanwhile, another group: 0 after 0 ms\n"
            "nobody, among others: ETIMEDOUT after 1000 ms\n"
            "alarms 1, others 1\n"
            "connection to itself: 0 after 0 ms, state 2\n");
}

}  // namespace
}  // namespace verbatim
