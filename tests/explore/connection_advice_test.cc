// Rules of tools/verbatim/advice about connections: their events, completions of both directions, and their
// end.
#include <gtest/gtest.h>

#include "tests/explore/advice_case.h"

namespace verbatim::cli {
namespace {

// A reply on QP 72 and the completion of the send that it answers, whose acknowledgement is late.
Case late_completion(const std::string& site, std::uint64_t posted) {
  const std::string sent =
      "100.000000 us  hca/client  doorbell  kind=0 number=72 producer=" + std::to_string(posted) + "\n";
  const std::string completion = " us  hca/client  completion  cqn=128 qpn=72 wr_id=7 status=0 bytes=64:";
  const std::string fact = " us  hca/client  completed  cqn=128 qpn=72 receive=";
  const std::string end = "140.000000 us  host/client  program-exited  pid=1001 exit_code=1 signal=0\n";
  Case one{.trace = sent + "110.000000" + completion + "aa\n110.000000" + completion + "bb\n" + end,
           .without = sent + "105.000000" + completion + "cc\n110.000000" + completion + "dd\n",
           .calls = "",
           .site = site,
           .decided_ps = 101'000'000,
           .failed = "client",
           .ended_ps = 140'000'000};
  one.facts = "110.000000" + fact + "1\n110.000000" + fact + "0\n";
  one.without_facts = "105.000000" + fact + "0\n110.000000" + fact + "1\n";
  RunReport::Place post{"hca/client", {}};
  post.call.number = 72;
  post.call.wr_id = 7;
  post.call.time_ps = 99'000'000;
  post.call.place = "app.c:7";
  one.places.push_back(post);
  return one;
}

TEST(ConnectionAdvice, a_reply_that_comes_before_the_completion_of_its_request) {
  const std::string text = late_completion("ack-delay", 1).text();
  EXPECT_TRUE(text.starts_with(
      "at client, the completion of a message on QP 72 is written at 110.000 us, before the completion of a send of QP 72 "
      "(posted at app.c:7) that client has posted earlier, which is written at 110.000 us. Without decision 1 they come in the other order"))
      << text;
  EXPECT_TRUE(has(text, "note that a message is sent when ibv_post_send returns")) << text;
}

TEST(ConnectionAdvice, a_decision_that_moves_more_than_completions_proves_less) {
  EXPECT_TRUE(late_completion("link-delay", 1).text().starts_with("possible: at client"))
      << late_completion("link-delay", 1).text();
}

TEST(ConnectionAdvice, a_send_that_is_posted_after_the_message_has_not_been_overtaken) {
  EXPECT_EQ(late_completion("ack-delay", 0).text(), "");
}

TEST(ConnectionAdvice, completions_of_an_unknown_direction_prove_nothing) {
  Case one = late_completion("ack-delay", 1);
  one.facts.clear();
  EXPECT_EQ(one.text(), "");
}

TEST(ConnectionAdvice, completions_in_the_same_order_prove_nothing) {
  Case one = late_completion("ack-delay", 1);
  one.without_facts = one.facts;
  one.without =
      one.trace + "150.000000 us  hca/client  completion  cqn=128 qpn=72 wr_id=7 status=0 bytes=64:ee\n";
  EXPECT_EQ(one.text(), "");
}

TEST(ConnectionAdvice, a_queue_pair_that_is_closed_before_all_sends_are_complete) {
  const std::string completion = " us  hca/client  completion  cqn=129 qpn=72 wr_id=1 status=0\n";
  const std::string fact = " us  hca/client  completed  cqn=129 qpn=72 receive=0\n";
  Case one{
      .trace = "100.000000 us  hca/client  doorbell  kind=0 number=72 producer=2\n110.000000" + completion,
      .without = "100.000000 us  hca/client  doorbell  kind=0 number=72 producer=2\n105.000000" + completion +
                 "106.000000" + completion,
      .site = "thread-before-local-call",
      .decided_ps = 99'000'000,
      .failed = ""};
  one.trace += "200.000000 us  host/server  system-call  tid=1002 number=1 result=1\n";
  one.facts =
      "10.000000 us  hca/client  queue-pair  handle=4 number=72 send=8 receive=8 srq=0 send_cq=1 recv_cq=2 process=1001\n110.000000" +
      fact;
  one.without_facts = "105.000000" + fact + "106.000000" + fact;
  one.calls =
      "0.099000000 ms client 1001/1001 ibv_post_send(QP 72, wr_id 2, SEND, 4 bytes) = 0 <10 ns>\n"
      "0.111000000 ms client 1001/1001 ibv_poll_cq(CQ 129) = 1 [wr_id 1 success] <10 ns>\n"
      "0.112000000 ms client 1001/1001 ibv_modify_qp(handle 4, ERR) = 0 <20 us>\n";
  EXPECT_TRUE(one.text().starts_with(
      "possible: client calls ibv_modify_qp(QP 72, ERR) = 0 at 112.000 us, when only 1 of 2 sends of QP 72 are complete; "
      "the last one is ibv_post_send(QP 72, wr_id 2, SEND, 4 bytes) = 0"))
      << one.text();
  one.without_facts.clear();
  EXPECT_EQ(one.text(), "");
}

TEST(ConnectionAdvice, a_hang_with_many_decisions_may_come_of_an_early_reply) {
  Case one = late_completion("link-delay", 1);
  one.failed = "";
  one.without.clear();
  EXPECT_EQ(one.text(), "");
  one.is_minimal = false;
  EXPECT_TRUE(one.text().starts_with("possible: at client, the completion of a message on QP 72 is written at 110.000 us")) << one.text();
  one.facts = "110.000000 us  hca/client  completed  cqn=128 qpn=72 receive=0\n110.000000 us  hca/client  completed  cqn=128 qpn=72 receive=1\n";
  EXPECT_EQ(one.text(), "") << "the send is complete first";
}

// The calls of a late failure are not observed.
TEST(ConnectionAdvice, a_send_queue_that_is_full_at_the_end_of_the_program) {
  Case one = late_completion("", 3);
  one.failed = "server";
  one.ended_ps = 140'000'000;
  one.trace.replace(one.trace.find("host/client"), 11, "host/server");
  for (std::string* text : {&one.trace, &one.facts}) {
    for (std::size_t at = text->find("hca/client"); at != text->npos; at = text->find("hca/client")) text->replace(at, 10, "hca/server");
  }
  one.facts = "10.000000 us  hca/server  queue-pair  handle=4 number=72 send=2 receive=8 srq=0 send_cq=1 recv_cq=1 process=1001\n" + one.facts;
  EXPECT_TRUE(one.text().starts_with("possible: when the program of server ends, the send queue of QP 72 is full: 3 requests are posted, and the program has polled the completions of 1"))
      << one.text();
  one.trace.replace(one.trace.find("producer=3"), 10, "producer=2");
  EXPECT_EQ(one.text(), "");
  one.facts += "110.000000 us  hca/server  level  of=cq number=128 level=1\n";
  EXPECT_TRUE(has(one.text(), "has polled the completions of 0")) << one.text();
}

std::string cm_write(const char* time_ms, const char* thread, const char* command, const char* result) {
  return std::string(time_ms) + " ms server 1000/" + thread + " write(3, \"" + command +
         "\\x00\\x00\\x00\\x08\\x00P\\x01\", 16)" + result + "\n";
}
const char* const kTaken = " = 16 <1 us>";
const char* const kWaits = " <unfinished ...>";

// Thread 1004 accepts and waits; thread 1000 takes the event.
Case shared_channel(const char* taker_channel) {
  Case one{
      .trace =
          "100.000000 us  host/server  program-started  pid=1000\n900.000000 us  host/server  program-started  pid=1001\n",
      .failed = ""};
  const std::string taken = std::string("0.100000000 ms server 1000/1000 write(") + taker_channel +
                            ", \"\\f\\x00\\x00\\x00\\x08\", 16) = 16 <300 us>\n";
  one.calls = taken + cm_write("0.200000000", "1004", "\\x08", kTaken) +
              cm_write("0.250000000", "1004", "\\f", kWaits);
  return one;
}

TEST(ConnectionAdvice, an_event_that_another_thread_takes) {
  const std::string text = shared_channel("3").text();
  EXPECT_TRUE(text.starts_with(
      "several threads of server call rdma_get_cm_event for one event channel. Thread 1004 does so at 250.000 us, after a call "
      "whose event is RDMA_CM_EVENT_ESTABLISHED; thread 1000, which waits for the channel as well, takes all later events, the "
      "last one at 400.000 us, and thread 1004 waits for ever"))
      << text;
  EXPECT_TRUE(has(text, "by rdma_migrate_id before rdma_accept")) << text;
  EXPECT_EQ(shared_channel("4").text(), "") << "another channel";
}

TEST(ConnectionAdvice, a_thread_that_waits_for_its_event_alone) {
  Case one = shared_channel("3");
  one.calls =
      cm_write("0.200000000", "1004", "\\x08", kTaken) + cm_write("0.250000000", "1004", "\\f", kWaits);
  EXPECT_EQ(one.text(), "");
}

// Two clients: the second request arrives before the first connection is established.
Case two_requests(const std::string& answer) {
  const auto message = [](const char* time, const char* event, const char* attribute,
                          const char* transaction) {
    return std::string(time) + " us  hca/server  datagram-" + event +
           "  lid=1 class_method=1795 attribute=" + attribute + " transaction=" + transaction +
           " bytes=256:aa\n";
  };
  Case one{.trace = message("100.000000", "received", "16", "1") +
                    message("150.000000", "received", "16", "2") + message("200.000000", "sent", "19", "1") +
                    message("210.000000", "received", "20", "1") +
                    (answer.empty() ? "" : message("300.000000", "sent", answer.c_str(), "2")) +
                    "900.000000 us  host/client  system-call  tid=1002 number=1 result=1\n",
           .failed = ""};
  one.calls = cm_write("0.010000000", "1000", "\\x07", kTaken) +
              cm_write("0.200000000", "1000", "\\x08", kTaken) +
              cm_write("0.201000000", "1000", "\\f", kTaken);
  return one;
}

TEST(ConnectionAdvice, a_request_that_is_taken_for_another_event) {
  const std::string text = two_requests("").text();
  EXPECT_TRUE(text.starts_with(
      "a second connection request arrives at server at 150.000 us, before the other connection is established (its last message "
      "arrives at 210.000 us). server has accepted the other one at 200.000 us and takes the next event of the channel at 202.000 us"))
      << text;
  EXPECT_TRUE(has(text, "handle each by its type and by event->id")) << text;
}

// The calls of a late failure are not observed.
TEST(ConnectionAdvice, a_thread_that_waits_for_the_channel_has_taken_the_request) {
  Case one = two_requests("");
  one.calls.clear();
  EXPECT_EQ(one.text(), "");
  one.sentences = {
      "server: kv (pid 1000), thread 1000 waits in write on rdma_cm event channel since 300.000 us"};
  EXPECT_TRUE(has(one.text(), "takes the next event of the channel: it is RDMA_CM_EVENT_CONNECT_REQUEST"))
      << one.text();
}

TEST(ConnectionAdvice, a_request_that_the_end_of_the_program_rejects_was_not_answered) {
  Case one = two_requests("18");
  one.trace = one.trace.substr(0, one.trace.find("900.000000"));
  EXPECT_TRUE(has(one.text(), "The request is never accepted or rejected")) << one.text();
}

TEST(ConnectionAdvice, a_request_that_is_answered_is_no_cause) {
  EXPECT_EQ(two_requests("19").text(), "");
  EXPECT_EQ(two_requests("18").text(), "");
}

TEST(ConnectionAdvice, a_request_that_is_rejected_because_nobody_listens) {
  Case one{
      .trace =
          "100.000000 us  hca/server  datagram-sent  lid=1 class_method=1795 attribute=18 transaction=1 bytes=256:aa\n"
          "300.000000 us  host/client  program-exited  pid=1001 exit_code=1 signal=0\n",
      .calls = "0.010000000 ms server 1000/1000 bind(3, {AF_INET, 10.0.0.1:7000}, 16) = 0 <200 ns>\n",
      .failed = "client",
      .ended_ps = 300'000'000};
  EXPECT_TRUE(
      has(one.text(), "is rejected at 100.000 us: no program of server has called rdma_listen by then"))
      << one.text();
  EXPECT_TRUE(has(one.text(), "start the client when the server listens")) << one.text();
  one.calls += cm_write("0.050000000", "1000", "\\x07", kTaken);
  EXPECT_EQ(one.text(), "") << "the server rejects it for another reason";
}

TEST(ConnectionAdvice, a_connection_that_is_refused_because_nobody_listens) {
  Case one{
      .trace = "300.000000 us  host/client  program-exited  pid=1001 exit_code=1 signal=0\n",
      .calls =
          "0.200000000 ms client 1001/1001 connect(3, {AF_INET, 10.0.0.1:7000}, 16) = -1 ECONNREFUSED (Connection refused) <200 ns>\n",
      .failed = "client",
      .ended_ps = 300'000'000};
  EXPECT_TRUE(has(one.text(), "no program of another host has called listen by then")) << one.text();
  one.calls = "0.100000000 ms server 1000/1000 listen(3, 5) = 0 <200 ns>\n" + one.calls;
  EXPECT_EQ(one.text(), "");
}

// A message completes after the change to RTS, which `attribute` follows: a REP of the accepting side, or an
// RTU.
Case early_message(const char* attribute) {
  Case one{
      .trace = std::string("100.000000 us  hca/server  datagram-sent  lid=1 class_method=1795 attribute=") +
               attribute +
               " transaction=1 bytes=256:aa\n"
               "150.000000 us  hca/server  completion  cqn=128 qpn=72 wr_id=7 status=0\n"
               "300.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n",
      .ended_ps = 300'000'000};
  one.facts =
      "10.000000 us  hca/server  queue-pair  handle=4 number=72 send=8 receive=8 srq=0 send_cq=1 recv_cq=2 process=1000\n"
      "150.000000 us  hca/server  completed  cqn=128 qpn=72 receive=1\n";
  one.calls = "0.099000000 ms server 1000/1000 ibv_modify_qp(handle 4, RTS, sq_psn 1) = 0 <20 us>\n" +
              cm_write("0.160000000", "1000", "\\f", kWaits);
  return one;
}

TEST(ConnectionAdvice, a_message_before_the_event_of_the_accepting_side) {
  EXPECT_TRUE(has(early_message("19").text(), "handles it before it has taken RDMA_CM_EVENT_ESTABLISHED"))
      << early_message("19").text();
  EXPECT_EQ(early_message("20").text(), "") << "the connecting side has its event";
}

TEST(ConnectionAdvice, a_queue_pair_that_is_destroyed_while_a_completion_of_it_is_handled) {
  Case one{.trace =
               "100.000000 us  hca/server  completion  cqn=128 qpn=72 wr_id=7 status=0\n"
               "300.000000 us  host/server  program-exited  pid=1000 exit_code=0 signal=11\n",
           .ended_ps = 300'000'000};
  one.facts =
      "10.000000 us  hca/server  queue-pair  handle=4 number=72 send=8 receive=8 srq=0 send_cq=1 recv_cq=2 process=1000\n";
  one.calls =
      "0.110000000 ms server 1000/1003 ibv_poll_cq(CQ 128) = 1 [wr_id 7 success] <81 ns>\n"
      "0.150000000 ms server 1000/1000 ibv_destroy_qp(handle 4) = 0 <20 us>\n";
  EXPECT_EQ(one.text(), "") << "a program that ends by itself";
  one.how = "signal 11 (SIGSEGV)";
  const std::string text = one.text();
  EXPECT_TRUE(text.starts_with(
      "possible: thread 1003 of server polls a completion of QP 72 at 110.000 us, and thread 1000 calls ibv_destroy_qp(QP 72) = 0 at "
      "150.000 us"))
      << text;
  EXPECT_TRUE(has(text, "only when no thread handles a completion of it")) << text;
  one.calls += "0.200000000 ms server 1000/1003 ibv_poll_cq(CQ 128) = 1 [wr_id 8 success] <81 ns>\n";
  EXPECT_EQ(one.text(), "") << "the thread has handled it";
}

}  // namespace
}  // namespace verbatim::cli
