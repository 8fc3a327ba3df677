// Causes of failures, derived from trace lines.
#include "sim/observe/failure_causes.h"

#include <gmock/gmock.h>

#include <sstream>

#include "sim/observe/failure_facts.h"
#include "sim/observe/remedies.h"

namespace verbatim::observe {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Failure> failures_in(const std::string& text) {
  std::vector<TraceLine> facts;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto parsed = parse_trace_line(line);
    if (parsed && is_failure_fact(*parsed)) facts.push_back(*parsed);
  }
  return failures_of(facts);
}

const char kGivesUp[] =
    "9000.000000 us  hca/client  diagnosis  QP 72: work request with wr_id 1 completes with transport retry counter exceeded: no answer from "
    "LID 2, QP 80 after 1 retries with a timeout exponent of 8\n"
    "9000.100000 us  hca/client  completion  cqn=128 qpn=72 wr_id=1 status=12 bytes=64:2bd70b4f6d1951a6\n";

std::string first_evidence(const std::string& before) {
  const std::vector<Failure> failures = failures_in(before + kGivesUp);
  if (failures.size() != 1) return "there are " + std::to_string(failures.size()) + " failures";
  EXPECT_EQ(failures[0].subject, "IBV_WC_RETRY_EXC_ERR");
  return failures[0].causes.front().evidence;
}

TEST(FailureFacts, of_thousands_of_good_ends_the_last_are_kept_and_all_others) {
  const ComponentTable components({"host/h0"});
  FailureFacts facts(components);
  const auto end = [&](std::uint64_t pid, std::uint64_t code, std::uint64_t signal) {
    facts.on_record({static_cast<std::int64_t>(pid), 0, TraceEvent::kProgramExited, {pid, code, signal, 0}}, {});
  };
  end(1, 7, 0);
  end(2, 0, 9);
  for (std::uint64_t pid = 3; pid <= 10'000; ++pid) end(pid, 0, 0);
  const std::vector<TraceLine> lines = facts.lines({}, {});
  ASSERT_GT(lines.size(), 1'000u);
  EXPECT_LT(lines.size(), 4'000u);
  EXPECT_EQ(lines[0].value("pid"), "1");
  EXPECT_EQ(lines[1].value("pid"), "2");
  EXPECT_EQ(lines.back().value("pid"), "10000");
}

TEST(FailureCauses, flushed_requests_and_full_queues_are_no_causes) {
  EXPECT_THAT(failures_in("1.000000 us  hca/client  completion  cqn=128 qpn=72 wr_id=1 status=5\n"
                          "1.000000 us  hca/client  completion  cqn=128 qpn=72 wr_id=1 status=0\n"
                          "1.000000 us  hca/client  diagnosis  ibv_post_send: ENOMEM: the send queue is full\n"
                          "1.000000 us  hca/client  diagnosis  ibv_alloc_dm: EOPNOTSUPP: the adapter has none\n"),
              IsEmpty());
}

TEST(FailureCauses, a_link_that_loses_packets) {
  EXPECT_EQ(first_evidence("1.000000 us  port/leaf0:1  packet-dropped  opcode=Send-Only dest_qp=80 psn=5 reason=3\n"
                           "2.000000 us  port/leaf0:1  packet-dropped  opcode=Send-Only dest_qp=80 psn=5 reason=3\n"),
            "port/leaf0:1 dropped 2 packets to QP 80, the first at 1.000 us: its output port has no link, or the link failed");
}

// A run keeps 50,000 facts only.
TEST(FailureCauses, drops_that_the_diagnosis_has_counted_are_all_named) {
  const std::string link = "its output port has no link, or the link failed";
  std::string text = "1.000000 us  switch/leaf0  packet-dropped  opcode=Send-Only dest_qp=80 psn=5 reason=3\n";
  text += kGivesUp;
  text.insert(text.find("of 8\n") + 4, "; switch/leaf0 dropped 26472 packets to it, the last at 8000.000 us: " + link);
  const std::vector<Failure> failures = failures_in(text);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].causes.front().evidence, "switch/leaf0 dropped 26472 packets to QP 80, the first at 1.000 us: " + link);
}

TEST(FailureCauses, answers_that_are_lost) {
  EXPECT_EQ(first_evidence("1.000000 us  port/server:1  packet-dropped  opcode=Acknowledge dest_qp=72 psn=5 reason=4\n"),
            "port/server:1 dropped 1 answer of the peer: a fault of the scenario or the seed");
}

TEST(FailureCauses, a_peer_in_err_with_what_it_said_before) {
  EXPECT_EQ(first_evidence("1.000000 us  hca/server  qp-state  qpn=80 from=0 to=1\n"
                           "2.000000 us  hca/server  diagnosis  QP 80: refuses Send Only with PSN 4: why\n"
                           "2.000000 us  hca/server  qp-state  qpn=80 from=3 to=6\n"
                           "3.000000 us  hca/server  packet-dropped  opcode=Send-Only dest_qp=80 psn=5 reason=20\n"),
            "QP 80 of server, the peer, was in ERR when a packet arrived at 3.000 us; before that, QP 80: refuses Send Only with PSN 4: why");
}

TEST(FailureCauses, a_peer_that_stays_in_init) {
  EXPECT_EQ(first_evidence("1.000000 us  hca/server  qp-state  qpn=80 from=0 to=1\n"
                           "3.000000 us  hca/server  packet-dropped  opcode=Send-Only dest_qp=80 psn=5 reason=20\n"),
            "QP 80 of server, the peer, was in INIT and never left this state; your first packet arrived at 3.000 us");
}

TEST(FailureCauses, a_peer_that_never_left_reset) {
  EXPECT_EQ(first_evidence("3.000000 us  hca/server  packet-dropped  opcode=Send-Only dest_qp=80 psn=5 reason=20\n"),
            "QP 80 of server, the peer, was in RESET and never left this state; your first packet arrived at 3.000 us");
}

TEST(FailureCauses, a_queue_pair_that_was_destroyed) {
  EXPECT_EQ(first_evidence("1.000000 us  hca/server  qp-state  qpn=80 from=0 to=1\n"
                           "3.000000 us  hca/server  packet-dropped  opcode=Send-Only dest_qp=80 psn=5 reason=18\n"),
            "QP 80 of server had been destroyed when a packet for it arrived at 3.000 us");
}

TEST(FailureCauses, a_number_in_the_wrong_byte_order) {
  const std::string gives_up = kGivesUp;
  const std::string swapped = std::to_string(0x480000);
  std::string text = "1.000000 us  hca/server  qp-state  qpn=72 from=0 to=1\n3.000000 us  hca/server  packet-dropped  opcode=Send-Only dest_qp=" +
                     swapped + " psn=5 reason=18\n" + gives_up;
  text.replace(text.find("QP 80"), 5, "QP " + swapped);
  const std::vector<Failure> failures = failures_in(text);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0].causes.front().evidence, HasSubstr("with its bytes swapped it is 72"));
}

TEST(FailureCauses, a_psn_ahead_of_the_one_that_is_expected) {
  EXPECT_EQ(first_evidence("1.000000 us  hca/server  ack-sent  qpn=80 psn=7 syndrome=0x60 msn=0\n"
                           "2.000000 us  hca/client  retransmission  qpn=72 psn=100 cause=1 tries_left=0\n"),
            "QP 80 of server, the peer, expects PSN 7 and receives PSN 100");
}

TEST(FailureCauses, nothing_is_known_but_the_timeout) {
  const std::vector<Failure> failures = failures_in(kGivesUp);
  ASSERT_EQ(failures.size(), 1u);
  ASSERT_EQ(failures[0].causes.size(), 2u);
  EXPECT_EQ(failures[0].causes[1].evidence, "timeout 8 is 4.096 us * 2^8 = 1048.576 us, so 2 attempts take at least 2097.152 us");
}

// The packets are stuck in the fabric: no adapter has dropped any.
TEST(FailureCauses, a_credit_loop_explains_missing_answers) {
  const std::string loop = "9500.000000 us  port/s0:2  diagnosis  credit loop: s0:2 -> s1:2 -> s0:2: each waits\n";
  const std::vector<Failure> failures = failures_in(kGivesUp + loop);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].causes.front().evidence, "the fabric is deadlocked: credit loop: s0:2 -> s1:2 -> s0:2: each waits");
  EXPECT_THAT(failures[0].causes.front().remedy, HasSubstr("ring of switches"));
  EXPECT_EQ(failures[1].subject, "credit-loop");
  EXPECT_EQ(failures_in(loop + "8000.000000 us  hca/server  packet-dropped  opcode=Send-Only dest_qp=80 psn=5 reason=18\n" + kGivesUp).size(), 2u);
}

// run.json only has diagnoses.
TEST(FailureCauses, a_completion_is_known_from_its_diagnosis_where_there_is_no_trace) {
  const std::string all = kGivesUp;
  const std::vector<Failure> failures = failures_in(all.substr(0, all.find('\n') + 1));
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].what, "QP 72 of client: the work request with wr_id 1 completes with transport retry counter exceeded (IBV_WC_RETRY_EXC_ERR)");
  EXPECT_EQ(failures[0].causes.back().evidence, failures_in(kGivesUp)[0].causes.back().evidence);
}

TEST(FailureCauses, a_check_and_an_overrun) {
  const std::vector<Failure> failures = failures_in("1.000000 us  host/client  check  unsignaled: the send queue of QP 72 is full at app.c:9\n"
                                                    "2.000000 us  hca/client  async-event  type=0 number=128 process=1000\n");
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].subject, "unsignaled");
  EXPECT_THAT(failures[0].causes[0].remedy, HasSubstr("IBV_SEND_SIGNALED"));
  EXPECT_TRUE(failures[0].is_finding);
  EXPECT_FALSE(failures[1].is_finding);
  EXPECT_EQ(failures[1].what, "CQ 128 of client has overrun (IBV_EVENT_CQ_ERR)");
}

TEST(FailureCauses, lines_that_are_not_what_they_seem_do_no_harm) {
  failures_in("1.000000 us  hca/  completion  cqn= qpn= wr_id=x status=999999999999999999999\n"
              "1.000000 us  x  diagnosis  QP : work request with wr_id\n"
              "1.000000 us  x  diagnosis  ibv_\n"
              "1.000000 us  x  diagnosis  ibv_a: \n"
              "1.000000 us  x  check  :\n"
              "1.000000 us  hca/client  qp-state  qpn=72 from=9 to=9\n"
              "1.000000 us  hca/client  diagnosis  QP 72: work request with wr_id 1 completes with transport retry counter exceeded\n"
              "1.000000 us  hca/client  completion  cqn=1 qpn=72 wr_id=1 status=12\n"
              "1.000000 us  hca/client  packet-dropped  frame\n");
}

TEST(FailureCauses, what_is_known_of_a_text) {
  EXPECT_THAT(std::string(remedy_for("a message of 5 bytes is longer than the port's max_msg_sz 4")), HasSubstr("several"));
  EXPECT_THAT(std::string(remedy_for("the bytes [0x1, 0x9) are not within the memory with rkey 0x9, because it was registered with a length of 0 bytes")),
              HasSubstr("why ibv_reg_mr got the length 0"));
  EXPECT_THAT(std::string(remedy_for("rkey 0x801 is not a memory window of type 2 that was bound through this queue pair")),
              HasSubstr("the rkey of a region of ibv_reg_mr cannot be invalidated"));
  EXPECT_EQ(remedy_for("something else"), "");
}

}  // namespace
}  // namespace verbatim::observe
