// RC RDMA WRITE, with and without immediate data: placement, access rights, ranges.
#include <gtest/gtest.h>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::QpState;
using ib::WcStatus;

TEST(WriteTest, sizes_around_the_mtu_are_placed_without_a_receive) {
  for (const std::uint32_t length : {0u, 1u, 255u, 256u, 257u, 5000u}) {
    PairOptions options;
    options.path.mtu = 1;
    Pair pair(options);
    if (length > 0) pair.a.fill(0, length, 6);
    pair.a.program.post_send(pair.a.qp, write_to(pair, 333, length));
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].status, 0u);
    EXPECT_EQ(sent[0].opcode, static_cast<std::uint8_t>(ib::WcOpcode::kRdmaWrite));
    if (length > 0) {
      EXPECT_TRUE(pair.b.equals(333, length, 6));
    }
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 0u);
  }
}

TEST(WriteTest, with_immediate_consumes_a_receive_and_tells_the_length) {
  PairOptions options;
  options.path.mtu = 1;
  Pair pair(options);
  pair.a.fill(0, 700, 6);
  pair.b.program.post_recv(pair.b.qp, 8, {});
  auto request = write_to(pair, 0, 700);
  request.opcode = WqeOpcode::kRdmaWriteWithImm;
  request.immediate = 0x1234;
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].wr_id, 8u);
  EXPECT_EQ(received[0].byte_length, 700u);
  EXPECT_EQ(received[0].immediate, 0x1234u);
  EXPECT_EQ(received[0].flags, ib::kWcWithImm);
  EXPECT_EQ(received[0].opcode, static_cast<std::uint8_t>(ib::WcOpcode::kReceiveRdmaWithImm));
  EXPECT_TRUE(pair.b.equals(0, 700, 6));
}

TEST(WriteTest, with_immediate_and_no_receive_is_retried_and_written_again) {
  PairOptions options;
  options.path.mtu = 1;
  options.path.min_rnr_timer = 1;
  Pair pair(options);
  pair.a.fill(0, 700, 6);
  auto request = write_to(pair, 0, 700);
  request.opcode = WqeOpcode::kRdmaWriteWithImm;
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run_for(Duration{100'000'000});
  EXPECT_GT(pair.world.trace.count(TraceEvent::kRetransmission), 1u);
  pair.b.program.post_recv(pair.b.qp, 8, {});
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
  EXPECT_TRUE(pair.b.equals(0, 700, 6));
}

TEST(WriteTest, wrong_keys_ranges_domains_and_rights_are_access_errors_on_both_sides) {
  for (int kind = 0; kind < 7; ++kind) {
    PairOptions options;
    options.path.mtu = 1;
    if (kind == 5) options.path.access = ib::kRemoteRead;
    Pair pair(options);
    auto request = write_to(pair, 0, 600);
    if (kind == 0) request.rkey += 1;
    if (kind == 1) request.remote_va = Program::kBuffer + (1 << 20) - 599;
    if (kind == 2) request.remote_va = Program::kBuffer - 1;
    if (kind == 3) request.rkey = pair.b.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite).rkey;
    if (kind == 4) {  // another protection domain
      protocol::AllocPd alloc{};
      ASSERT_EQ(pair.b.program.command(alloc), 0);
      const std::uint32_t own = std::exchange(pair.b.program.pd, alloc.handle);
      request.rkey = pair.b.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite | ib::kRemoteWrite).rkey;
      pair.b.program.pd = own;
    }
    if (kind == 6) {
      ASSERT_EQ(pair.b.program.destroy(protocol::CommandType::kDeregMr, pair.b.mr.handle), 0);
    }
    pair.a.fill(0, 600, 1);
    pair.b.program.memory.at(Program::kBuffer, 8)[0] = std::byte{0xee};
    pair.a.program.post_send(pair.a.qp, request);
    pair.a.program.post_send(pair.a.qp, {.wr_id = 9, .flags = 0, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 2u) << kind;
    EXPECT_EQ(sent[0].status, code(WcStatus::kRemoteAccessError)) << kind;
    EXPECT_EQ(sent[1].status, code(WcStatus::kWorkRequestFlushed)) << kind;
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
    ASSERT_EQ(pair.b.program.async_events.size(), 1u);
    EXPECT_EQ(pair.b.program.async_events[0].event_type,
              static_cast<std::uint32_t>(AsyncEventType::kQpAccessError));
    EXPECT_EQ(pair.b.program.memory.at(Program::kBuffer, 8)[0], std::byte{0xee})
        << "refused at its first packet";
  }
}

TEST(WriteTest, an_empty_write_ignores_the_key) {
  Pair pair;
  auto request = write_to(pair, 0, 0);
  request.rkey = 0;
  request.remote_va = 1;
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
}

TEST(WriteTest, a_length_that_the_header_did_not_announce_is_an_invalid_request) {
  PairOptions options;
  options.path.mtu = 1;
  for (const std::uint32_t announced : {599u, 601u, 256u, 10000u}) {
    Pair pair(options);
    pair.world.to_server.keep = [&](ib::Packet& packet) {
      if (packet.bth.psn.value == 1000) packet.reth.length = announced;
      return true;
    };
    pair.a.program.post_send(pair.a.qp, write_to(pair, 0, 600));
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRemoteInvalidRequestError))
        << announced;
  }
}

TEST(WriteTest, an_iova_other_than_the_address_is_translated) {
  Pair pair;
  protocol::RegMr reg{};
  reg.start = Program::kBuffer + 4096;
  reg.length = 4096;
  reg.iova = 0x7000;
  reg.pd = pair.b.program.pd;
  reg.access = ib::kLocalWrite | ib::kRemoteWrite;
  ASSERT_EQ(pair.b.program.command(reg), 0);
  pair.a.fill(0, 100, 2);
  auto request = write_to(pair, 0, 100);
  request.remote_va = 0x7000 + 50;
  request.rkey = reg.rkey;
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  EXPECT_TRUE(pair.b.equals(4096 + 50, 100, 2));
}

}  // namespace
}  // namespace verbatim::test
