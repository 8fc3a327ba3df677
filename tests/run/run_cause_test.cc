// The cause of a failed run: which of several failures it is, and whether it is certain.
#include "tools/verbatim/run_cause.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

observe::Failure failure(std::int64_t time_ps, const std::string& subject, bool is_finding = false) {
  return {time_ps, "what " + subject, subject, {{"evidence", "remedy"}}, is_finding};
}

RunCause cause_of(const supervisor::RunResult& result, const std::vector<observe::Failure>& failures) {
  return cli::cause_of(result, failures, std::nullopt, 0);
}

supervisor::RunResult hang(const supervisor::HangCause& cause) {
  supervisor::RunResult result;
  result.outcome = supervisor::Outcome::kDeadlock;
  result.hang_cause = cause;
  return result;
}

// brpc's client ends with exit code 1 because its peer has closed a connection, and leaves a queue pair
// behind.
TEST(RunCause, an_object_that_was_in_use_when_a_program_ended_is_only_a_possible_cause) {
  const RunCause busy = cause_of({}, {failure(9, "EBUSY ibv_dealloc_pd")});
  EXPECT_EQ(busy.subject, "EBUSY ibv_dealloc_pd");
  EXPECT_FALSE(busy.is_certain);
  EXPECT_TRUE(cause_of({}, {failure(9, "ENOMEM ibv_reg_mr")}).is_certain);
}

TEST(RunCause, a_failed_work_request_comes_before_waits_that_can_follow_from_it) {
  const std::vector<observe::Failure> failures = {failure(1, "late-receive", true),
                                                  failure(2, "EINVAL ibv_modify_qp"),
                                                  failure(3, "IBV_WC_REM_ACCESS_ERR")};
  const RunCause cause =
      cause_of(hang({.text = "nothing is posted", .follows_from_failure = true}), failures);
  EXPECT_EQ(cause.subject, "IBV_WC_REM_ACCESS_ERR");
  EXPECT_TRUE(cause.is_certain);
  EXPECT_EQ(cause_of(hang({.text = "nothing is posted", .follows_from_failure = true}), {failures[1]}).text,
            "nothing is posted");
  EXPECT_EQ(cause_of(hang({.text = "never armed"}), failures).text, "never armed")
      << "a wait that is wrong by itself";
}

}  // namespace
}  // namespace verbatim::cli
