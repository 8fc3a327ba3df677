// Output of `verbatim explain` for names, and for runs of a program with one common mistake each. At the end
// of these runs the first cause is printed automatically.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sim/ib/wc_status.h"
#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"
#include "verbs_shim/protocol/checks.h"

namespace verbatim {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Joins lines that were wrapped between words.
std::string joined(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != '\n' && c != ' ') {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

struct Confusion {
  const char* name;
  const char* evidence;  // in the run's output and in explain's
  const char* remedy;
  const char* more = "";  // in explain's output only
  int code = 1;
};

class ConfusionTest : public ::testing::TestWithParam<Confusion> {};

cli::Finished run_confusion(const std::string& name, const std::string& folder, std::vector<std::string> more = {}) {
  const std::string program = support::quoted(std::string(EXPLAIN_FOLDER) + "/confusions") + " " + name;
  std::vector<std::string> words = {"run", "--topology", support::topology("two_hosts"), "--out", folder, "server=" + program, "client=" + program + " server"};
  words.insert(words.end(), more.begin(), more.end());
  return cli::verbatim(std::move(words));
}

TEST_P(ConfusionTest, is_explained_with_its_evidence) {
  const Confusion& which = GetParam();
  const support::TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  std::vector<std::string> more = {"--keep-trace"};
  if (std::string(which.name) == "late-answer") more.insert(more.end(), {"--fault", R"({"action":"delay","from":"server","opcode":"Acknowledge","delay":"9 ms","every":1,"count":0})"});
  const cli::Finished run = run_confusion(which.name, out, more);
  EXPECT_EQ(run.code, which.code) << run.out << run.err;
  EXPECT_THAT(run.err, ContainsRegex("verbatim: (possible )?cause: ")) << run.out;
  EXPECT_THAT(run.err, HasSubstr(which.evidence));
  EXPECT_THAT(run.err, HasSubstr(which.remedy));
  const cli::Finished told = cli::verbatim({"explain", out});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(joined(told.out), HasSubstr(which.evidence));
  EXPECT_THAT(joined(told.out), HasSubstr(which.remedy));
  EXPECT_THAT(joined(told.out), HasSubstr(which.more));
  // The waits of a hang are only in run.json.
  if (which.code == 3) return;
  // The trace alone is sufficient, except for source locations.
  const cli::Finished of_trace = cli::verbatim({"explain", out + "/trace.txt"});
  EXPECT_THAT(joined(of_trace.out), HasSubstr(which.evidence));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ConfusionTest,
    ::testing::Values(
        Confusion{"rkey-order", "but there is with 0x801, the same bytes in reverse order", "convert the key once in each direction",
                  "wr_id 7 (confusions.c:88) completes with remote access error"},
        Confusion{"no-access", "was registered without IBV_ACCESS_REMOTE_WRITE", "add the missing right to the access flags of ibv_reg_mr"},
        Confusion{"qp-access", "lack IBV_ACCESS_REMOTE_WRITE", "give the responder's queue pair the right as well"},
        Confusion{"out-of-range", "are not within the memory with rkey 0x801", "compare remote_addr and the length with the peer's region"},
        Confusion{"wrong-qpn", "server never had a QP 77 (it had 72)", "dest_qp_num must be the peer's qp->qp_num in host byte order",
                  "timeout 8 is 4.096 us * 2^8 = 1048.576 us"},
        Confusion{"wrong-psn", "treats PSN 100 as a duplicate: its rq_psn is higher", "rq_psn of each side must equal sq_psn of the other"},
        Confusion{"mtu", "carries 1024 bytes where its path MTU is 512", "set path_mtu on both sides to the smaller active_mtu"},
        Confusion{"no-receive", "had no receive posted for the message that arrived at 100290.018 us", "post receives before the peer may send",
                  "it posted one 118.295 us later (confusions.c:75)"},
        Confusion{"short-receive", "the message has at least 1024 bytes, and the receive for it has 100", "post receives that hold the longest message"},
        Confusion{"late-answer", "after the sender had given up", "the timeout is too short for this path"},
        Confusion{"gone", "the program that owned QP 72 of server ended at 100308.284 us with exit code 0", "find out why it ended"},
        Confusion{"lkey", "there is no memory with lkey 0x5d01", "put mr->lkey of the region that contains the buffer into each ibv_sge"},
        Confusion{"not-ready", "QP 72 of server, the peer, was in INIT until 150248.158 us; your first packet arrived at 100289.250 us",
                  "send only after the peer has confirmed"},
        Confusion{"address-order", "but 0x10000000 is, which has the same bytes in reverse order", "convert the address once in each direction"},
        Confusion{"qpn-order", "dest_qp_num 1207959552 is more than 16777215", "in host byte order: check what the programs exchange"},
        Confusion{"lid-order", "QP 72 of client sends to LID 512, and no port of the fabric has this LID; with its two bytes swapped it is LID 2",
                  "ah_attr.dlid must be the lid of the peer's port"},
        Confusion{"no-rts", "QP 72 is in RTR; work requests are accepted from RTS on", "bring the queue pair to RTS first"},
        Confusion{"no-local-write", "received data cannot be written to memory: the memory with lkey 0x801 was registered without IBV_ACCESS_LOCAL_WRITE",
                  "add the missing right to the access flags of ibv_reg_mr"},
        Confusion{"unsignaled", "its send queue is full, and none of the 8 work requests in it is signaled",
                  "set IBV_SEND_SIGNALED on at least one of max_send_wr requests"},
        Confusion{"unacknowledged", "ibv_destroy_cq returns only when 1 completion event that thread 1001 took has been acknowledged", "call ibv_ack_cq_events for each event",
                  "", 3},
        Confusion{"busy", "objects of it still exist", "destroy what was made from it first"},
        Confusion{"missing-bit", "INIT to RTR: attr_mask lacks IBV_QP_MIN_RNR_TIMER", "set these attributes and their bits in attr_mask"}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

// No request fails: the cause is the reason why the programs wait.
TEST(Explain, a_run_that_waits_for_ever_says_what_to_do) {
  const support::TemporaryFolder folder;
  const cli::Finished unready = run_confusion("never-ready", folder.path() + "/unready");
  EXPECT_EQ(unready.code, 3) << unready.out << unready.err;
  EXPECT_THAT(unready.err, HasSubstr("QP 72 has 1 send posted, and its peer, QP 72 of server, is in state INIT: packets that arrive "
                                     "before RTR are dropped; with timeout 0 nothing is sent again"));
  EXPECT_THAT(unready.err, HasSubstr("verbatim: what to do: send only after the peer has confirmed that its ibv_modify_qp to RTR succeeded"));
  const cli::Finished starved = run_confusion("never-received", folder.path() + "/starved", {"--time-limit", "120ms"});
  EXPECT_EQ(starved.code, 4) << starved.out << starved.err;
  EXPECT_THAT(starved.err, HasSubstr("and its peer, QP 72 of server, has no receive posted for it ("));
  EXPECT_THAT(starved.err, HasSubstr("verbatim: what to do: post receives before the peer may send; rnr_retry 7 repeats without limit"));
}

// The program polls the completions that it finds, and succeeds.
TEST(Explain, a_completion_queue_that_overruns_is_told_of_though_nothing_fails) {
  const support::TemporaryFolder folder;
  const cli::Finished run = run_confusion("small-cq", folder.path() + "/run", {"--keep-trace"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("CQ 128: it overruns: a completion is due, and all 4 entries hold completions that the program has not polled"));
  const cli::Finished told = cli::verbatim({"explain", folder.path() + "/run"});
  EXPECT_THAT(joined(told.out), HasSubstr("CQ 128 of client has overrun (IBV_EVENT_CQ_ERR)"));
  EXPECT_THAT(joined(told.out), HasSubstr("what to do: create the CQ with room for all requests"));
}

TEST(Explain, a_folder_without_a_trace_tells_what_run_json_has) {
  const support::TemporaryFolder folder;
  run_confusion("missing-bit", folder.path() + "/run");
  const cli::Finished told = cli::verbatim({"explain", folder.path() + "/run"});
  EXPECT_EQ(told.code, 0);
  EXPECT_THAT(joined(told.out), HasSubstr("attr_mask lacks IBV_QP_MIN_RNR_TIMER"));
  EXPECT_THAT(told.out, HasSubstr("--keep-trace"));
}

// run.json has the failures and causes printed at the end of the run.
TEST(Explain, a_failed_completion_is_explained_from_a_folder_without_a_trace) {
  const support::TemporaryFolder folder;
  const cli::Finished run = run_confusion("not-ready", folder.path() + "/run");
  const cli::Finished told = cli::verbatim({"explain", folder.path() + "/run"});
  EXPECT_EQ(told.code, 0) << told.err;
  const std::string said = joined(told.out), evidence = "QP 72 of server, the peer, was in INIT until 150248.158 us";
  EXPECT_THAT(said, HasSubstr("cause: at "));
  EXPECT_THAT(said, HasSubstr("1. at "));
  EXPECT_THAT(said.substr(said.find("1. at ")), HasSubstr(evidence));
  EXPECT_THAT(run.err, HasSubstr(evidence));
  const auto json = nlohmann::json::parse(cli::verbatim({"explain", "--json", folder.path() + "/run"}).out);
  EXPECT_EQ(json["failures"][0]["subject"], "IBV_WC_RETRY_EXC_ERR");
  EXPECT_EQ(json["cause"]["certain"], true);

  // run.json of older versions only has diagnoses.
  auto report = nlohmann::json::parse(support::text_of_file(folder.path() + "/run/run.json"));
  report.erase("failures");
  report.erase("cause");
  std::ofstream(folder.path() + "/run/run.json") << report;
  const cli::Finished old = cli::verbatim({"explain", folder.path() + "/run"});
  EXPECT_THAT(joined(old.out), HasSubstr("completes with transport retry counter exceeded (IBV_WC_RETRY_EXC_ERR)"));
}

TEST(Explain, a_finding_of_a_check_is_listed_apart) {
  const support::TemporaryFolder folder;
  run_confusion("unacknowledged", folder.path() + "/run", {"--keep-trace"});
  const std::string told = cli::verbatim({"explain", folder.path() + "/run"}).out;
  const std::size_t apart = told.find("mistakes that checks have found, whether or not they did any harm:\n- at ");
  ASSERT_NE(apart, told.npos) << told;
  EXPECT_LT(told.find("cause: client: confusions"), apart) << told;
}

TEST(Explain, a_run_in_which_nothing_failed_has_no_cause) {
  const support::TemporaryFolder folder;
  const cli::Finished run = run_confusion("fine", folder.path() + "/run", {"--keep-trace"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("cause: ")));
  EXPECT_THAT(cli::verbatim({"explain", folder.path() + "/run"}).out, HasSubstr("no verb and no work request has failed in this run"));
}

TEST(Explain, keeping_the_trace_changes_no_result) {
  const support::TemporaryFolder folder;
  const auto digest = [&](const std::string& name, std::vector<std::string> more) {
    run_confusion("not-ready", folder.path() + name, std::move(more));
    return nlohmann::json::parse(support::text_of_file(folder.path() + name + "/run.json"))["digest"];
  };
  EXPECT_EQ(digest("/without", {}), digest("/with", {"--keep-trace"}));
}

TEST(Explain, roce_without_a_gid) {
  const support::TemporaryFolder folder;
  const cli::Finished run = cli::verbatim({"run", "--out", folder.path(), "--topology", support::topology("two_hosts_roce"), "server=ibv_rc_pingpong",
                                           "client=ibv_rc_pingpong server"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("ibv_modify_qp answers EINVAL: a path on Ethernet needs a GRH (ah_attr.is_global)"));
  EXPECT_THAT(run.err, HasSubstr("on RoCE set ah_attr.is_global"));
}

TEST(Explain, every_status_of_a_completion_by_name_text_and_number) {
  int number = 0;
  for (const ib::WcStatusName& status : ib::kWcStatusNames) {
    const cli::Finished by_name = cli::verbatim({"explain", std::string(status.name)});
    EXPECT_EQ(by_name.code, 0) << status.name;
    EXPECT_TRUE(by_name.out.starts_with(std::string(status.name) + "\n")) << by_name.out;
    if (number % 6 == 0) {
      EXPECT_EQ(cli::verbatim({"explain", std::string(status.text)}).out, by_name.out);
      EXPECT_EQ(cli::verbatim({"explain", std::to_string(number)}).out, by_name.out);
      EXPECT_EQ(cli::verbatim({"explain", std::string(status.name.substr(7))}).out, by_name.out);
    }
    ++number;
  }
}

TEST(Explain, every_check_by_its_name) {
  for (std::uint32_t i = 1; i < protocol::kCheckCount; ++i) {
    const cli::Finished told = cli::verbatim({"explain", protocol::kChecks[i].name});
    EXPECT_EQ(told.code, 0) << told.err;
    EXPECT_THAT(told.out, HasSubstr("\n  1. ")) << told.out;
  }
}

TEST(Explain, names_that_there_is_a_text_for) {
  const std::string names = cli::verbatim({"explain", "--list"}).out;
  for (const char* name : {"IBV_EVENT_CQ_ERR", "IBV_EVENT_WQ_FATAL", "RDMA_CM_EVENT_UNREACHABLE", "RDMA_CM_EVENT_REJECTED 28", "EINVAL ibv_modify_qp",
                           "ENOMEM ibv_post_send", "unsignaled"}) {
    EXPECT_THAT(names, HasSubstr(std::string(name) + "\n"));
  }
}

// As a trace and run.json have them.
TEST(Explain, reasons_of_drops_by_number_and_name) {
  for (const char* word : {"reason=25", "after-nak"}) {
    const cli::Finished run = cli::verbatim({"explain", word});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("reason=25, after-nak")) << run.out;
    EXPECT_THAT(run.out, HasSubstr("follows a packet that was answered by a NAK")) << run.out;
  }
  EXPECT_EQ(cli::verbatim({"explain", "reason=99"}).code, 2);
  for (const char* word : {"HPCC", "swift", "TIMELY", "ECMP", "slowdown", "busbw"}) EXPECT_EQ(cli::verbatim({"explain", word}).code, 0) << word;
}

TEST(Explain, an_error_of_a_verb_in_any_order_and_the_changes_of_state_with_it) {
  const cli::Finished told = cli::verbatim({"explain", "EINVAL", "ibv_modify_qp"});
  EXPECT_EQ(told.code, 0);
  EXPECT_THAT(joined(told.out), HasSubstr("RC RTR to RTS: IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN"));
  EXPECT_EQ(cli::verbatim({"explain", "ibv_modify_qp", "22"}).out, told.out);
  EXPECT_THAT(cli::verbatim({"explain", "ibv_modify_qp"}).out, HasSubstr("ENODATA ibv_modify_qp"));
  // A verb without a text for this error: the general meaning of the error is shown.
  EXPECT_THAT(cli::verbatim({"explain", "EPERM", "ibv_advise_mr"}).out, HasSubstr("EPERM\n"));
}

TEST(Explain, a_program_that_failed_by_itself_is_named_with_its_code_or_signal) {
  const support::TemporaryFolder folder;
  const std::string recording = folder.path() + "/run.rec";
  cli::verbatim({"run", "--topology", support::topology("two_hosts"), "--record", recording, "server=sh -c 'exit 3'", "client=sh -c 'kill -SEGV $$'"});
  const std::string told = joined(cli::verbatim({"explain", recording}).out);
  EXPECT_THAT(told, ContainsRegex("program of server, `sh -c 'exit 3'`: ended with exit code 3 at [0-9.]+ us"));
  EXPECT_THAT(told, ContainsRegex("program of client, .*: was ended by signal 11 .SIGSEGV. at [0-9.]+ us"));
  EXPECT_THAT(told, HasSubstr("no verb and no work request has failed in this run, so the reason is in the program itself"));
  EXPECT_THAT(told, HasSubstr("`verbatim run --gdb server` starts it in gdb"));
}

// A background program is ended by the run.
TEST(Explain, a_program_that_the_run_has_ended_has_not_failed) {
  const support::TemporaryFolder folder;
  const std::string recording = folder.path() + "/run.rec";
  cli::verbatim({"run", "--topology", support::topology("two_hosts"), "--record", recording, "server=sleep 100 &", "client=true"});
  EXPECT_THAT(cli::verbatim({"explain", recording}).out, HasSubstr("no verb and no work request has failed in this run\n"));
}

TEST(Explain, losses_are_those_that_the_run_printed) {
  const support::TemporaryFolder folder;
  const std::string recording = folder.path() + "/run.rec";
  const cli::Finished run =
      cli::verbatim({"run", "--topology", support::topology("two_hosts"), "--record", recording, "--fault",
                     R"({"action": "drop", "from": "client", "opcode": "Send Only", "nth": 3})", "server=ibv_rc_pingpong -n 5 -s 64",
                     "client=ibv_rc_pingpong -n 5 -s 64 server"});
  const std::size_t at = run.err.find("losses: ");
  ASSERT_NE(at, std::string::npos) << run.err;
  EXPECT_THAT(joined(cli::verbatim({"explain", recording}).out), HasSubstr(run.err.substr(at, run.err.find('\n', at) - at)));
}

TEST(Explain, every_part_of_a_latency) {
  const support::TemporaryFolder folder;
  const std::string tables = folder.path() + "/latency.json";
  cli::verbatim({"run", "--topology", support::topology("leaf_spine_16"), "--explain-latency=" + tables, "h2=ib_write_bw -n 20 -s 20000",
                 "h12=ib_write_bw -n 20 -s 20000 h2"});
  std::set<std::string> parts;
  for (const nlohmann::json& table : nlohmann::json::parse(support::text_of_file(tables))) {
    for (const nlohmann::json& part : table["parts"]) parts.insert(part["part"]);
  }
  EXPECT_GT(parts.size(), 15u);
  for (const std::string& part : parts) EXPECT_EQ(cli::verbatim({"explain", part}).code, 0) << part;
  for (const char* part : {"rate limit", "Rate Limit", "output: paused by the far end, whose shared buffer is full", "lost on a dead link: timeout"})
    EXPECT_EQ(cli::verbatim({"explain", part}).code, 0) << part;
  EXPECT_THAT(cli::verbatim({"explain", "rate limit"}).out, HasSubstr("queue pair: rate limit\n"));
}

TEST(Explain, what_is_not_known_is_refused_with_a_guess) {
  const cli::Finished told = cli::verbatim({"explain", "IBV_WC_RETRY_EXC_ER"});
  EXPECT_EQ(told.code, 2);
  EXPECT_THAT(told.err, HasSubstr("did you mean IBV_WC_RETRY_EXC_ERR?"));
  EXPECT_THAT(cli::verbatim({"explain", "q"}).err, HasSubstr("`verbatim explain --list` lists them"));
  EXPECT_EQ(cli::verbatim({"explain"}).code, 2);
  EXPECT_EQ(cli::verbatim({"explain", "no/such/folder"}).code, 2);
}

TEST(Explain, files_that_are_no_run_are_refused) {
  const support::TemporaryFolder folder;
  EXPECT_THAT(cli::verbatim({"explain", folder.path()}).err, HasSubstr("it has no run.json"));
  std::ofstream(folder.path() + "/run.json") << "[1, 2";
  EXPECT_THAT(cli::verbatim({"explain", folder.path()}).err, HasSubstr("run.json: line 1, column 6: this is not valid JSON"));
  std::ofstream(folder.path() + "/run.json") << "[1, 2]";
  EXPECT_THAT(cli::verbatim({"explain", folder.path()}).err, HasSubstr("is not what a run writes"));
  std::ofstream(folder.path() + "/other.txt") << "nothing\n";
  const cli::Finished told = cli::verbatim({"explain", folder.path() + "/other.txt"});
  EXPECT_EQ(told.code, 2);
  EXPECT_THAT(told.err, HasSubstr("holds no record of a trace"));
}

}  // namespace
}  // namespace verbatim
