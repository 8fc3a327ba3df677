// Rules of tools/verbatim/advice: each gives its advice for records with its mistake, and none without.
#include "tools/verbatim/advice/advice.h"

#include <gtest/gtest.h>

#include "tests/explore/advice_case.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli {
namespace {

TEST(ThreadCalls, are_read_from_the_list_of_calls) {
  const auto calls = thread_calls_of(
      "100.368384000 ms server 1000/1002 ibv_poll_cq(CQ 129) = 2 [wr_id 11 success, wr_id 12 success] <143.26 ns>\n"
      "100.368474700 ms server 1000/1002 ... 81 more polls of CQ 128 in vain, until 100.345795570 ms\n"
      "100.368874700 ms server 1000/1002 exit_group(1) <unfinished ...>\n"
      "no call\n");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].begin_ps, 100'368'384'000);
  EXPECT_EQ(calls[0].end_ps, 100'368'384'000 + 143'260);
  EXPECT_EQ(calls[0].tid, 1002u);
  EXPECT_EQ(calls[0].polled(), 2u);
  EXPECT_EQ(calls[0].number_of("CQ "), 129u);
  EXPECT_EQ(calls[0].text(), "ibv_poll_cq(CQ 129) = 2 [wr_id 11 success, wr_id 12 success]");
  EXPECT_FALSE(calls[1].has_ended());
  EXPECT_EQ(calls[1].arguments, "1");
}

// Files that are cut or damaged give fewer calls.
TEST(ThreadCalls, damaged_lines_are_skipped) {
  for (const char* text :
       {"", "ms", "1 ms", "100.368384000 ms", "100.368384000 ms server", "100.368384000 ms server 1/2 ",
        "x.368384000 ms a 1/1 f()", "99999999999999.368384000 ms a 1/1 f() = 0",
        "100.368384000 ms a 0/0 f() = 0", "\n\n\n"})
    EXPECT_TRUE(thread_calls_of(text).empty()) << text;
  EXPECT_EQ(thread_calls_of("100.368384000 ms a 1/1 f() = 0 <").size(), 1u);
}

// The adapter reads a buffer later, and other bytes arrive.
Case late_gather(const char* bytes) {
  const auto run = [](const char* time, const char* content) {
    return "100.000000 us  hca/client  doorbell  kind=0 number=72 producer=1\n" + std::string(time) +
           " us  hca/client  payload-gathered  qpn=72 psn=5 length=64\n"
           "130.000000 us  port/client:1  packet-transmitted  opcode=Send-Only dest_qp=80 psn=5 wire_bytes=90\n"
           "131.000000 us  port/server:1  packet-received  opcode=Send-Only dest_qp=80 psn=5 wire_bytes=90\n"
           "132.000000 us  hca/server  dma-write  process=1 va=0x000010000000 length=64 bytes=64:" +
           content + "\n140.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n";
  };
  Case one{.trace = run("120.000000", bytes),
           .without = run("101.000000", "aaaa"),
           .site = "gather-delay",
           .decided_ps = 100'500'000,
           .ended_ps = 140'000'000};
  one.facts = one.without_facts =
      "132.000000 us  hca/server  placement  process=1 va=0x10000000 length=64 qpn=80 response=0\n";
  RunReport::Place post{"hca/client", {}};
  post.call.number = 72;
  post.call.time_ps = 99'000'000;
  post.call.place = "app.c:7";
  one.places.push_back(post);
  return one;
}

TEST(Advice, a_buffer_that_changes_before_the_adapter_reads_it) {
  const std::string text = late_gather("bbbb").text();
  EXPECT_TRUE(has(
      text,
      "the adapter of client reads 64 bytes of a send of QP 72 (posted at app.c:7) at 120.000 us, 19.000 us later than without decision 1"))
      << text;
  EXPECT_TRUE(has(text, "do not change the buffer of a request until its completion")) << text;
}

TEST(Advice, a_late_read_of_the_same_bytes_proves_nothing) { EXPECT_EQ(late_gather("aaaa").text(), ""); }

TEST(Advice, a_full_send_queue_is_no_matter_of_buffers) {
  Case one = late_gather("aaaa");
  one.failed = "client";
  one.trace += "141.000000 us  host/client  program-exited  pid=1001 exit_code=1 signal=0\n";
  one.ended_ps = 141'000'000;
  one.calls =
      "0.125000000 ms client 1001/1001 ibv_poll_cq(CQ 129) = 1 [wr_id 3 success] <10 ns>\n"
      "0.126000000 ms client 1001/1001 ibv_post_send(QP 72, wr_id 0, SEND, 64 bytes) = ENOMEM (Cannot allocate memory) <10 ns>\n"
      "0.127000000 ms client 1001/1001 exit_group(1) <unfinished ...>\n";
  const std::string text = one.text();
  EXPECT_TRUE(has(text, "the send queue is full")) << text;
  EXPECT_FALSE(has(text, "CQ 129")) << text;  // it may be the queue of the sends
  EXPECT_FALSE(has(text, "do not change the buffer")) << text;
}

// A SEND on QP 73 overtakes a WRITE on QP 72.
Case overtaken(const char* opcode) {
  const std::string head = "100.000000 us  hca/client  doorbell  kind=0 number=72 producer=1\n";
  const std::string request = std::string("110.000000 us  port/server:1  packet-received  opcode=") + opcode +
                              " dest_qp=72 psn=1 wire_bytes=290\n";
  const std::string data = "us  hca/server  dma-write  process=1 va=0x000010000000 length=256 bytes=256:aa\n";
  const std::string signal = "us  hca/server  completion  cqn=129 qpn=73 wr_id=0 status=0\n";
  const std::string end = "140.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n";
  Case one{.trace = head + request + "120.000000 " + signal + "125.000000 " + data + end,
           .without = head + request + "118.000000 " + data + "120.000000 " + signal + end,
           .calls = "0.121000000 ms server 1000/1000 ibv_poll_cq(CQ 129) = 1 [wr_id 0 success] <10 ns>\n",
           .site = "gather-delay",
           .decided_ps = 105'000'000,
           .ended_ps = 140'000'000};
  one.facts = "125.000000 us  hca/server  placement  process=1 va=0x10000000 length=256 qpn=72 response=0\n";
  return one;
}

TEST(Advice, a_message_of_another_queue_pair_is_no_sign_of_a_write) {
  const std::string text = overtaken("RDMA-Write-Only").text();
  EXPECT_TRUE(has(
      text,
      "the completion of a message on QP 73 arrives at 120.000 us, before 256 bytes at 0x000010000000 of a message on QP 72, at 125.000 us"))
      << text;
  EXPECT_TRUE(has(text, "send both on one queue pair")) << text;
}

// Messages with completions of their own may come in any order without harm.
TEST(Advice, sends_of_two_queue_pairs_in_another_order_are_no_proof) {
  EXPECT_EQ(overtaken("Send-Only").text(), "");
}

Case late_access(const char* place, const std::string& write) {
  Case one{
      .trace = "100.000000 us  host/server  system-call  tid=1002 number=1 result=1\n" + write +
               "140.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n",
      .without = "101.000000 us  host/server  system-call  tid=1002 number=1 result=1\n",
      .calls =
          "0.090000000 ms server 1000/1000 write(1, \"x\", 1) = 1 <100 us>\n0.095000000 ms server 1000/1002 write(1, \"x\", 1) = 1 <100 us>\n",
      .site = "thread-before-access",
      .actor = "thread/2",
      .decided_ps = 100'000'000,
      .ended_ps = 140'000'000};
  RunReport::Place late{"thread/2", {}};
  late.call.kind = supervisor::CallPlace::Kind::kLate;
  late.call.site = "thread-before-access";
  late.call.time_ps = 120'000'000;
  late.call.thread = 1002;
  late.call.place = place;
  one.places.push_back(late);
  return one;
}

TEST(Advice, memory_that_another_thread_changes_between_two_accesses) {
  const std::string text =
      late_access("a.c:5, before storing 4 bytes at 0x555555559140, which become 0x1 meanwhile and were 0x0", "")
          .text();
  EXPECT_TRUE(has(text, "thread 1002 of server is held at a.c:5, before storing 4 bytes")) << text;
  EXPECT_TRUE(has(text, "thread 1000 changes them in this time")) << text;
  EXPECT_TRUE(has(text, "hold one lock")) << text;
}

TEST(Advice, memory_that_an_adapter_changes_between_two_accesses_needs_no_lock) {
  const std::string text =
      late_access("a.c:5, before touching 4 bytes at 0x10000010, which become 0x1 meanwhile and were 0x0",
                  "110.000000 us  hca/server  dma-write  process=1 va=0x000010000000 length=64 bytes=64:aa\n")
          .text();
  EXPECT_TRUE(has(text, "the adapter writes there at 110.000 us")) << text;
  EXPECT_FALSE(has(text, "lock")) << text;
}

TEST(Advice, a_store_that_stays_in_the_store_buffer_needs_a_fence) {
  EXPECT_TRUE(has(
      late_access(
          "a.c:5, its store of 4 bytes at 0x1000 in the processor's store buffer while it has loaded what comes behind",
          "")
          .text(),
      "atomic_thread_fence"));
}

// A run that hangs is the beginning of the run that does not.
TEST(Advice, a_decision_after_which_nothing_happens_any_more_is_one_that_differs) {
  Case one = late_access(
      "a.c:5, its store of 4 bytes at 0x1000 in the processor's store buffer while it has loaded what comes behind",
      "");
  one.failed = "";
  one.without = one.trace + "150.000000 us  host/server  system-call  tid=1002 number=1 result=8\n";
  EXPECT_TRUE(one.text().starts_with("thread 1002 ") && has(one.text(), "atomic_thread_fence")) << one.text();
  // Among more decisions than the failure needs, it may only be a delay.
  one.is_minimal = false;
  EXPECT_TRUE(one.text().starts_with("possible: thread 1002 ")) << one.text();
}

TEST(Advice, a_decision_without_which_the_run_fails_too_is_no_cause) {
  Case one = late_access("a.c:5, before storing 4 bytes at 0x1000, which become 0x1 meanwhile and were 0x0", "");
  EXPECT_TRUE(has(one.text(), "hold one lock")) << one.text();
  one.fails_alike = true;
  EXPECT_EQ(one.text(), "");
}

// A thread that loads late finds the new bytes; one that stores late overwrites them.
TEST(Advice, a_late_load_proves_less_than_a_late_store) {
  const std::string load =
      late_access("a.c:5, before touching 4 bytes at 0x1000, which become 0x1 meanwhile and were 0x0", "").text();
  EXPECT_TRUE(load.starts_with("possible: ") && has(load, "does not fit what it has read before")) << load;
  const std::string again =
      late_access("a.c:5, before storing 4 bytes at 0x1000, which become 0x1 meanwhile and then 0x0 again", "")
          .text();
  EXPECT_TRUE(again.starts_with(
                  "thread 1002 of server is held at a.c:5, before storing 4 bytes at 0x1000, which become 0x1") &&
              has(again, "outdated value"))
      << again;
}

TEST(Advice, an_access_to_memory_that_nobody_changes_proves_nothing) {
  EXPECT_EQ(late_access("a.c:5, before touching 4 bytes at 0x1000", "").text(), "");
}

TEST(Advice, a_queue_pair_that_is_destroyed_before_its_send_is_executed) {
  Case one{
      .trace =
          "100.000000 us  hca/client  doorbell  kind=0 number=72 producer=1\n105.000000 us  hca/client  qp-state  qpn=72 from=3 to=0\n",
      .without =
          "100.000000 us  hca/client  doorbell  kind=0 number=72 producer=1\n101.000000 us  hca/client  wqe-fetched  qpn=72 index=0 opcode=0 length=4\n",
      .calls =
          "0.099000000 ms client 1001/1001 ibv_post_send(QP 72, wr_id 1, SEND, 4 bytes) = 0 <10 ns>\n"
          "0.102000000 ms client 1001/1001 ibv_destroy_qp(handle 5) = 0 <20 us>\n",
      .site = "gather-delay",
      .decided_ps = 100'500'000,
      .failed = ""};
  one.facts =
      "10.000000 us  hca/client  queue-pair  handle=5 number=72 send=8 receive=8 srq=0 send_cq=1 recv_cq=2 process=1001\n";
  const std::string text = one.text();
  EXPECT_TRUE(has(text, "ibv_post_send(QP 72, wr_id 1, SEND, 4 bytes) = 0")) << text;
  EXPECT_TRUE(has(text, "poll the completion of the last send before the queue pair is destroyed")) << text;
  // A completion that was polled shows that the send was executed.
  one.calls =
      "0.099000000 ms client 1001/1001 ibv_post_send(QP 72, wr_id 1, SEND, 4 bytes) = 0 <10 ns>\n"
      "0.101000000 ms client 1001/1001 ibv_poll_cq(CQ 1) = 1 [wr_id 1 success] <10 ns>\n"
      "0.102000000 ms client 1001/1001 ibv_destroy_qp(handle 5) = 0 <20 us>\n";
  EXPECT_EQ(one.text(), "");
  // That of an earlier request does not.
  one.calls.replace(one.calls.find("[wr_id 1"), 8, "[wr_id 0");
  EXPECT_TRUE(has(one.text(), "before the adapter has executed the request")) << one.text();
}

TEST(Advice, a_send_behind_a_read_of_as_many_bytes_needs_a_fence) {
  Case one{.trace = "140.000000 us  host/client  program-exited  pid=1001 exit_code=1 signal=0\n",
           .calls =
               "0.099000000 ms client 1001/1001 ibv_post_send(QP 72, wr_id 1, RDMA_READ, 64 bytes) = 0 <10 ns>\n"
               "0.100000000 ms client 1001/1001 ibv_post_send(QP 72, wr_id 2, SEND, 64 bytes) = 0 <10 ns>\n",
           .failed = "client",
           .ended_ps = 140'000'000,
           .findings = {{"send-buffer", "host/client", "QP 72: the buffer of the send with wr_id 2 was changed", "", 120'000'000}}};
  EXPECT_TRUE(has(one.text(), "set IBV_SEND_FENCE on the send") && !has(one.text(), "possible")) << one.text();
  one.calls.replace(one.calls.find("SEND, 64"), 8, "SEND, 56");
  EXPECT_TRUE(one.text().starts_with("possible: ")) << one.text();
}

TEST(Advice, a_lost_datagram_is_not_repeated_and_no_matter_of_buffers) {
  Case one{
      .trace = "100.000000 us  port/server:1  packet-dropped  opcode=Send-Only dest_qp=80 psn=0 reason=4\n",
      .without =
          "100.000000 us  port/server:1  packet-received  opcode=Send-Only dest_qp=80 psn=0 wire_bytes=90\n",
      .calls =
          "0.050000000 ms server 1000/1000 ibv_create_qp(UD, max_send_wr 4, max_recv_wr 4) = QP 80 <20 us>\n",
      .site = "packet-fault",
      .actor = "port/server:1",
      .decided_ps = 99'000'000,
      .failed = ""};
  const std::string text = one.text();
  EXPECT_TRUE(has(text, "a datagram to QP 80 is lost at 100.000 us")) << text;
  EXPECT_TRUE(has(text, "after a timeout the sender sends again")) << text;
  one.calls =
      "0.050000000 ms server 1000/1000 ibv_create_qp(RC, max_send_wr 4, max_recv_wr 4) = QP 80 <20 us>\n";
  EXPECT_EQ(one.text(), "");
}

// The datagram with PSN 7 is delayed at its sender, and the one with PSN 8 arrives first.
TEST(Advice, a_datagram_that_is_overtaken_needs_a_number) {
  const std::string end = "140.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n";
  const auto packet = [](const char* time, const char* port, const char* event, const char* psn) {
    return std::string(time) + " us  port/" + port + "  " + event + "  opcode=Send-Only dest_qp=80 psn=" + psn + "\n";
  };
  const std::string adapter = "90.000000 us  hca/server  completion  cqn=1 qpn=80 wr_id=0 status=0\n";
  const std::string sent = packet("99.000000", "client:1", "packet-transmitted", "7") +
                           packet("100.000000", "client:1", "fault", "7") +
                           packet("101.000000", "client:1", "packet-transmitted", "8");
  Case one{.trace = adapter + sent + packet("110.000000", "server:1", "packet-received", "8") +
                    packet("111.000000", "server:1", "packet-received", "7") + end,
           .without = adapter + packet("99.000000", "client:1", "packet-transmitted", "7") +
                      packet("109.000000", "server:1", "packet-received", "7"),
           .site = "datagram-overtaken",
           .actor = "port/client:1",
           .decided_ps = 99'000'000,
           .ended_ps = 140'000'000};
  const std::string text = one.text();
  EXPECT_TRUE(has(
      text,
      "a datagram to QP 80 (PSN 7) is delayed from 100.000 us and arrives at 111.000 us, after one that was sent later, the "
      "first of them PSN 8 at 110.000 us"))
      << text;
  EXPECT_TRUE(has(text, "put them in order")) << text;
  one.trace = adapter + sent + packet("110.000000", "server:1", "packet-received", "7") +
              packet("111.000000", "server:1", "packet-received", "7") + end;
  one.site = "quirk-duplicated-datagram";
  EXPECT_TRUE(has(one.text(),
                  "arrives twice, at 110.000 us and at 111.000 us -> number the messages, and let the receiver drop"))
      << one.text();
  one.trace = adapter + sent + packet("111.000000", "server:1", "packet-received", "7") + end;
  EXPECT_TRUE(has(one.text(), "arrives only at 111.000 us -> the time of a message is not limited")) << one.text();
  // The fault of another port is not this decision's.
  one.actor = "port/leaf0:1";
  EXPECT_EQ(one.text(), "");
}

TEST(Advice, a_lost_datagram_is_known_by_its_decision) {
  const std::string dropped = "  opcode=Send-Only dest_qp=80 psn=0 ";
  Case one{
      .trace = "100.000000 us  port/server:1  fault" + dropped +
               "rule=1000\n100.000000 us  port/server:1  packet-dropped" + dropped + "reason=4\n",
      .without = "100.000000 us  port/server:1  packet-received  opcode=Send-Only dest_qp=80 psn=0 wire_bytes=90\n",
      .site = "datagram-lost",
      .actor = "port/server:1",
      .decided_ps = 99'000'000,
      .failed = ""};
  EXPECT_TRUE(has(one.text(), "a datagram to QP 80 is lost at 100.000 us")) << one.text();
}

// An entry of 64 bytes, and the tail of a ring behind it.
Case ring(const char* site, const char* access) {
  const std::string entry = "us  hca/server  dma-write  process=1 va=0x000010000440 length=64 bytes=64:aa\n";
  const std::string tail = "us  hca/server  dma-write  process=1 va=0x000010000000 length=8 bytes=8:bb\n";
  const std::string end = "140.000000 us  host/server  program-exited  pid=1 exit_code=1 signal=0\n";
  Case one{.trace = "120.000000 " + tail + "121.000000 " + entry + end,
           .without = "119.000000 " + entry + "120.000000 " + tail + end,
           .site = site,
           .actor = "hca/server",
           .decided_ps = 118'000'000,
           .ended_ps = 140'000'000};
  one.facts =
      std::string(
          "10.000000 us  hca/server  region  handle=6 va=0x10000000 iova=0x10000000 length=4096 lkey=0x901 rkey=0x901 access=") +
      access + " process=1\n" +
      "120.000000 us  hca/server  placement  process=1 va=0x10000000 length=8 qpn=72 response=0\n"
      "121.000000 us  hca/server  placement  process=1 va=0x10000440 length=64 qpn=72 response=0\n";
  one.without_facts =
      "119.000000 us  hca/server  placement  process=1 va=0x10000440 length=64 qpn=72 response=0\n"
      "120.000000 us  hca/server  placement  process=1 va=0x10000000 length=8 qpn=72 response=0\n";
  return one;
}

TEST(Advice, a_write_that_overtakes_another_one_of_its_queue_pair) {
  const std::string text = ring("write-order", "0x100003").text();
  EXPECT_TRUE(has(
      text,
      "two WRITEs for QP 72 of server become visible in the opposite order: 8 bytes at 0x000010000000 at 120.000 us, then 64 "
      "bytes at 0x000010000440 of an earlier WRITE, at 121.000 us"))
      << text;
  EXPECT_TRUE(has(text, "(rkey 0x901) is registered with IBV_ACCESS_RELAXED_ORDERING")) << text;
  EXPECT_TRUE(has(text, "register the region without IBV_ACCESS_RELAXED_ORDERING, or let")) << text;
  const std::string quirk = ring("quirk-unordered-writes", "0x3").text();
  EXPECT_TRUE(has(quirk, "in the opposite order") && !has(quirk, "RELAXED")) << quirk;
  Case polled = ring("write-order", "0x100003");
  polled.calls = "0.130000000 ms server 1/1 ibv_poll_cq(CQ 129) = 1 [wr_id 0 success] <10 ns>\n";
  EXPECT_EQ(polled.text(), "");
}

// Several messages that arrive whole are not pieces of one message.
TEST(Advice, only_the_pieces_of_one_message_are_counted) {
  Case one = ring("placement", "0x3");
  EXPECT_EQ(one.text(), "");
  const std::string half = "us  hca/server  dma-write  process=1 va=0x000010000", bytes = " length=32 bytes=32:cc\n";
  one.trace = "118.500000 us  hca/server  dma-write  process=1 va=0x000010000000 length=8 bytes=8:dd\n119.000000 " +
              half + "460" + bytes + "119.500000 " + half + "440" + bytes +
              "140.000000 us  host/server  program-exited  pid=1 exit_code=1 signal=0\n";
  one.facts =
      "118.500000 us  hca/server  placement  process=1 va=0x10000000 length=8 qpn=72 response=0\n"
      "119.000000 us  hca/server  placement  process=1 va=0x10000460 length=32 qpn=72 response=0\n"
      "119.500000 us  hca/server  placement  process=1 va=0x10000440 length=32 qpn=72 response=0\n";
  EXPECT_TRUE(has(
      one.text(),
      "reaches memory in 2 pieces from 119.000 us to 119.500 us: 64 bytes at 0x000010000440, the last of them 32 bytes "
      "at 0x000010000440"))
      << one.text();
}

TEST(Advice, a_thread_that_sleeps_does_not_wait_for_another_thread) {
  Case one{
      .trace =
          "100.000000 us  host/server  system-call  tid=1000 number=1 result=1\n"
          "640.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n",
      .without = "101.000000 us  host/server  system-call  tid=1000 number=1 result=1\n",
      .calls =
          "0.099000000 ms server 1000/1002 write(1, \"x\", 1) = 1 <1 us>\n"
          "0.101000000 ms server 1000/1000 clock_nanosleep(CLOCK_REALTIME, 0, {0 s, 400000 ns}, 0) = 0 <400 us>\n"
          "0.501200000 ms server 1000/1000 write(4, \"x\", 1) = 1 <1 us>\n",
      .site = "thread-before-post",
      .actor = "thread/2",
      .decided_ps = 100'000'000,
      .ended_ps = 640'000'000};
  RunReport::Place late{"thread/2", {}};
  late.call.kind = supervisor::CallPlace::Kind::kLate;
  late.call.site = one.site;
  late.call.time_ps = 600'000'000;
  late.call.thread = 1002;
  late.call.place = "a.c:40";
  one.places.push_back(late);
  const std::string text = one.text();
  EXPECT_TRUE(has(
      text,
      "possible: thread 1002 of server is held at a.c:40 from 100.000 us to 600.000 us; meanwhile thread 1000 has slept for "
      "400.000 us and goes on at 501.000 us with write(4"))
      << text;
  EXPECT_TRUE(has(text, "let thread 1000 wait for thread 1002 itself")) << text;
  // A loop of short sleeps waits for something else.
  one.calls += "0.520000000 ms server 1000/1000 clock_nanosleep(CLOCK_REALTIME, 0, {0 s, 1000 ns}, 0) = 0 <1 us>\n";
  EXPECT_EQ(one.text(), "");
}

TEST(Advice, a_report_of_a_sanitizer_is_the_cause) {
  Case one{.trace = "140.000000 us  host/client  program-exited  pid=1001 exit_code=66 signal=0\n",
           .failed = "client",
           .ended_ps = 140'000'000,
           .last_words = "ThreadSanitizer: reported 1 warnings",
           .sanitizer_report =
               "WARNING: ThreadSanitizer: data race (pid=1001)\n"
               "  Write of size 1 at 0x000010000000 by main thread:\n"
               "    #0 main /src/app.c:42 (app+0x3dd1)\n\n"
               "  Previous write of size 1 at 0x000010000000 by thread T1:\n"
               "    #0 memset ../../src/libsanitizer/tsan/interceptors.cpp:1 (libtsan.so+0x1)\n"
               "    #1 send_buffer /src/app.c:13 (app+0x28dd)\n\n"
               "SUMMARY: ThreadSanitizer: data race /src/app.c:42 in main\n"};
  const std::string text = one.text();
  EXPECT_TRUE(text.starts_with(
      "ThreadSanitizer, which is built into the program of client, reports data race: Write of size 1 at 0x000010000000 by "
      "main thread, main at app.c:42; Previous write of size 1 at 0x000010000000 by thread T1, send_buffer at app.c:13 -> "
      "order the two accesses"))
      << text;
  // The program may have ended for another reason.
  one.last_words = "message 3 is missing";
  EXPECT_TRUE(one.text().starts_with("possible: ThreadSanitizer")) << one.text();
  one.sanitizer_report =
      "==1000==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc 0x55 bp 0x7f sp 0x7f\n"
      "WRITE of size 1 at 0x60 thread T0\n    #0 0x5555 in main /src/b.c:14\n    #1 0x6eff in __libc_start_call_main ../sysdeps/x.h:58\n"
      "allocated by thread T0 here:\nLLVMSymbolizer: error reading file\n    #0 0x5555 in calloc (b+0x1)\n    #1 0x5556 in main /src/b.c:11\n";
  one.last_words = "==1000==ABORTING";
  EXPECT_TRUE(has(
      one.text(),
      "reports heap-buffer-overflow: WRITE of size 1 at 0x60 thread T0, main at b.c:14; allocated by thread T0 here, main at b.c:11 -> keep the access within"))
      << one.text();
}

// Programs write what they like.
TEST(Advice, damaged_reports_of_sanitizers_are_read) {
  for (const char* report : {"Sanitizer: ", "Sanitizer: \n", "ERROR: XSanitizer: ", "x Sanitizer:  on  (",
                             "ASanitizer: a\n#", "ASanitizer: a\nb\n#0\n#1 \n#2 in \n",
                             "ASanitizer: a\nb\n#0 f :\n#1 (x\n#2 a b:\n#3 in in in x:1 (", "no report", "\n\n"}) {
    Case one{.trace = "140.000000 us  host/client  program-exited  pid=1001 exit_code=66 signal=0\n",
             .failed = "client",
             .ended_ps = 140'000'000};
    one.sanitizer_report = report;
    EXPECT_FALSE(has(one.text(), "#")) << report;
  }
}

// A READ in two packets, the second one time.
Case two_reads(const char* second_bytes, const std::string& later) {
  const auto read = [](const std::string& time, const char* psn, const char* bytes) {
    return time + "0.000000 us  hca/client  wqe-fetched  qpn=72 index=0 opcode=4 length=64\n" + time +
           "1.000000 us  port/client:1  packet-transmitted  opcode=RDMA-Read-Request dest_qp=80 psn=" + psn +
           " wire_bytes=42\n" + time + "3.000000 us  hca/server  payload-gathered  qpn=80 psn=" + psn +
           " length=64\n" + time +
           "5.000000 us  hca/client  dma-write  process=1 va=0x000010000000 length=64 bytes=64:" + bytes + "\n";
  };
  Case one{.trace = read("10", "1", "aa") + read("11", "2", second_bytes) + later +
                    "140.000000 us  host/client  program-exited  pid=1001 exit_code=1 signal=0\n",
           .failed = "client",
           .ended_ps = 140'000'000};
  one.facts =
      "105.000000 us  hca/client  placement  process=1 va=0x10000000 length=64 qpn=72 response=1\n"
      "115.000000 us  hca/client  placement  process=1 va=0x10000000 length=64 qpn=72 response=1\n";
  return one;
}

TEST(Advice, a_read_is_no_snapshot_of_memory_that_changes) {
  const std::string text = two_reads("bb", "").text();
  EXPECT_TRUE(has(
      text,
      "possible: for a READ of 64 bytes that client sends at 111.000 us, the adapter of server reads the memory at 113.000 us"))
      << text;
  EXPECT_TRUE(has(text, "a READ is no snapshot")) << text;
  EXPECT_EQ(two_reads("aa", "").text(), "");  // nothing has changed
  EXPECT_EQ(
      two_reads("bb",
                "120.000000 us  port/client:1  packet-transmitted  opcode=Send-Only dest_qp=80 psn=3 wire_bytes=42\n")
          .text(),
      "");
}

TEST(Advice, a_field_without_a_defined_value) {
  Case one{.trace =
               "100.000000 us  hca/server  completion  cqn=1 qpn=2 wr_id=3 status=5 bytes=64:aa\n"
               "140.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n",
           .without = "100.000000 us  hca/server  completion  cqn=1 qpn=2 wr_id=3 status=5 bytes=64:bb\n",
           .site = "failed-completion-fields",
           .actor = "hca/server",
           .decided_ps = 99'000'000,
           .ended_ps = 140'000'000,
           .findings = {
               {"undefined-field", "host/server", "thread 1000 decides by opcode", "a.c:9", 100'000'000}}};
  EXPECT_TRUE(has(one.text(), "thread 1000 decides by opcode, at a.c:9")) << one.text();
  // A finding of after the failure is not its cause.
  one.findings[0].time_ps = 150'000'000;
  EXPECT_EQ(one.text(), "");
}

// A thread that arms before it polls takes an event whose completion it has polled already.
Case empty_poll_after_event(const std::string& first_poll) {
  Case c;
  c.trace = "100675.570876 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n";
  c.calls = "100.654728076 ms server 1000/1000 ibv_req_notify_cq(CQ 128) = 0 <30 ns>\n"
            "100.654758076 ms server 1000/1000 ibv_poll_cq(CQ 128) = " + first_poll + " <281.63 ns>\n"
            "100.675039706 ms server 1000/1000 ibv_post_send(QP 72, wr_id 2, SEND, 1 bytes) = 0 <81.17 ns>\n"
            "100.675120876 ms server 1000/1000 read(6, \"\", 8) = 8 <200 ns>\n"
            "100.675320876 ms server 1000/1000 ibv_req_notify_cq(CQ 128) = 0 <30 ns>\n"
            "100.675350876 ms server 1000/1000 ibv_poll_cq(CQ 128) = 0 <20 ns>\n"
            "100.675370876 ms server 1000/1000 write(1, \"failed\", 6) = 6 <200 ns>\n"
            "100.675570876 ms server 1000/1000 exit_group(1) <unfinished ...>\n";
  c.ended_ps = 100'675'570'876;
  return c;
}

TEST(Advice, an_event_whose_completion_an_earlier_poll_has_taken) {
  const std::string text = empty_poll_after_event("1 [wr_id 1 success]").text();
  EXPECT_TRUE(has(text, "possible: thread 1000 of server takes an event of a completion channel at 100675.320 us, but ibv_poll_cq(CQ 128) = 0")) << text;
  EXPECT_TRUE(has(text, "the poll at 100654.758 us has taken the completion already")) << text;
  EXPECT_TRUE(has(text, "do not treat 0 as an error")) << text;
  EXPECT_EQ(empty_poll_after_event("0").text(), "") << "nobody has taken a completion";
}

TEST(Advice, nothing_is_said_of_records_without_a_mistake) {
  EXPECT_EQ(Case{}.text(), "");
  const Case only_end{.trace = "100.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n",
                      .ended_ps = 100'000'000};
  EXPECT_EQ(only_end.text(), "");
}

}  // namespace
}  // namespace verbatim::cli
