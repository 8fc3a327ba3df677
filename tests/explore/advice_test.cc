// Rules of tools/verbatim/advice: each gives its advice for records with its mistake, and none without.
#include "tools/verbatim/advice/advice.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli {
namespace {

Trace lines_of(const std::string& text) {
  Trace trace;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (auto parsed = observe::parse_trace_line(line)) trace.push_back(std::move(*parsed));
  }
  return trace;
}

// A failure: records of the failing run and, with a decision, of the run without it.
struct Case {
  std::string trace, facts, without, without_facts, calls;
  std::string site, actor = "hca/client";
  std::int64_t decided_ps = 0;
  std::string failed = "server";  // the program that failed; empty: the run hangs
  std::int64_t ended_ps = 0;
  std::vector<RunReport::Finding> findings;
  std::vector<std::string> sentences;
  std::vector<RunReport::Place> places;

  std::vector<Advice> advice() const {
    RunReport report;
    report.code = 1;
    report.outcome = failed.empty() ? "deadlock" : "finished";
    report.findings = findings;
    report.sentences = sentences;
    if (!failed.empty()) report.programs.push_back({failed, false, "exit code 1", "", ended_ps});
    std::vector<explore::Decision> decisions;
    std::vector<Evidence::Run> runs;
    if (!site.empty()) {
      decisions.push_back({site, actor, 0, 1, 10, decided_ps});
      runs.push_back({lines_of(without), lines_of(without_facts)});
    }
    const Places all(places);
    return advice_of(Evidence({lines_of(trace), lines_of(facts)}, std::move(runs), decisions,
                              thread_calls_of(calls), all, report));
  }
  std::string text() const {
    const std::vector<Advice> all = advice();
    return all.empty() ? ""
                       : (all.front().is_proven ? "" : "possible: ") + all.front().cause + " -> " +
                             all.front().remedy;
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

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
      late_access("a.c:5, before touching 4 bytes at 0x555555559140, which become 0x1 meanwhile and were 0x0",
                  "")
          .text();
  EXPECT_TRUE(has(text, "thread 1002 of server is held at a.c:5, before touching 4 bytes")) << text;
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
