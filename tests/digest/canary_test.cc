// Sensitivity of the digest: two runs of a program whose only difference is one bit of one kind of fact,
// which is not printed, have different digests; two equal runs have the same one.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

std::string digest_of(const std::string& what, int bit) {
  const support::RunReport run = support::run(
      {.commands = {"server=" + support::quoted(CANARY_PROGRAM) + " " + what + " " + std::to_string(bit)}});
  EXPECT_EQ(run.output("server"), "");
  EXPECT_NE(run.report["programs"][0]["exit_code"], 9) << "it could not do it" << run.story();
  EXPECT_EQ(run.digest().size(), 32u) << run.story();
  return run.digest();
}

class Canary : public ::testing::TestWithParam<std::string> {};

TEST_P(Canary, one_bit_is_another_digest) { EXPECT_NE(digest_of(GetParam(), 0), digest_of(GetParam(), 1)); }

INSTANTIATE_TEST_SUITE_P(Kinds, Canary,
                         ::testing::Values("immediate_data", "wr_id_of_a_send", "wr_id_of_a_receive",
                                           "opcode", "solicited_event", "length", "status", "time_stamp",
                                           "source_queue_pair", "byte_of_a_send", "byte_of_a_write",
                                           "byte_of_a_read", "operand_of_an_atomic", "asynchronous_event",
                                           "completion_event", "exit_code", "signal_of_the_end",
                                           "content_of_a_file", "name_of_a_file", "length_of_a_file",
                                           "target_of_a_link", "kind_of_a_file", "byte_of_a_socket",
                                           "line_on_standard_error"),
                         [](const auto& info) { return info.param; });

// Command lines are not part of the digest, so the differences above have other reasons.
TEST(CanaryControl, nothing_else_differs) {
  EXPECT_EQ(digest_of("nothing", 0), digest_of("nothing", 1));
  EXPECT_EQ(digest_of("nothing", 0), digest_of("nothing", 0));
}

}  // namespace
}  // namespace verbatim
