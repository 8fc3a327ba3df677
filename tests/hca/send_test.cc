// RC SEND from post to completion on both sides.
#include <gtest/gtest.h>

#include "sim/ib/drop_reason.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using ib::WcOpcode;
using ib::WcStatus;

TEST(SendTest, one_message_arrives_and_completes_on_both_sides) {
  Pair pair;
  ASSERT_TRUE(pair.ready);
  pair.a.fill(0, 100, 1);
  pair.b.program.post_recv(pair.b.qp, 77, {pair.b.sge(4096, 200)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 5, .sges = {pair.a.sge(0, 100)}});
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(sent[0].wr_id, 5u);
  EXPECT_EQ(sent[0].status, 0u);
  EXPECT_EQ(sent[0].opcode, static_cast<std::uint8_t>(WcOpcode::kSend));
  EXPECT_EQ(sent[0].qpn, pair.a.qp.made.number);
  EXPECT_EQ(received[0].wr_id, 77u);
  EXPECT_EQ(received[0].status, 0u);
  EXPECT_EQ(received[0].byte_length, 100u);
  EXPECT_EQ(received[0].opcode, static_cast<std::uint8_t>(WcOpcode::kReceive));
  EXPECT_EQ(received[0].flags, 0u);
  EXPECT_TRUE(pair.b.equals(4096, 100, 1));
  EXPECT_TRUE(pair.world.engine.empty());
}

TEST(SendTest, sizes_around_the_mtu_arrive_whole_over_cable_and_switch) {
  for (const bool with_switch : {false, true}) {
    for (const std::uint32_t mtu : {1u, 3u, 5u}) {
      const std::uint32_t bytes = ib::mtu_bytes(mtu);
      for (const std::uint32_t length : {0u, 1u, bytes - 1, bytes, bytes + 1, 3 * bytes, 3 * bytes + 5}) {
        PairOptions options;
        options.world.with_switch = with_switch;
        options.path.mtu = mtu;
        Pair pair(options);
        ASSERT_TRUE(pair.ready);
        if (length > 0) pair.a.fill(0, length, 9);
        pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(100, 20000)});
        pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, length)}});
        pair.world.run();
        const auto received = pair.b.program.drain(pair.b.recv_cq);
        ASSERT_EQ(received.size(), 1u);
        EXPECT_EQ(received[0].byte_length, length);
        if (length > 0) {
          EXPECT_TRUE(pair.b.equals(100, length, 9));
        }
        EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 1u);
        const std::size_t packets = length == 0 ? 1 : (length + bytes - 1) / bytes;
        EXPECT_EQ(pair.world.trace.count(TraceEvent::kPacketReceived), (packets + 1) * (with_switch ? 2 : 1));
      }
    }
  }
}

TEST(SendTest, scatter_and_gather_lists_are_cut_anywhere) {
  PairOptions options;
  options.path.mtu = 1;
  Pair pair(options);
  ASSERT_TRUE(pair.ready);
  pair.a.fill(0, 1000, 3);
  pair.b.program.post_recv(pair.b.qp, 1,
                           {pair.b.sge(0, 7), pair.b.sge(1000, 0), pair.b.sge(7, 300), pair.b.sge(307, 693)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 2,
                                       .sges = {pair.a.sge(0, 255), pair.a.sge(255, 2), pair.a.sge(257, 0),
                                                pair.a.sge(257, 743)}});
  pair.world.run();
  ASSERT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
  EXPECT_TRUE(pair.b.equals(0, 1000, 3));
}

TEST(SendTest, immediate_and_inline_data) {
  Pair pair;
  ASSERT_TRUE(pair.ready);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
  pair.b.program.post_recv(pair.b.qp, 2, {});
  SendRequest request{.wr_id = 2, .opcode = WqeOpcode::kSendWithImm, .immediate = 0xdeadbeef};
  request.flags |= protocol::kWqeInline;
  for (int i = 0; i < 20; ++i) request.inline_data.push_back(static_cast<std::byte>(4 + i * 7));
  pair.a.program.post_send(pair.a.qp, request);
  request.inline_data.clear();
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].flags, ib::kWcWithImm);
  EXPECT_EQ(received[0].immediate, 0xdeadbeefu);
  EXPECT_EQ(received[0].byte_length, 20u);
  EXPECT_TRUE(pair.b.equals(0, 20, 4));
  EXPECT_EQ(received[1].byte_length, 0u);
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].flags, 0u);
}

TEST(SendTest, only_signaled_requests_complete_and_free_all_slots_before) {
  Pair pair;
  ASSERT_TRUE(pair.ready);
  for (int i = 0; i < 10; ++i) {
    pair.b.program.post_recv(pair.b.qp, 100 + i, {pair.b.sge(0, 64)});
    SendRequest request{.wr_id = static_cast<std::uint64_t>(i), .sges = {pair.a.sge(0, 8)}};
    if (i % 5 != 4) request.flags = 0;
    pair.a.program.post_send(pair.a.qp, request);
  }
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].wr_id, 4u);
  EXPECT_EQ(sent[0].wqe_counter, 4u);
  EXPECT_EQ(sent[1].wqe_counter, 9u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 10u);
}

TEST(SendTest, a_thousand_messages_wrap_every_ring_and_the_psn) {
  PairOptions options;
  options.path.mtu = 1;
  options.path.sq_psn = options.path.rq_psn = 0xffff00;
  options.capabilities = {8, 8, 1, 1, 0};
  options.cqe = 16;
  Pair pair(options);
  ASSERT_TRUE(pair.ready);
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t length = 1 + (i * 37) % 1000;
    pair.a.fill(0, length, static_cast<std::uint8_t>(i));
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 1000)});
    pair.a.program.post_send(pair.a.qp,
                             {.wr_id = static_cast<std::uint64_t>(i), .sges = {pair.a.sge(0, length)}});
    pair.world.run();
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(received.size(), 1u) << i;
    ASSERT_EQ(received[0].wr_id, static_cast<std::uint64_t>(i));
    ASSERT_TRUE(pair.b.equals(0, length, static_cast<std::uint8_t>(i)));
    ASSERT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 1u);
  }
}

TEST(SendTest, both_directions_and_loopback_at_once) {
  Pair pair;
  ASSERT_TRUE(pair.ready);
  auto& a = pair.a;
  Cq cq = a.program.create_cq(64);
  Qp x = a.program.create_qp(cq, cq), y = a.program.create_qp(cq, cq);
  ASSERT_EQ(a.program.to_init(x, {}), 0);
  ASSERT_EQ(a.program.to_init(y, {}), 0);
  ASSERT_EQ(a.program.to_rtr(x, 1, y.made.number, {}), 0);
  ASSERT_EQ(a.program.to_rtr(y, 1, x.made.number, {}), 0);
  ASSERT_EQ(a.program.to_rts(x, {}), 0);
  ASSERT_EQ(a.program.to_rts(y, {}), 0);
  a.fill(0, 9000, 1);
  pair.b.fill(0, 9000, 2);
  a.program.post_recv(a.qp, 1, {a.sge(20000, 9000)});
  pair.b.program.post_recv(pair.b.qp, 2, {pair.b.sge(20000, 9000)});
  a.program.post_recv(y, 3, {a.sge(40000, 9000)});
  a.program.post_send(a.qp, {.sges = {a.sge(0, 9000)}});
  pair.b.program.post_send(pair.b.qp, {.sges = {pair.b.sge(0, 9000)}});
  a.program.post_send(x, {.sges = {a.sge(0, 9000)}});
  pair.world.run();
  EXPECT_TRUE(a.equals(20000, 9000, 2));
  EXPECT_TRUE(pair.b.equals(20000, 9000, 1));
  EXPECT_TRUE(a.equals(40000, 9000, 1));
  EXPECT_EQ(a.program.drain(cq).size(), 2u);
}

TEST(SendTest, a_service_level_without_a_lane_leads_nowhere) {
  PairOptions options;
  options.world.profile.virtual_lanes = 4;
  options.world.profile.sl_to_vl = {{4, 3}, {5, 15}};
  options.path.retry_cnt = 0;
  options.path.timeout = 8;
  for (const std::uint8_t level : {4, 5}) {
    options.path.service_level = level;
    Pair pair(options);
    ASSERT_TRUE(pair.ready);
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 64)}});
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 1u);
    const ib::WcStatus expected = level == 4 ? ib::WcStatus::kSuccess : ib::WcStatus::kRetryExceeded;
    EXPECT_EQ(sent[0].status, static_cast<std::uint8_t>(expected));
    const auto drops = pair.world.trace.all(TraceEvent::kPacketDropped);
    ASSERT_EQ(drops.size(), level == 4 ? 0u : 1u);
    if (level == 5) {
      EXPECT_EQ(drops[0].values[3], static_cast<std::uint64_t>(ib::DropReason::kNoLane));
    }
  }
}

TEST(SendTest, a_buffer_changed_after_the_post_is_sent_as_it_is_at_the_gather) {
  Pair pair;
  ASSERT_TRUE(pair.ready);
  pair.a.fill(0, 64, 1);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 64)}});
  pair.a.fill(0, 64, 2);  // the doorbell is still in flight
  pair.world.run();
  EXPECT_TRUE(pair.b.equals(0, 64, 2));
}

// Receives already fetched do not change with the ring.
TEST(SendTest, so_many_receives_are_fetched_ahead_as_the_profile_says) {
  for (const std::uint32_t prefetch : {1u, 4u, 7u}) {
    PairOptions options;
    options.world.profile.wqe_prefetch = prefetch;
    Pair pair(options);
    constexpr std::uint64_t kReceives = 12, kLater = 100;
    for (std::uint64_t i = 0; i < kReceives; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 64)});
    pair.world.run();
    for (std::uint64_t i = 0; i < kReceives; ++i) {
      pair.b.program.write_recv(pair.b.program.at(pair.b.qp.made.recv_offset) + i * pair.b.qp.made.recv_stride, kLater + i,
                                {pair.b.sge(0, 64)});
    }
    for (std::uint64_t i = 0; i < kReceives; ++i) {
      pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
      pair.world.run();
    }
    const auto entries = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(entries.size(), kReceives);
    for (std::uint64_t i = 0; i < kReceives; ++i) {
      EXPECT_EQ(entries[i].wr_id, i < prefetch ? i : kLater + i) << "ahead: " << prefetch;
    }
  }
}

}  // namespace
}  // namespace verbatim::test
