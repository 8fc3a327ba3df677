// Reasons why programs hang: the finding of the hanging thread, with its place in the program.
#include <gmock/gmock.h>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

struct Hang {
  const char* name;
  const char* host;  // of the hanging thread
  const char* why;   // the sentence from the name of the call on
};

class HangTest : public ::testing::TestWithParam<Hang> {};

RunReport hang(const std::string& name, const std::vector<std::string>& more = {}) {
  support::RunRequest request;
  const std::string program = support::quoted(std::string(CHECKS_FOLDER) + "/hangs") + " " + name;
  request.commands = {"server=" + program, "client=" + program + " server"};
  request.options = {"--time-limit", "101ms"};
  request.options.insert(request.options.end(), more.begin(), more.end());
  return support::run(request);
}

std::string finding_of(const RunReport& result, const std::string& host) {
  for (const auto& finding : result.report["findings"]) {
    if (finding.get<std::string>().starts_with(host + ": hangs ")) return finding;
  }
  return result.story();
}

TEST_P(HangTest, its_cause_is_told) {
  const Hang& which = GetParam();
  const RunReport result = hang(which.name);
  EXPECT_TRUE(result.code == 3 || result.code == 4) << result.story();
  const std::string finding = finding_of(result, which.host);
  EXPECT_THAT(finding, MatchesRegex(std::string(".*, thread [0-9]+ ") + which.why));
  // A polling thread is parked in slices mode only; a sleeping one sleeps in both modes.
  if (finding.find(" waits in ") == std::string::npos) return;
  EXPECT_EQ(finding_of(hang(which.name, {"--call-by-call"}), which.host), finding);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HangTest,
    ::testing::Values(
        Hang{"never-armed", "server",
             "waits in read on completion channel since .* in ibv_get_cq_event at hangs.c:[0-9]+ "
             ".in sleep_for_event, from never_armed at hangs.c:[0-9]+, from main at hangs.c:[0-9]+.: CQ 129 holds 1 completion that "
             "the program has not polled, written at .* us, and was never armed .ibv_req_notify_cq."},
        Hang{"not-armed-again", "server",
             "waits in read .* at hangs.c:[0-9]+ .in [^)]*.: CQ 129 holds 1 completion that the program has not polled, .* and was not armed again "
             ".ibv_req_notify_cq. after its last event, at .* us"},
        Hang{"not-solicited", "server",
             "waits in poll on completion channel since .*: CQ 129 holds 1 completion that the program has not polled, written at .* us, but "
             "ibv_req_notify_cq at hangs.c:[0-9]+ armed it for solicited completions only"},
        Hang{"destroys-cq", "server",
             "waits in futex .*, in ibv_destroy_cq of CQ 129 at hangs.c:[0-9]+ .in destroys_cq, [^)]*.: ibv_destroy_cq returns only when 1 completion event "
             "that thread 1000 took has been acknowledged .ibv_ack_cq_events."},
        Hang{"destroys-qp", "server",
             "waits in futex .*, in ibv_destroy_qp of QP 72 at hangs.c:[0-9]+ .in destroys_qp, [^)]*.: ibv_destroy_qp returns only when 1 asynchronous event "
             "that thread 1002 took has been acknowledged .ibv_ack_async_event."},
        Hang{"no-receive", "server",
             "polls completion queue 129 since .* at hangs.c:[0-9]+ "
             ".in poll_for_ever, from no_receive at hangs.c:[0-9]+, from main at hangs.c:[0-9]+.: QP 72 has no receive posted, and its peer, QP 72 of client, has "
             "1 message for it .[0-9]+ RNR NAKs so far."},
        Hang{"no-receive", "client",
             "polls completion queue 128 since .*: QP 72 has 1 send posted, and its peer, QP 72 of server, has no receive posted for "
             "it .[0-9]+ RNR NAKs so far."},
        Hang{"not-signaled", "client",
             "polls completion queue 128 since .* us at hangs.c:[0-9]+ .in [^)]*., and nothing can fill it any more: the last send of QP 72 was not signaled, so it produces no "
             "completion"},
        Hang{"ignores-failure", "client", "polls completion queue 128 since .*, and nothing can fill it any more: QP 72 is in state ERR"},
        Hang{"nothing-sent", "server",
             "polls completion queue 129 since .*, and nothing can fill it any more: QP 72 has 1 receive posted, and its peer, QP 72 of client, has no send posted"},
        Hang{"nothing-posted", "server",
             "polls completion queue 129 since .*, and nothing can fill it any more: QP 72 has no receive posted, and its peer, QP 72 of client, has no send posted"},
        Hang{"peer-is-gone", "client",
             "polls completion queue 128 since .*, and nothing can fill it any more: QP 72 has 1 send posted: hca/server dropped 1 packet to it, the last at .* us: no such "
             "queue pair"}),
    [](const auto& info) {
      std::string name = std::string(info.param.name) + "_" + info.param.host;
      std::ranges::replace(name, '-', '_');
      return name;
    });

// The line of the run's output that begins with `begin`; "" if there is none.
std::string line_of(const RunReport& result, const std::string& begin) {
  const std::size_t at = result.err.find("verbatim: " + begin);
  return at == result.err.npos ? "" : result.err.substr(at, result.err.find('\n', at) - at);
}

// A check has a finding about a harmless mistake, but the hang has another cause.
TEST(Hangs, the_cause_is_what_the_thread_waits_for_and_not_what_a_check_has_found) {
  const RunReport result = hang("unacknowledged-events");
  ASSERT_EQ(result.code, 3) << result.story();
  const std::string cause = line_of(result, "cause: ");
  EXPECT_THAT(cause, MatchesRegex("verbatim: cause: server: hangs .pid [0-9]+., thread [0-9]+: ibv_destroy_cq returns only when 2 completion events "
                                  "that thread [0-9]+ took have been acknowledged .ibv_ack_cq_events."));
  EXPECT_THAT(line_of(result, "what to do: "), HasSubstr("call ibv_ack_cq_events for each event"));
  EXPECT_THAT(result.err, HasSubstr("check missed-wakeup: host/server"));
  EXPECT_THAT(result.err, Not(HasSubstr("possible cause")));
  EXPECT_EQ("verbatim: cause: " + result.report["cause"]["text"].get<std::string>(), cause);
  EXPECT_EQ(result.report["cause"]["certain"], true);
  ASSERT_EQ(result.report["failures"].size(), result.report["checks"].size());
  EXPECT_EQ(result.report["failures"][0]["is_finding"], true);
}

struct Cause {
  const char* name;
  const char* text;
  const char* what_to_do;
};

class CauseTest : public ::testing::TestWithParam<Cause> {};

TEST_P(CauseTest, of_a_hang_is_said_once_with_what_to_do) {
  const RunReport result = hang(GetParam().name);
  EXPECT_THAT(line_of(result, "cause: "), MatchesRegex(std::string("verbatim: cause: ") + GetParam().text)) << result.story();
  EXPECT_THAT(line_of(result, "what to do: "), HasSubstr(GetParam().what_to_do));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CauseTest,
    ::testing::Values(
        // The client polls for a completion; the server has no receive for the message and could post one.
        Cause{"no-receive", "server: .*: QP 72 has no receive posted, and its peer, QP 72 of client, has 1 message for it .*",
              "post receives before the peer may send"},
        Cause{"not-signaled", "client: .*: the last send of QP 72 was not signaled, so it produces no completion", "set IBV_SEND_SIGNALED"},
        Cause{"peer-is-gone", "client: .*: QP 72 has 1 send posted: hca/server dropped 1 packet to it, .*: no such queue pair", ""},
        // A work request that failed comes before a program that goes on and posts nothing that would complete.
        Cause{"ignores-failure", "at .*, QP 72 of client: the work request with wr_id 0 completes with remote access error .IBV_WC_REM_ACCESS_ERR.: "
                                 "QP 72 of server, the peer, refuses RDMA Read Request with PSN 100: there is no memory with rkey 0xff",
              "send the peer the rkey of ibv_reg_mr"},
        Cause{"goes-on-after-failure", "at .*, QP 72 of client: the work request with wr_id 0 completes with remote access error .IBV_WC_REM_ACCESS_ERR.: .*",
              "send the peer the rkey of ibv_reg_mr"},
        // A program that waits for two queues may do without the completions of one of them.
        Cause{"waits-for-two-queues", "server: hangs .pid [0-9]+. -> client: hangs .pid [0-9]+. -> server: hangs .pid [0-9]+.: each waits for the "
                                      "next one to send something, and none of them sends first",
              "let one side send first"},
        // The two programs wait for each other.
        Cause{"nothing-sent", "server: hangs .pid [0-9]+. -> client: hangs .pid [0-9]+. -> server: hangs .pid [0-9]+.: each waits for the "
                              "next one to send something, and none of them sends first",
              "let one side send first"},
        // A receive alone would not help: the peer has nothing to send.
        Cause{"nothing-posted", "server: hangs .pid [0-9]+. -> client: hangs .pid [0-9]+. -> server: hangs .pid [0-9]+.: each waits for the "
                                "next one to send something, and none of them sends first",
              "let one side send first"}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(Hangs, an_event_of_librdmacm_that_nobody_has_acknowledged_is_told) {
  support::RunRequest request;
  request.commands = {"client=" + support::quoted(std::string(CHECKS_FOLDER) + "/destroys_id") + " 10.0.0.1"};
  request.options = {"--time-limit", "1s"};
  const RunReport result = support::run(request);
  ASSERT_EQ(result.report["findings"].size(), 1u) << result.story();
  EXPECT_THAT(result.report["findings"][0].get<std::string>(),
              ::testing::ContainsRegex("waits in futex since .*, in rdma_destroy_id at destroys_id.c:[0-9]+: rdma_destroy_id returns only when 1 rdma_cm "
                                       "event of the identifier that the program took has been acknowledged"));
}

// The program of tests/litmus with a seed that shows the race: it polls an empty CQ and arms it too late.
TEST(Hangs, a_lost_wake_up_is_told) {
  support::RunRequest request;
  const std::string program = support::quoted(LOST_WAKEUP) + " buggy";
  request.commands = {"server=" + program, "client=" + program + " server"};
  request.options = {"--freedom", "spec", "--time-limit", "20s"};
  for (int seed = 1; seed <= 400; ++seed) {
    support::RunRequest one = request;
    one.options.insert(one.options.end(), {"--seed", std::to_string(seed)});
    const RunReport result = support::run(one);
    if (result.code == 0) continue;
    ASSERT_EQ(result.code, 3) << result.story();
    EXPECT_THAT(result.report["findings"].dump(),
                ::testing::ContainsRegex("in ibv_get_cq_event at lost_wakeup[^ ]* [(]in [^)]*[)]: CQ 129 holds [0-9]+ completions? that the program has "
                                         "not polled, (the first )?written at [0-9.]+ us, [0-9.]+ us before ibv_req_notify_cq at "
                                         "lost_wakeup[^ ]* armed it: arming raises no event for completions that are there already"));
    return;
  }
  FAIL() << "no seed shows it";
}

}  // namespace
}  // namespace verbatim
