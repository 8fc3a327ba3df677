// Data of transfers, which perftest does not check: a program that knows every byte of every transfer
// (data_check.c).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim::perftest {
namespace {

using support::RunRequest;

RunRequest data_check(const std::string& topology, const std::string& mtu, const std::string& spoil = "") {
  const std::string program = support::quoted(DATA_CHECK) + " " + mtu;
  return {.topology = topology, .commands = {"server=" + program, "client=" + program + " server " + spoil}};
}

void expect_all_right(const support::RunReport& run) {
  ASSERT_EQ(run.code, 0) << run.story();
  // Per direction and API: 5 operations x 9 sizes x 2 shapes, and 4 operations x 4 sizes x 2 inline shapes.
  const std::string expected = std::to_string(4 * (5 * 9 * 2 + 4 * 4 * 2)) + " transfers, ";
  for (const char* host : {"server", "client"}) {
    EXPECT_THAT(run.output(host), ::testing::StartsWith(expected));
    EXPECT_THAT(run.output(host), ::testing::EndsWith(" bytes, all right\n"));
  }
}

class EveryByte : public ::testing::TestWithParam<std::string> {};

// SEND, RDMA WRITE with and without immediate, RDMA READ; inline and from several pieces; both post APIs;
// both directions. Both modes have the same trace.
TEST_P(EveryByte, arrives_and_nothing_else_changes) {
  const auto runs = equality::run_both(data_check(GetParam(), "4096"));
  equality::expect_equal(runs);
  expect_all_right(runs.slices);
}

TEST_P(EveryByte, arrives_in_small_packets) {
  expect_all_right(support::run(data_check(GetParam(), "256")));
  expect_all_right(support::run(data_check(GetParam(), "1024")));
}

INSTANTIATE_TEST_SUITE_P(Topologies, EveryByte, ::testing::Values("two_hosts", "two_hosts_direct"));

// The comparison can fail: one bit, far behind the target.
TEST(SpoiledByte, is_found) {
  const auto run = support::run(data_check("two_hosts", "4096", "spoil=100"));
  EXPECT_EQ(run.code, 1) << run.story();
  EXPECT_THAT(run.output("client"),
              ::testing::MatchesRegex("transfer 100: .* byte [0-9]* of the target is .*\n"));
}

}  // namespace
}  // namespace verbatim::perftest
