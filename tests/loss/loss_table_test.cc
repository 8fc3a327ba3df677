#include "tests/loss/loss_table.h"

#include <gtest/gtest.h>

#include "tests/support/verbatim_run.h"

namespace verbatim::loss {
namespace {

TEST(LossTable, every_operation_loses_each_packet_once) { expect_golden_outcomes(mixed_sweep()); }

TEST(LossTable, without_retries_the_requester_is_told_and_the_rest_is_flushed) {
  expect_golden_outcomes(mixed_without_retries_sweep());
}

TEST(LossTable, some_packets_of_a_pingpong) { expect_golden_outcomes(pingpong_sweep(29)); }

// The program checks the first byte of each page of the received data.
TEST(LossTable, a_pingpong_that_checks_its_data_sees_corruption_that_the_icrc_hides) {
  for (const bool hidden : {true, false}) {
    support::RunRequest request;
    request.commands = {"server=ibv_rc_pingpong -c -n 20 -s 10000",
                        "client=ibv_rc_pingpong -c -n 20 -s 10000 server"};
    request.options = {"--fault",
                       std::string(R"({"action": "corrupt", "from": "client", "opcode": "Send First",
                                                 "nth": 20, "icrc": ")") +
                           (hidden ? "valid" : "invalid") + "\"}"};
    const support::RunReport run = support::run(request);
    EXPECT_EQ(run.code, 0) << run.story();
    EXPECT_EQ(run.output("server").find("invalid data in page 0") != std::string::npos, hidden)
        << run.story();
    EXPECT_EQ(run.report["faults"][0]["fired"], 1);
  }
}

}  // namespace
}  // namespace verbatim::loss
