// Unreliable datagrams: address handles, Q_Keys, the 40 bytes before the data, and what is dropped.
#include <gtest/gtest.h>

#include "sim/ib/wire.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;

constexpr std::uint32_t kQkey = 0x11111111;

struct Datagrams : Pair {
  explicit Datagrams(bool is_global = false, PairOptions options = datagram_options())
      : Pair(options), ah(a.program.create_ah(2, is_global)) {
    EXPECT_TRUE(ready);
    EXPECT_NE(ah, 0u);
  }
  static PairOptions datagram_options() {
    PairOptions options;
    options.type = ib::QpType::kUd;
    return options;
  }
  SendRequest datagram(std::uint32_t length, std::uint64_t wr_id = 3) const {
    return {.wr_id = wr_id,
            .sges = {a.sge(0, length)},
            .address_handle = ah,
            .remote_qpn = b.qp.made.number,
            .remote_qkey = kQkey};
  }
  const std::uint32_t ah;
};

TEST(DatagramTest, data_comes_behind_forty_bytes_that_stay_as_they_are) {
  Datagrams pair;
  for (const std::uint32_t length : {0u, 1u, 100u, 4096u}) {
    pair.a.fill(0, 5000, 7);
    pair.b.fill(0, 40, 99);
    pair.b.program.post_recv(pair.b.qp, 4, {pair.b.sge(0, 40 + length)});
    auto request = pair.datagram(length);
    request.opcode = WqeOpcode::kSendWithImm;
    request.immediate = 0x55;
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].byte_length, 40 + length);
    EXPECT_EQ(received[0].source_qp, pair.a.qp.made.number);
    EXPECT_EQ(received[0].source_lid, 1u);
    EXPECT_EQ(received[0].immediate, 0x55u);
    EXPECT_EQ(received[0].flags, ib::kWcWithImm);
    EXPECT_TRUE(pair.b.equals(0, 40, 99));
    if (length > 0) {
      EXPECT_TRUE(pair.b.equals(40, length, 7));
    }
  }
}

TEST(DatagramTest, a_global_route_header_is_delivered) {
  Datagrams pair(true);
  pair.a.fill(0, 100, 7);
  pair.b.program.post_recv(pair.b.qp, 4, {pair.b.sge(0, 15), pair.b.sge(1000, 200)});
  pair.a.program.post_send(pair.a.qp, pair.datagram(97));
  pair.world.run();
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].flags, ib::kWcGrh);
  EXPECT_EQ(received[0].byte_length, 137u);
  const auto head = pair.b.program.memory.at(Program::kBuffer, 15);
  const auto rest = pair.b.program.memory.at(Program::kBuffer + 1000, 25);
  const auto byte = [&](std::size_t at) { return static_cast<int>(at < 15 ? head[at] : rest[at - 15]); };
  // Version 6, traffic class 0x12, flow label 0x34567.
  EXPECT_EQ(byte(0), 0x61);
  EXPECT_EQ(byte(1), 0x23);
  EXPECT_EQ(byte(2), 0x45);
  EXPECT_EQ(byte(3), 0x67);
  // BTH, DETH, 97 bytes padded to 100, ICRC.
  EXPECT_EQ(byte(4) << 8 | byte(5), 12 + 8 + 100 + 4);
  EXPECT_EQ(byte(6), 0x1b);
  EXPECT_EQ(byte(7), 7);
  EXPECT_EQ(byte(23), 1);  // from
  EXPECT_EQ(byte(39), 2);  // to
  EXPECT_TRUE(pair.b.equals(1025, 97, 7));
}

TEST(DatagramTest, every_request_may_go_elsewhere) {
  Datagrams pair;
  const std::uint32_t self = pair.a.program.create_ah(1);
  pair.a.program.post_recv(pair.a.qp, 1, {pair.a.sge(4000, 100)});
  pair.b.program.post_recv(pair.b.qp, 2, {pair.b.sge(4000, 100)});
  auto to_self = pair.datagram(8);
  to_self.address_handle = self;
  to_self.remote_qpn = pair.a.qp.made.number;
  pair.a.program.post_send(pair.a.qp, to_self);
  pair.a.program.post_send(pair.a.qp, pair.datagram(9));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.recv_cq).at(0).byte_length, 48u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).byte_length, 49u);
}

TEST(DatagramTest, a_wrong_qkey_a_missing_queue_pair_or_receive_is_dropped_without_a_word) {
  for (int kind = 0; kind < 4; ++kind) {
    Datagrams pair;
    if (kind != 2) pair.b.program.post_recv(pair.b.qp, 4, {pair.b.sge(0, 4096)});
    auto request = pair.datagram(100);
    if (kind == 0) request.remote_qkey += 1;
    if (kind == 1) request.remote_qpn += 100;
    if (kind == 3) pair.b.program.to_state(pair.b.qp, QpState::kErr);
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u) << kind;
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), kind == 3 ? 1u : 0u);
    EXPECT_EQ(pair.world.trace.count(TraceEvent::kPacketDropped), 1u);
    EXPECT_EQ(pair.b.program.async_events.size(), 0u);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), kind == 3 ? QpState::kErr : QpState::kRts);
  }
}

// IBA 10.2.5: the high bit selects the sender's own Q_Key.
TEST(DatagramTest, a_controlled_qkey_stands_for_the_queue_pairs_own) {
  Datagrams pair;
  pair.b.program.post_recv(pair.b.qp, 4, {pair.b.sge(0, 4096)});
  auto request = pair.datagram(100);
  request.remote_qkey = 0x80010000;
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
}

TEST(DatagramTest, longer_than_the_receive_is_the_receivers_error) {
  Datagrams pair;
  pair.b.program.post_recv(pair.b.qp, 4, {pair.b.sge(0, 139)});
  pair.a.program.post_send(pair.a.qp, pair.datagram(100));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).status, code(WcStatus::kLocalLengthError));
  EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
}

TEST(DatagramTest, what_cannot_be_sent_stops_the_send_queue) {
  for (int kind = 0; kind < 5; ++kind) {
    Datagrams pair;
    auto request = pair.datagram(100);
    WcStatus expected = WcStatus::kLocalQpOperationError;
    if (kind == 0) {
      request.sges[0].length = 4097;
      expected = WcStatus::kLocalLengthError;
    }
    if (kind == 1) request.address_handle += 1000;
    if (kind == 2) {
      ASSERT_EQ(pair.a.program.destroy(protocol::CommandType::kDestroyAh, pair.ah), 0);
    }
    if (kind == 3) request.opcode = WqeOpcode::kRdmaWrite;
    if (kind == 4) {  // an address handle of another protection domain
      protocol::AllocPd alloc{};
      ASSERT_EQ(pair.a.program.command(alloc), 0);
      const std::uint32_t own = std::exchange(pair.a.program.pd, alloc.handle);
      request.address_handle = pair.a.program.create_ah(2);
      pair.a.program.pd = own;
    }
    pair.a.program.post_send(pair.a.qp, request);
    pair.a.program.post_send(pair.a.qp, pair.datagram(8));
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].status, code(expected)) << kind;
    EXPECT_EQ(sent[1].status, code(WcStatus::kWorkRequestFlushed));
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kSqe);
    EXPECT_EQ(pair.world.trace.count(TraceEvent::kPacketTransmitted), 0u);
  }
}

TEST(DatagramTest, an_address_handle_destroyed_after_the_request_was_read_is_still_used) {
  Datagrams pair;
  pair.b.program.post_recv(pair.b.qp, 4, {pair.b.sge(0, 4096)});
  pair.a.program.post_send(pair.a.qp, pair.datagram(100));
  while (pair.world.trace.count(TraceEvent::kWqeFetched) == 0) pair.world.engine.step();
  ASSERT_EQ(pair.a.program.destroy(protocol::CommandType::kDestroyAh, pair.ah), 0);
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
}

TEST(DatagramTest, lost_datagrams_leave_the_others_alone) {
  Datagrams pair;
  for (std::uint64_t i = 0; i < 6; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(i * 4096, 4096)});
  pair.world.to_server.keep = [n = 0](ib::Packet&) mutable { return n++ % 2 == 0; };
  for (std::uint32_t i = 0; i < 6; ++i) pair.a.program.post_send(pair.a.qp, pair.datagram(10 + i));
  pair.world.run();
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(received[i].wr_id, i);
    EXPECT_EQ(received[i].byte_length, 50 + 2 * i);
  }
}

}  // namespace
}  // namespace verbatim::test
