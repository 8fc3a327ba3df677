// Programs that run ahead of the adapter's time: entries are in their queues before they are visible, and the
// programs' own actions take effect later.
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;

// The next entry of the ring, visible or not; null if it has not been written.
const protocol::Cqe* next_entry(Program& program, const Cq& cq, std::uint32_t skipped = 0) {
  const std::uint32_t number = cq.consumer + skipped;
  const auto* entry = reinterpret_cast<const protocol::Cqe*>(program.at(cq.ring)) + (number & (cq.entries - 1));
  return entry->sequence == number / cq.entries + 1 ? entry : nullptr;
}

Duration write_time(const World& world) {
  return world.options.profile.pcie.one_way_latency + world.options.profile.pcie.memory_write_latency;
}

TEST(AheadTest, a_completion_lies_in_the_ring_before_it_is_visible) {
  Pair pair;
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 7, .sges = {pair.a.sge(0, 8)}});
  while (next_entry(pair.b.program, pair.b.recv_cq) == nullptr && !pair.world.engine.empty()) pair.world.engine.step();
  const protocol::Cqe* const entry = next_entry(pair.b.program, pair.b.recv_cq);
  ASSERT_NE(entry, nullptr);
  const protocol::Cqe early = *entry;
  EXPECT_GE(early.visible_at_ps, pair.world.now_ps() + to_ps(write_time(pair.world)));
  EXPECT_FALSE(pair.b.program.poll(pair.b.recv_cq)) << "it is not visible yet";
  pair.world.run();
  EXPECT_EQ(std::memcmp(&early, entry, sizeof early), 0) << "what comes is what was there";
  EXPECT_TRUE(pair.b.program.poll(pair.b.recv_cq));
}

TEST(AheadTest, what_a_program_took_ahead_of_time_is_given_back_at_its_own_time) {
  PairOptions options;
  options.cqe = 4;
  Pair pair(options);
  for (std::uint64_t i = 0; i < 4; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 8)}});
  }
  pair.world.run();
  pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 4u);
  // For the adapter the queue is full until then, so one more entry overruns it.
  auto* const ring = reinterpret_cast<protocol::Cqe*>(pair.b.program.at(pair.b.recv_cq.ring));
  for (int i = 0; i < 4; ++i) ring[i].visible_at_ps = pair.world.now_ps() + 1'000'000'000;
  pair.b.program.post_recv(pair.b.qp, 5, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 5, .sges = {pair.a.sge(0, 8)}});
  pair.world.run_for(std::chrono::microseconds(100));
  ASSERT_EQ(pair.b.program.async_events.size(), 1u);
  EXPECT_EQ(pair.b.program.async_events[0].event_type, static_cast<std::uint32_t>(ib::AsyncEventType::kCqError));
}

TEST(AheadTest, completions_on_their_way_move_up_when_those_of_another_queue_pair_are_written_first) {
  Pair pair;
  // Both queue pairs of `a` complete in one queue; one after the other is connected to the same peer.
  Qp other = pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq, pair.options.capabilities);
  Qp peer = pair.b.program.create_qp(pair.b.send_cq, pair.b.recv_cq, pair.options.capabilities);
  const PathOptions path;
  ASSERT_EQ(pair.a.program.to_init(other, path) + pair.b.program.to_init(peer, path), 0);
  ASSERT_EQ(pair.a.program.to_rtr(other, 2, peer.made.number, path) + pair.b.program.to_rtr(peer, 1, other.made.number, path), 0);
  ASSERT_EQ(pair.a.program.to_rts(other, path) + pair.b.program.to_rts(peer, path), 0);
  SendRequest write{.opcode = protocol::WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, 8)}};
  write.remote_va = Program::kBuffer;
  write.rkey = pair.b.mr.rkey;
  for (std::uint64_t i = 0; i < 6; ++i) {
    write.wr_id = i;
    pair.a.program.post_send(i % 2 == 0 ? pair.a.qp : other, write);
  }
  while (next_entry(pair.a.program, pair.a.send_cq, 3) == nullptr && !pair.world.engine.empty()) pair.world.engine.step();
  ASSERT_FALSE(pair.a.program.poll(pair.a.send_cq)) << "four are there, none is visible";
  ASSERT_EQ(pair.a.program.to_state(other, QpState::kReset), 0);
  std::vector<std::uint64_t> order;
  for (const protocol::Cqe& entry : pair.a.program.drain(pair.a.send_cq)) order.push_back(entry.wr_id);
  const std::vector<std::uint64_t> reset_first = order;
  EXPECT_GE(reset_first.size(), 2u) << "what the queue pair has completed is there when the command is";
  for (const std::uint64_t id : reset_first) EXPECT_EQ(id % 2, 1u);
  while (!pair.world.engine.empty()) {
    pair.world.engine.step();
    while (const auto entry = pair.a.program.poll(pair.a.send_cq)) {
      EXPECT_EQ(entry->visible_at_ps, pair.world.now_ps());
      order.push_back(entry->wr_id);
    }
  }
  ASSERT_EQ(order.size(), reset_first.size() + 3);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(order[reset_first.size() + i], 2 * i);
}

TEST(AheadTest, a_receive_that_is_posted_later_is_not_there) {
  Pair pair;
  pair.world.run_for(std::chrono::microseconds(1));
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  protocol::RecvWqe wqe;
  std::byte* const entry = pair.b.program.at(pair.b.qp.made.recv_offset);
  std::memcpy(&wqe, entry, sizeof wqe);
  wqe.posted_ps += 20'000'000;  // 20 us
  std::memcpy(entry, &wqe, sizeof wqe);
  pair.a.program.post_send(pair.a.qp, {.wr_id = 7, .sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  const protocol::Cqe received = pair.b.program.drain(pair.b.recv_cq).at(0);
  EXPECT_GT(received.visible_at_ps, 640'000'000) << "the message comes again when its sender's timer says so";
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
}

TEST(AheadTest, the_wish_for_a_doorbell_is_seen_as_late_as_other_writes_and_nothing_is_missed) {
  for (const bool in_time : {true, false}) {
    Pair pair;
    pair.world.run_for(std::chrono::microseconds(1));
    ASSERT_EQ(pair.b.program.to_state(pair.b.qp, QpState::kErr), 0);
    const auto* const record =
        reinterpret_cast<const protocol::QueuePairRecord*>(pair.b.program.at(pair.b.qp.made.record_offset));
    pair.world.run_for(write_time(pair.world) - Duration(1));
    EXPECT_EQ(record->recv_doorbell_wanted.load(), 0u);
    if (in_time) pair.b.program.post_recv(pair.b.qp, 1, {});
    pair.world.run_for(Duration(1));
    EXPECT_EQ(record->recv_doorbell_wanted.load(), 1u);
    if (!in_time) pair.b.program.post_recv(pair.b.qp, 1, {});
    pair.world.run();
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).status, static_cast<std::uint8_t>(WcStatus::kWorkRequestFlushed));
  }
}

}  // namespace
}  // namespace verbatim::test
