// RESET and destruction leave nothing of the queue pair's previous life.
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using ib::QpState;

// Back to RESET and to RTS, as a program that connects again does.
void connect_again(Pair& pair) {
  for (Pair::Side* side : {&pair.a, &pair.b}) {
    ASSERT_EQ(side->program.to_state(side->qp, QpState::kReset), 0);
    side->qp.send_producer = side->qp.recv_producer = 0;
  }
  pair.connect_both();
  ASSERT_TRUE(pair.ready);
}

void expect_talk(Pair& pair, std::uint64_t id) {
  pair.b.program.post_recv(pair.b.qp, id, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = id, .sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq), received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(sent[0].wr_id, id);
  EXPECT_EQ(received[0].wr_id, id);
  EXPECT_EQ(sent[0].wqe_counter, 0u) << "numbered anew";
}

// A late completion would count for work requests of the next life.
TEST(ResetTest, no_completion_comes_after_the_command_whenever_it_is_given) {
  for (const bool destroys : {false, true}) {
    bool was_early = false, was_late = false;
    for (int steps = 0; !was_late; ++steps) {
      Pair pair;
      pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
      pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
      for (int i = 0; i < steps; ++i) pair.world.engine.step();
      std::size_t before = 0;
      for (Pair::Side* side : {&pair.a, &pair.b}) {
        if (destroys) {
          ASSERT_EQ(side->program.destroy(protocol::CommandType::kDestroyQp, side->qp.made.handle), 0);
        } else {
          ASSERT_EQ(side->program.to_state(side->qp, QpState::kReset), 0);
        }
        before += side->program.drain(side->send_cq).size() + side->program.drain(side->recv_cq).size();
      }
      pair.world.run();
      for (Pair::Side* side : {&pair.a, &pair.b}) {
        EXPECT_EQ(side->program.drain(side->send_cq).size() + side->program.drain(side->recv_cq).size(), 0u)
            << steps;
      }
      was_early = was_early || before == 0;
      was_late = before == 2;
      ASSERT_LT(steps, 1000);
    }
    EXPECT_TRUE(was_early);
  }
}

// Receives of a shared queue stay the queue's: each that was taken has completed when the command returns.
TEST(ResetTest, a_taken_receive_of_a_shared_queue_completes_before_its_queue_pair_goes) {
  Pair pair({}, false);
  Srq srq = pair.b.program.create_srq(8);
  pair.b.qp = pair.b.program.create_qp(pair.b.send_cq, pair.b.recv_cq, {64, 64, 4, 4, 64}, ib::QpType::kRc,
                                       srq.made.handle);
  pair.connect_both();
  ASSERT_TRUE(pair.ready);
  for (int i = 0; i < 4; ++i) pair.b.program.post_recv(srq, i, {pair.b.sge(0, 8)});
  for (int i = 0; i < 4; ++i) pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  std::size_t taken = 0;
  while (taken < 3) {
    ASSERT_TRUE(pair.world.engine.step());
    taken = pair.world.trace.count(TraceEvent::kAckSent);
  }
  ASSERT_EQ(pair.b.program.destroy(protocol::CommandType::kDestroyQp, pair.b.qp.made.handle), 0);
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  EXPECT_GE(received.size(), 3u);
  pair.world.run_for(Duration{50'000'000});
  EXPECT_TRUE(pair.b.program.drain(pair.b.recv_cq).empty());
}

// Completing current requests may itself overrun the CQ, which flushes posted requests.
TEST(ResetTest, a_queue_pair_may_go_while_its_completions_overrun_their_queue) {
  bool has_overrun = false;
  for (int steps = 0; steps < 300; steps += 3) {
    PairOptions options;
    options.cqe = 1;
    Pair pair(options);
    for (std::uint64_t i = 0; i < 40; ++i) {
      SendRequest write{.wr_id = i, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, 8)}};
      write.remote_va = Program::kBuffer;
      write.rkey = pair.b.mr.rkey;
      pair.a.program.post_send(pair.a.qp, write);
    }
    for (int i = 0; i < steps; ++i) pair.world.engine.step();
    ASSERT_EQ(pair.a.program.destroy(protocol::CommandType::kDestroyQp, pair.a.qp.made.handle), 0);
    EXPECT_LE(pair.a.program.drain(pair.a.send_cq).size(), 1u);
    pair.world.run();
    EXPECT_LE(pair.a.program.async_events.size(), 1u);
    has_overrun = has_overrun || !pair.a.program.async_events.empty();
  }
  EXPECT_TRUE(has_overrun);
}

TEST(ResetTest, a_doorbell_on_its_way_is_void) {
  Pair pair;
  pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, 8)}});
  ASSERT_EQ(pair.a.program.to_state(pair.a.qp, QpState::kReset), 0);
  pair.world.run();
  pair.a.qp.send_producer = 0;
  pair.b.program.to_state(pair.b.qp, QpState::kReset);
  pair.connect_both();
  ASSERT_TRUE(pair.ready);
  expect_talk(pair, 7);
}

TEST(ResetTest, a_queue_pair_connects_again_whatever_was_under_way) {
  for (int steps = 0; steps < 400; steps += 3) {
    SCOPED_TRACE(steps);
    Pair pair;
    for (std::uint64_t i = 0; i < 3; ++i) {
      pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 5000)});
      pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 5000)}});
    }
    for (int i = 0; i < steps; ++i) pair.world.engine.step();
    connect_again(pair);
    pair.world.run();  // what is left of the old connection has other PSNs or none
    pair.a.program.drain(pair.a.send_cq);
    pair.b.program.drain(pair.b.recv_cq);
    if (pair.a.program.state(pair.a.qp) == QpState::kErr ||
        pair.b.program.state(pair.b.qp) == QpState::kErr) {
      connect_again(pair);  // a packet of the old connection fitted the new one
    }
    expect_talk(pair, 9);
  }
}

}  // namespace
}  // namespace verbatim::test
