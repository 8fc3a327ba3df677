// Errors: completion statuses on both sides, state of both queue pairs, flushes, asynchronous events.
#include <gtest/gtest.h>

#include "sim/ib/aeth.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::QpState;
using ib::WcStatus;

bool has_event(const Program& program, AsyncEventType type) {
  for (const auto& event : program.async_events) {
    if (event.event_type == static_cast<std::uint32_t>(type)) return true;
  }
  return false;
}

TEST(ErrorTest, a_message_longer_than_the_receive_fails_both_sides) {
  for (const std::uint32_t length : {101u, 9000u}) {
    Pair pair;
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
    pair.b.program.post_recv(pair.b.qp, 2, {pair.b.sge(0, 100)});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 5, .sges = {pair.a.sge(0, length)}});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 6, .flags = 0, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].status, code(WcStatus::kRemoteInvalidRequestError));
    EXPECT_EQ(sent[1].status, code(WcStatus::kWorkRequestFlushed))
        << "unsignaled requests are flushed visibly";
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[0].status, code(WcStatus::kLocalLengthError));
    EXPECT_EQ(received[1].status, code(WcStatus::kWorkRequestFlushed));
    EXPECT_EQ(received[1].wr_id, 2u);
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
  }
}

TEST(ErrorTest, a_send_with_a_bad_key_or_range_completes_with_a_protection_error_after_the_ones_before) {
  for (int kind = 0; kind < 3; ++kind) {
    Pair pair;
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
    protocol::Sge bad = pair.a.sge(0, 8);
    if (kind == 0) bad.lkey ^= 1;
    if (kind == 1) bad.va = Program::kBuffer + (1 << 20) - 7;
    if (kind == 2) bad.va = Program::kBuffer - 1;
    pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, 8), bad}});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 3, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 3u);
    EXPECT_EQ(sent[0].status, 0u);
    EXPECT_EQ(sent[1].status, code(WcStatus::kLocalProtectionError));
    EXPECT_EQ(sent[2].status, code(WcStatus::kWorkRequestFlushed));
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kRts) << "nothing was sent";
  }
}

TEST(ErrorTest, a_receive_with_a_bad_key_or_without_local_write_fails_both_sides) {
  for (int kind = 0; kind < 2; ++kind) {
    Pair pair;
    protocol::Sge sge = pair.b.sge(0, 100);
    if (kind == 0) sge.lkey += 0x100;
    if (kind == 1) sge.lkey = pair.b.program.reg_mr(Program::kBuffer, 4096, 0).lkey;
    pair.b.program.post_recv(pair.b.qp, 1, {sge});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).status, code(WcStatus::kLocalProtectionError));
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRemoteOperationError));
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
  }
}

// IBA 11.6.2, Local Access Error. The first packet of a longer WRITE has no immediate data and uses no receive.
TEST(ErrorTest, a_write_with_immediate_data_and_a_bad_key_completes_its_receive_with_a_local_access_error) {
  for (const std::uint32_t bytes : {8u, 8192u}) {
    Pair pair;
    pair.b.program.post_recv(pair.b.qp, 1, {});
    pair.b.program.post_recv(pair.b.qp, 2, {});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 1,
                                         .opcode = WqeOpcode::kRdmaWriteWithImm,
                                         .sges = {pair.a.sge(0, bytes)},
                                         .remote_va = Program::kBuffer,
                                         .rkey = 0xdeadbeef});
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRemoteAccessError));
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[0].status, code(bytes == 8 ? WcStatus::kLocalAccessError : WcStatus::kWorkRequestFlushed));
    EXPECT_EQ(received[1].status, code(WcStatus::kWorkRequestFlushed));
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
  }
}

TEST(ErrorTest, an_operation_without_sense_completes_with_an_error_of_this_side) {
  for (const auto opcode :
       {WqeOpcode::kBindMemoryWindow, WqeOpcode::kLocalInvalidate, static_cast<WqeOpcode>(200)}) {
    Pair pair;
    pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .opcode = opcode, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    const auto expected = opcode == WqeOpcode::kBindMemoryWindow ? WcStatus::kMwBindError
                                                                 : WcStatus::kLocalQpOperationError;
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(expected));
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
  }
}

TEST(ErrorTest, everything_posted_is_flushed_in_order_and_so_is_what_is_posted_later) {
  Pair pair;
  for (int i = 0; i < 20; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
  pair.world.run();
  ASSERT_EQ(pair.b.program.to_state(pair.b.qp, QpState::kErr), 0);
  pair.world.run();
  auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(received[i].wr_id, static_cast<std::uint64_t>(i));
    EXPECT_EQ(received[i].status, code(WcStatus::kWorkRequestFlushed));
    EXPECT_EQ(received[i].vendor_error, i == 0 ? 0xf5 : 0xf9);
  }
  for (int i = 20; i < 30; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
  for (int i = 0; i < 10; ++i) {
    pair.b.program.post_send(
        pair.b.qp, {.wr_id = static_cast<std::uint64_t>(i), .flags = 0, .sges = {pair.b.sge(0, 8)}});
  }
  pair.world.run();
  received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 10u);
  EXPECT_EQ(received[9].wr_id, 29u);
  const auto sent = pair.b.program.drain(pair.b.send_cq);
  ASSERT_EQ(sent.size(), 10u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(sent[i].wr_id, static_cast<std::uint64_t>(i));
    EXPECT_EQ(sent[i].status, code(WcStatus::kWorkRequestFlushed));
  }
  // After a reset the queue pair works again.
  ASSERT_EQ(pair.b.program.to_state(pair.b.qp, QpState::kReset), 0);
  ASSERT_EQ(pair.a.program.to_state(pair.a.qp, QpState::kReset), 0);
  pair.a.qp.send_producer = pair.a.qp.recv_producer = pair.b.qp.send_producer = pair.b.qp.recv_producer = 0;
  pair.connect_both();
  ASSERT_TRUE(pair.ready);
  pair.a.fill(0, 8, 3);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).status, 0u);
  EXPECT_TRUE(pair.b.equals(0, 8, 3));
}

TEST(ErrorTest, a_half_received_message_is_flushed_with_the_rest) {
  PairOptions options;
  options.path.mtu = 1;
  Pair pair(options);
  pair.world.to_server.keep = [](ib::Packet& packet) { return packet.bth.psn.value < 1002; };
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 2000)});
  pair.b.program.post_recv(pair.b.qp, 2, {pair.b.sge(0, 2000)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 2000)}});
  pair.world.run_for(Duration{10'000'000});
  ASSERT_EQ(pair.b.program.to_state(pair.b.qp, QpState::kErr), 0);
  pair.world.run();
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].wr_id, 1u);
  EXPECT_EQ(received[1].wr_id, 2u);
}

TEST(ErrorTest, packets_out_of_order_within_a_message_are_invalid_requests) {
  const auto opcode = [](ib::Operation operation) { return make_opcode(ib::Transport::kRc, operation); };
  const std::vector<std::function<void(ib::Packet&)>> changes = {
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1000) p.bth.opcode = opcode(ib::Operation::kSendMiddle);
      },
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1000) p.bth.opcode = opcode(ib::Operation::kSendLast);
      },
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1001) p.bth.opcode = opcode(ib::Operation::kSendFirst);
      },
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1001) p.bth.opcode = opcode(ib::Operation::kSendOnly);
      },
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1001) p.bth.opcode = opcode(ib::Operation::kWriteMiddle);
      },
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1001) p.payload.length = 255;
      },  // MIDDLE shorter than the MTU
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1000) p.payload.length = 255;
      },
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1003) p.payload.length = 0;
      },  // empty LAST
      [&](ib::Packet& p) {
        if (p.bth.psn.value == 1001) p.bth.opcode = opcode(ib::Operation::kFetchAdd);
      },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    PairOptions options;
    options.path.mtu = 1;
    Pair pair(options);
    pair.world.to_server.keep = [&](ib::Packet& packet) {
      changes[i](packet);
      return true;
    };
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 2000)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 1000)}});
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRemoteInvalidRequestError))
        << i;
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr) << i;
    EXPECT_TRUE(has_event(pair.b.program, AsyncEventType::kQpRequestError)) << i;
  }
}

TEST(ErrorTest, a_path_mtu_mismatch_is_an_invalid_request) {
  Pair pair(PairOptions{}, false);
  PathOptions large, small;
  large.mtu = 5;
  small.mtu = 3;
  ASSERT_EQ(pair.a.program.to_init(pair.a.qp, large), 0);
  ASSERT_EQ(pair.b.program.to_init(pair.b.qp, small), 0);
  ASSERT_EQ(pair.a.program.to_rtr(pair.a.qp, 2, pair.b.qp.made.number, large), 0);
  ASSERT_EQ(pair.b.program.to_rtr(pair.b.qp, 1, pair.a.qp.made.number, small), 0);
  ASSERT_EQ(pair.a.program.to_rts(pair.a.qp, large), 0);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 9000)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 2000)}});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRemoteInvalidRequestError));
}

TEST(ErrorTest, silently_dropped_are_packets_for_nobody_and_for_queue_pairs_that_do_not_receive) {
  for (int kind = 0; kind < 6; ++kind) {
    PairOptions options;
    options.path.timeout = 6;
    options.path.retry_cnt = 1;
    Pair pair(options);
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
    if (kind <= 1) {
      ASSERT_EQ(pair.b.program.to_state(pair.b.qp, kind == 0 ? QpState::kErr : QpState::kReset), 0);
    }
    pair.world.to_server.keep = [kind](ib::Packet& packet) {
      if (kind == 2) packet.bth.destination.value = 0x7777;
      if (kind == 3) packet.bth.pkey = 0x8123;
      if (kind == 4) packet.corrupted = true;
      if (kind == 5) packet.lrh.source = ib::Lid{9};
      return true;
    };
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRetryExceeded)) << kind;
    EXPECT_EQ(pair.world.client_port->credits(ib::VirtualLane{0}), 65536u / 64)
        << "the buffer space came back";
    EXPECT_EQ(pair.world.server_port->counters().rcv_errors, kind == 4 ? 2u : 0u) << kind;
  }
}

TEST(ErrorTest, a_receive_in_rtr_establishes_the_communication_once) {
  Pair pair(PairOptions{}, false);
  ASSERT_EQ(pair.a.program.to_init(pair.a.qp, {}), 0);
  ASSERT_EQ(pair.b.program.to_init(pair.b.qp, {}), 0);
  ASSERT_EQ(pair.a.program.to_rtr(pair.a.qp, 2, pair.b.qp.made.number, {}), 0);
  ASSERT_EQ(pair.b.program.to_rtr(pair.b.qp, 1, pair.a.qp.made.number, {}), 0);
  ASSERT_EQ(pair.a.program.to_rts(pair.a.qp, {}), 0);
  for (int i = 0; i < 2; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  }
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 2u);
  ASSERT_EQ(pair.b.program.async_events.size(), 1u);
  EXPECT_EQ(pair.b.program.async_events[0].event_type,
            static_cast<std::uint32_t>(AsyncEventType::kCommunicationEstablished));
  EXPECT_EQ(pair.b.program.async_events[0].element, 0x9000u);
  ASSERT_EQ(pair.b.program.destroy(protocol::CommandType::kDestroyQp, pair.b.qp.made.handle), 0);
  EXPECT_EQ(pair.b.program.last_destroyed.events_reported, 1u);
}

TEST(ErrorTest, sqd_finishes_what_was_begun_tells_and_resumes) {
  PairOptions options;
  Pair pair(options);
  for (int i = 0; i < 8; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 100000)});
  for (int i = 0; i < 8; ++i) {
    pair.a.program.post_send(pair.a.qp,
                             {.wr_id = static_cast<std::uint64_t>(i), .sges = {pair.a.sge(0, 100000)}});
  }
  pair.world.run_for(Duration{12'000'000});
  protocol::QpAttributes attributes{};
  attributes.qp_state = static_cast<std::uint32_t>(QpState::kSqd);
  attributes.en_sqd_async_notify = 1;
  ASSERT_EQ(pair.a.program.modify(pair.a.qp, ib::kQpState | ib::kQpEnSqdAsyncNotify, attributes), 0);
  EXPECT_EQ(pair.a.program.query(pair.a.qp).attributes.sq_draining, 1u);
  pair.world.run();
  EXPECT_EQ(pair.a.program.query(pair.a.qp).attributes.sq_draining, 0u);
  EXPECT_TRUE(has_event(pair.a.program, AsyncEventType::kSqDrained));
  const std::size_t before = pair.a.program.drain(pair.a.send_cq).size();
  EXPECT_GE(before, 1u);
  EXPECT_LT(before, 8u);
  pair.a.program.post_send(pair.a.qp, {.wr_id = 8, .sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 0u);
  pair.b.program.post_recv(pair.b.qp, 8, {pair.b.sge(0, 100000)});
  ASSERT_EQ(pair.a.program.to_state(pair.a.qp, QpState::kRts), 0);
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 9 - before);
}

TEST(ErrorTest, unmapped_memory_is_reported_once_and_reads_as_zero) {
  Pair pair;
  pair.a.program.memory.map(0x800000, 8192);
  const Mr mr = pair.a.program.reg_mr(0x800000, 8192, ib::kLocalWrite);
  pair.a.program.memory.unmap(0x800000);
  pair.b.fill(0, 8, 1);
  for (int i = 0; i < 2; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.sges = {{0x800000, 8, mr.lkey}}});
  }
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(1).status, 0u);
  ASSERT_EQ(pair.a.program.dma_faults.size(), 1u);
  EXPECT_EQ(pair.a.program.dma_faults[0].first, 0x800000u);
  const auto bytes = pair.b.program.memory.at(Program::kBuffer, 8);
  for (const std::byte byte : bytes) EXPECT_EQ(byte, std::byte{0});
}

}  // namespace
}  // namespace verbatim::test
