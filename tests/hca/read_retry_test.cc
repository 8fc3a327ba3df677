// RC RDMA READ with packet loss: repeated requests, duplicates, and random loss compared with a plain copy.
#include <gtest/gtest.h>

#include <map>

#include "sim/core/rng.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::Operation;
using ib::WcStatus;

std::vector<ib::Packet> read_requests(Pair& pair, std::function<bool(ib::Packet&)> keep = {}) {
  std::vector<ib::Packet> requests;
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    if (operation_of(packet.bth.opcode) == Operation::kReadRequest) requests.push_back(packet);
    return !keep || keep(packet);
  };
  pair.world.run();
  return requests;
}

TEST(ReadRetryTest, a_lost_response_is_asked_for_again_from_there_on) {
  Pair pair(small_mtu());
  pair.b.fill(50, 2000, 3);
  pair.world.to_client.keep = lose({3});
  pair.a.program.post_send(pair.a.qp, read_from(pair, 50, 2000));
  const auto requests = read_requests(pair);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].bth.psn, ib::Psn{1003});
  EXPECT_EQ(requests[1].reth.va.value, Program::kBuffer + 50 + 3 * 256);
  EXPECT_EQ(requests[1].reth.length, 2000u - 3 * 256);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_TRUE(pair.a.equals(0, 2000, 3));
  const auto retries = pair.world.trace.all(TraceEvent::kRetransmission);
  ASSERT_EQ(retries.size(), 1u) << "the rest of the old response asks for nothing";
  EXPECT_EQ(retries[0].values[2], 4u);  // missing response
  EXPECT_LT(pair.world.now_ps(), 1'000'000'000) << "noticed without the timer";
}

TEST(ReadRetryTest, a_lost_last_response_is_noticed_by_the_timer) {
  Pair pair(small_mtu());
  pair.b.fill(0, 2000, 3);
  pair.world.to_client.keep = lose({7});
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 2000));
  const auto requests = read_requests(pair);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].bth.psn, ib::Psn{1007});
  EXPECT_EQ(requests[1].reth.length, 2000u - 7 * 256);
  EXPECT_TRUE(pair.a.equals(0, 2000, 3));
  EXPECT_EQ(pair.world.trace.all(TraceEvent::kRetransmission).at(0).values[2], 1u);  // timeout
}

TEST(ReadRetryTest, a_lost_request_is_noticed_by_the_gap_behind_it) {
  Pair pair(small_mtu());
  pair.b.fill(0, 600, 3);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(90000, 8)});
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 600));
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(9000, 8)}});
  const auto requests = read_requests(pair, lose({0}));
  EXPECT_EQ(requests.size(), 2u);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 2u);
  EXPECT_TRUE(pair.a.equals(0, 600, 3));
  EXPECT_EQ(pair.world.trace.all(TraceEvent::kRetransmission).at(0).values[2], 2u);  // NAK
}

// IBA 9.7.5.2.4: an acknowledgement of something later implies that the response was lost.
TEST(ReadRetryTest, a_later_acknowledgement_is_an_implied_nak) {
  Pair pair(small_mtu());
  pair.b.fill(0, 200, 3);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(90000, 8)});
  pair.world.to_client.keep = lose({0});
  pair.a.program.write_send(pair.a.qp, read_from(pair, 0, 200));
  pair.a.program.write_send(pair.a.qp, {.wr_id = 5, .sges = {pair.a.sge(9000, 8)}});
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  const auto done = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].wr_id, 4u);
  EXPECT_EQ(done[0].status, 0u);
  EXPECT_EQ(done[1].status, 0u);
  EXPECT_TRUE(pair.a.equals(0, 200, 3));
  EXPECT_EQ(pair.world.trace.all(TraceEvent::kRetransmission).at(0).values[2], 4u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u) << "the SEND is not executed twice";
}

// A repeated READ returns the bytes in memory at that time.
TEST(ReadRetryTest, a_duplicate_is_executed_again_from_memory_as_it_is) {
  Pair pair(small_mtu());
  pair.b.fill(0, 200, 3);
  pair.world.to_client.keep = [&, n = 0](ib::Packet&) mutable {
    if (n++ > 0) return true;
    pair.b.fill(0, 200, 99);
    return false;
  };
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 200));
  pair.world.run();
  EXPECT_TRUE(pair.a.equals(0, 200, 99));
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kDuplicate), 1u);
}

// It needs the right as the first time: the program may have taken it back.
TEST(ReadRetryTest, a_duplicate_is_checked_for_the_right_again) {
  PairOptions options = small_mtu();
  options.path.timeout = 5;
  Pair pair(options);
  pair.b.fill(0, 200, 3);
  pair.world.to_client.keep = [n = 0](ib::Packet&) mutable { return n++ > 0; };
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 200));
  while (pair.world.trace.count(TraceEvent::kPacketTransmitted) < 2) ASSERT_TRUE(pair.world.engine.step());
  protocol::QpAttributes attributes{};
  attributes.qp_access_flags = ib::kRemoteWrite;
  ASSERT_EQ(pair.b.program.modify(pair.b.qp, ib::kQpAccessFlags, attributes), 0);
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRemoteAccessError));
  EXPECT_FALSE(pair.a.equals(0, 200, 3));
}

TEST(ReadRetryTest, silence_is_retried_as_often_as_asked_and_then_fails) {
  for (const std::uint8_t tries : {0, 3}) {
    PairOptions options = small_mtu();
    options.path.retry_cnt = tries;
    options.path.timeout = 4;
    Pair pair(options);
    pair.world.to_client.keep = [](ib::Packet&) { return false; };
    pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 200));
    EXPECT_EQ(read_requests(pair).size(), tries + 1u);
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRetryExceeded));
  }
}

TEST(ReadRetryTest, without_retries_a_missing_response_fails_at_once) {
  PairOptions options = small_mtu();
  options.path.retry_cnt = 0;
  Pair pair(options);
  pair.world.to_client.keep = lose({3});
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 2000));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRetryExceeded));
  EXPECT_LT(pair.world.now_ps(), 50'000'000);
}

TEST(ReadRetryTest, a_response_of_another_shape_is_a_bad_response) {
  for (int kind = 0; kind < 4; ++kind) {
    Pair pair(small_mtu());
    pair.world.to_client.keep = [&, n = 0](ib::Packet& packet) mutable {
      if (n++ != 1) return true;
      if (kind == 0) packet.payload.length = 255;
      if (kind == 1) packet.bth.opcode = make_opcode(ib::Transport::kRc, Operation::kReadResponseLast);
      if (kind == 2) packet.bth.opcode = make_opcode(ib::Transport::kRc, Operation::kReadResponseOnly);
      if (kind == 3) {
        packet.bth.opcode = make_opcode(ib::Transport::kRc, Operation::kReadResponseFirst);
        packet.aeth.syndrome = 0x60;
      }
      return true;
    };
    pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 2000));
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kBadResponseError)) << kind;
  }
}

TEST(ReadRetryTest, a_duplicate_of_something_never_asked_is_dropped) {
  Pair pair(small_mtu());
  pair.b.fill(0, 200, 3);
  bool lost = false;
  pair.world.to_client.keep = [&](ib::Packet&) { return std::exchange(lost, true); };
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 200));
  read_requests(pair, [n = 0](ib::Packet& packet) mutable {
    if (n++ == 1) packet.reth.length = 10000;
    return true;
  });
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u) << "the third request is answered";
  EXPECT_TRUE(pair.a.equals(0, 200, 3));
}

TEST(ReadRetryTest, psns_wrap_within_a_response) {
  PairOptions options = small_mtu();
  options.path.sq_psn = options.path.rq_psn = 0xfffffe;
  Pair pair(options);
  pair.b.fill(0, 2000, 3);
  pair.world.to_client.keep = lose({4});
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 2000));
  const auto requests = read_requests(pair);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].bth.psn, ib::Psn{2});
  EXPECT_TRUE(pair.a.equals(0, 2000, 3));
}

// Random SEND, WRITE and READ over a path that loses packets in both directions, compared with copies made in
// order. Each request has its own piece of both buffers, so the final state does not depend on the order of
// retries.
TEST(ReadRetryTest, random_requests_over_a_lossy_path_do_what_they_say) {
  constexpr std::uint32_t kPiece = 4096;
  std::map<std::uint64_t, std::uint64_t> causes;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed, "test/read");
    PairOptions options = small_mtu();
    options.path.timeout = 5;
    options.path.min_rnr_timer = 1;
    options.path.max_rd_atomic = options.path.max_dest_rd_atomic =
        static_cast<std::uint8_t>(1 + rng.below(4));
    options.path.sq_psn = options.path.rq_psn = 0xffff00;
    options.world.profile.gather_buffer_bytes = rng.chance(1, 2) ? 1024 : 65536;
    Pair pair(options);
    const auto keep = [&](ib::Packet&) { return !rng.chance(1, 12); };
    pair.world.to_client.keep = keep;
    pair.world.to_server.keep = keep;
    pair.a.fill(0, 1 << 20, 17);
    pair.b.fill(0, 1 << 20, 200);
    std::vector<std::function<bool()>> checks;
    std::uint32_t receives = 0;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::uint32_t length = static_cast<std::uint32_t>(rng.below(kPiece));
      const std::uint64_t here = i * kPiece, there = (100 + i) * kPiece;
      SendRequest request = read_from(pair, there, length, here);
      request.wr_id = i;
      if (rng.chance(1, 4)) request.flags |= protocol::kWqeFence;
      const std::uint64_t kind = rng.below(4);
      if (kind == 1) request.opcode = WqeOpcode::kRdmaWrite;
      if (kind == 2) {
        request.opcode = WqeOpcode::kSend;
        pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(there, kPiece)});
        ++receives;
      }
      const bool is_read = kind == 0 || kind == 3;
      const std::uint64_t from = is_read ? there : here;
      auto& source = is_read ? pair.b : pair.a;
      const auto bytes = source.program.memory.at(Program::kBuffer + from, length + 1);
      std::vector<std::byte> expected(bytes.begin(), bytes.begin() + length);
      checks.push_back([&pair, is_read, here, there, expected] {
        auto& side = is_read ? pair.a : pair.b;
        return std::ranges::equal(
            side.program.memory.at(Program::kBuffer + (is_read ? here : there), expected.size() + 1)
                .first(expected.size()),
            expected);
      });
      pair.a.program.write_send(pair.a.qp, request);
    }
    pair.a.program.ring(pair.a.qp);
    pair.world.run();
    const auto done = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(done.size(), 40u) << "seed " << seed;
    for (std::uint64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(done[i].status, 0u) << "seed " << seed;
      EXPECT_EQ(done[i].wr_id, i) << "seed " << seed;
      EXPECT_TRUE(checks[i]()) << "seed " << seed << " request " << i;
    }
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), receives) << "seed " << seed;
    for (const auto& retry : pair.world.trace.all(TraceEvent::kRetransmission)) ++causes[retry.values[2]];
  }
  EXPECT_GT(causes[1], 10u);
  EXPECT_GT(causes[2], 10u);
  EXPECT_GT(causes[4], 10u);
}

}  // namespace
}  // namespace verbatim::test
