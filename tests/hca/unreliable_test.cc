// Unreliable connections: what is placed, when a request completes, and what is dropped without a word.
#include <gtest/gtest.h>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;

PairOptions unreliable() {
  PairOptions options;
  options.type = ib::QpType::kUc;
  options.path.mtu = 1;
  return options;
}

SendRequest send(const Pair& pair, std::uint32_t length, std::uint64_t wr_id = 3) {
  return {.wr_id = wr_id, .sges = {pair.a.sge(0, length)}};
}

TEST(UnreliableTest, sends_and_writes_of_all_sizes_arrive_and_nothing_is_answered) {
  for (const std::uint32_t length : {0u, 1u, 256u, 257u, 5000u}) {
    Pair pair(unreliable());
    ASSERT_TRUE(pair.ready);
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(10000, 8000)});
    pair.a.fill(0, 6000, 4);
    pair.a.program.post_send(pair.a.qp, send(pair, length));
    pair.a.program.post_send(pair.a.qp, write_to(pair, 50000, length));
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 2u) << length;
    EXPECT_EQ(sent[0].status, 0u);
    EXPECT_EQ(sent[1].opcode, static_cast<std::uint8_t>(ib::WcOpcode::kRdmaWrite));
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].byte_length, length);
    EXPECT_EQ(received[0].flags, 0u);
    if (length > 0) {
      EXPECT_TRUE(pair.b.equals(10000, length, 4));
      EXPECT_TRUE(pair.b.equals(50000, length, 4));
    }
    EXPECT_EQ(pair.world.trace.count(TraceEvent::kAckSent), 0u);
    EXPECT_EQ(pair.b.program.async_events.size(), 0u);
  }
}

TEST(UnreliableTest, a_request_is_complete_when_its_last_packet_has_left) {
  Pair pair(unreliable());
  pair.world.to_server.keep = [](ib::Packet&) { return false; };
  pair.a.program.post_send(pair.a.qp, send(pair, 1000));
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, 0u);
  const auto packets = pair.world.trace.all(TraceEvent::kPacketTransmitted);
  ASSERT_EQ(packets.size(), 4u);
  // Stage, and the write of the completion: it does not wait for the wire.
  EXPECT_LT(sent[0].visible_at_ps - packets[2].time_ps, 300'000);
}

TEST(UnreliableTest, with_immediate_takes_a_receive) {
  Pair pair(unreliable());
  pair.b.program.post_recv(pair.b.qp, 8, {});
  auto request = write_to(pair, 0, 700);
  request.opcode = WqeOpcode::kRdmaWriteWithImm;
  request.immediate = 0x77;
  pair.a.fill(0, 700, 9);
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].immediate, 0x77u);
  EXPECT_EQ(received[0].byte_length, 700u);
  EXPECT_TRUE(pair.b.equals(0, 700, 9));
}

// Three messages of four packets each, of which one packet is lost: its message is dropped, and the receive
// is used by the next one.
TEST(UnreliableTest, a_message_with_a_gap_is_dropped_whole) {
  for (std::uint32_t lost = 0; lost < 12; ++lost) {
    Pair pair(unreliable());
    for (std::uint64_t i = 0; i < 3; ++i)
      pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(i * 4096, 4096)});
    pair.world.to_server.keep = lose({lost});
    for (std::uint64_t i = 0; i < 3; ++i) {
      pair.a.program.post_send(pair.a.qp, send(pair, static_cast<std::uint32_t>(1000 + i), i));
    }
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 3u);
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(received.size(), 2u) << lost;
    for (std::uint64_t i = 0, message = 0; i < 2; ++i, ++message) {
      if (message == lost / 4) ++message;
      EXPECT_EQ(received[i].wr_id, i);
      EXPECT_EQ(received[i].byte_length, 1000 + message);
      EXPECT_EQ(received[i].status, 0u);
    }
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kRts);
  }
}

TEST(UnreliableTest, a_write_with_a_gap_leaves_its_first_bytes) {
  Pair pair(unreliable());
  pair.a.fill(0, 1000, 4);
  pair.world.to_server.keep = lose({2});
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, 1000));
  pair.world.run();
  EXPECT_TRUE(pair.b.equals(0, 512, 4));
  EXPECT_EQ(pair.b.program.memory.at(Program::kBuffer + 768, 1)[0], std::byte{0});
}

TEST(UnreliableTest, a_message_without_a_receive_is_dropped_and_the_next_is_not) {
  Pair pair(unreliable());
  pair.a.program.post_send(pair.a.qp, send(pair, 1000));
  pair.world.run();
  pair.b.program.post_recv(pair.b.qp, 5, {pair.b.sge(0, 4096)});
  pair.a.program.post_send(pair.a.qp, send(pair, 1001));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 2u);
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].byte_length, 1001u);
}

TEST(UnreliableTest, access_errors_are_dropped_without_a_word) {
  for (int kind = 0; kind < 3; ++kind) {
    PairOptions options = unreliable();
    if (kind == 2) options.path.access = 0;
    Pair pair(options);
    auto request = write_to(pair, 0, 1000);
    if (kind == 0) request.rkey += 1;
    if (kind == 1) request.remote_va = Program::kBuffer - 1;
    pair.a.fill(0, 1000, 4);
    pair.a.program.post_send(pair.a.qp, request);
    pair.b.program.post_recv(pair.b.qp, 5, {pair.b.sge(5000, 4096)});
    pair.a.program.post_send(pair.a.qp, send(pair, 700));
    pair.world.run();
    for (const auto& entry : pair.a.program.drain(pair.a.send_cq)) EXPECT_EQ(entry.status, 0u);
    EXPECT_EQ(pair.b.program.memory.at(Program::kBuffer, 1)[0], std::byte{0}) << kind;
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kRts);
    EXPECT_EQ(pair.b.program.async_events.size(), 0u);
  }
}

// IBA 9.8.2.2, class D: not reported as an error, whichever packet exceeds the receive, which the next
// message uses.
TEST(UnreliableTest, a_message_longer_than_the_receive_is_dropped_and_the_next_is_not) {
  for (const std::uint32_t room : {100u, 700u, 999u}) {
    Pair pair(unreliable());
    pair.b.program.post_recv(pair.b.qp, 5, {pair.b.sge(0, room)});
    pair.a.program.post_send(pair.a.qp, send(pair, 1000));
    pair.a.program.post_send(pair.a.qp, send(pair, 90));
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].status, 0u);
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(received.size(), 1u) << room;
    EXPECT_EQ(received[0].status, 0u);
    EXPECT_EQ(received[0].byte_length, 90u);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kRts);
    EXPECT_TRUE(pair.b.program.async_events.empty());
  }
}

// IBA 10.3.1.6: the send queue stops, the receive queue does not; RTS again by the program's wish.
TEST(UnreliableTest, a_local_error_stops_sending_only) {
  for (int kind = 0; kind < 3; ++kind) {
    Pair pair(unreliable());
    auto request = send(pair, 100, 1);
    WcStatus expected = WcStatus::kLocalQpOperationError;
    if (kind == 0) {
      request.sges[0].lkey += 1;
      expected = WcStatus::kLocalProtectionError;
    }
    if (kind == 1) request.opcode = WqeOpcode::kRdmaRead;
    if (kind == 2) request.opcode = WqeOpcode::kSendWithInvalidate;
    pair.a.program.post_send(pair.a.qp, send(pair, 1000, 0));
    pair.a.program.post_send(pair.a.qp, request);
    pair.a.program.post_send(pair.a.qp, send(pair, 100, 2));
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 3u);
    EXPECT_EQ(sent[0].status, 0u);
    EXPECT_EQ(sent[1].status, code(expected)) << kind;
    EXPECT_EQ(sent[2].status, code(WcStatus::kWorkRequestFlushed));
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kSqe);

    pair.a.program.post_send(pair.a.qp, send(pair, 100, 3));
    pair.a.program.post_recv(pair.a.qp, 9, {pair.a.sge(0, 100)});
    pair.b.program.post_send(pair.b.qp, {.sges = {pair.b.sge(0, 50)}});
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kWorkRequestFlushed));
    EXPECT_EQ(pair.a.program.drain(pair.a.recv_cq).at(0).status, 0u);

    ASSERT_EQ(pair.a.program.to_state(pair.a.qp, QpState::kRts), 0);
    pair.b.program.post_recv(pair.b.qp, 9, {pair.b.sge(0, 100)});
    pair.b.program.post_recv(pair.b.qp, 9, {pair.b.sge(0, 100)});
    pair.a.program.post_send(pair.a.qp, send(pair, 100, 4));
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).byte_length, 100u);
  }
}

}  // namespace
}  // namespace verbatim::test
