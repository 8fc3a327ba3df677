// RC atomics: what they do to memory, who may, order, repetition, the rate on one location.
#include <gtest/gtest.h>

#include <map>

#include "sim/core/rng.h"
#include "tests/hca/many_pairs.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::Operation;
using ib::QpState;
using ib::WcStatus;

SendRequest fetch_add(const Pair& pair, std::uint64_t offset, std::uint64_t add, std::uint64_t to = 0) {
  return {.wr_id = 4,
          .opcode = WqeOpcode::kAtomicFetchAdd,
          .sges = {pair.a.sge(to, 8)},
          .remote_va = Program::kBuffer + offset,
          .rkey = pair.b.mr.rkey,
          .compare_add = add};
}
SendRequest compare_swap(const Pair& pair, std::uint64_t offset, std::uint64_t compare, std::uint64_t swap) {
  SendRequest request = fetch_add(pair, offset, compare);
  request.opcode = WqeOpcode::kAtomicCompareSwap;
  request.swap = swap;
  return request;
}

TEST(AtomicTest, fetch_and_add_wraps_and_brings_the_value_before) {
  Pair pair;
  set_word(pair.b, 64, ~0ull - 1);
  pair.a.program.post_send(pair.a.qp, fetch_add(pair, 64, 5, 24));
  pair.world.run();
  const auto done = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, 0u);
  EXPECT_EQ(done[0].opcode, static_cast<std::uint8_t>(ib::WcOpcode::kFetchAdd));
  EXPECT_EQ(done[0].byte_length, 8u);
  EXPECT_EQ(word(pair.a, 24), ~0ull - 1);
  EXPECT_EQ(word(pair.b, 64), 3u);
}

TEST(AtomicTest, compare_and_swap_changes_memory_only_when_it_compares_equal) {
  Pair pair;
  set_word(pair.b, 8, 77);
  for (const std::uint64_t compare : {76u, 77u}) {
    pair.a.program.post_send(pair.a.qp, compare_swap(pair, 8, compare, 500));
    pair.world.run();
    EXPECT_EQ(word(pair.a, 0), 77u);
    EXPECT_EQ(word(pair.b, 8), compare == 77 ? 500u : 77u);
  }
  const auto done = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[1].opcode, static_cast<std::uint8_t>(ib::WcOpcode::kCompareSwap));
}

TEST(AtomicTest, the_result_may_be_scattered) {
  Pair pair;
  set_word(pair.b, 8, 0x1122334455667788);
  auto request = fetch_add(pair, 8, 0);
  request.sges = {pair.a.sge(100, 3), pair.a.sge(200, 5)};
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  EXPECT_EQ(word(pair.a, 100) & 0xffffff, 0x667788u);
  EXPECT_EQ(word(pair.a, 200) & 0xffffffffff, 0x1122334455u);
}

TEST(AtomicTest, what_the_responder_refuses) {
  for (int kind = 0; kind < 6; ++kind) {
    PairOptions options;
    if (kind == 3) options.path.access = ib::kRemoteWrite | ib::kRemoteRead;
    if (kind == 4) options.path.max_dest_rd_atomic = 0;
    Pair pair(options);
    auto request = fetch_add(pair, 64, 1);
    WcStatus expected = WcStatus::kRemoteAccessError;
    if (kind == 0) {
      request.remote_va += 4;
      expected = WcStatus::kRemoteInvalidRequestError;
    }
    if (kind == 1) request.rkey += 1;
    if (kind == 2) {
      request.rkey = pair.b.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite | ib::kRemoteWrite).rkey;
    }
    if (kind == 4) expected = WcStatus::kRemoteInvalidRequestError;
    if (kind == 5) request.remote_va = Program::kBuffer + (1 << 20);
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(expected)) << kind;
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
    EXPECT_EQ(word(pair.b, 64), 0u);
    const auto event = expected == WcStatus::kRemoteAccessError ? AsyncEventType::kQpAccessError
                                                                : AsyncEventType::kQpRequestError;
    EXPECT_EQ(pair.b.program.async_events.at(0).event_type, static_cast<std::uint32_t>(event)) << kind;
  }
}

TEST(AtomicTest, what_cannot_be_executed_here_never_leaves) {
  for (int kind = 0; kind < 4; ++kind) {
    PairOptions options;
    if (kind == 3) options.path.max_rd_atomic = 0;
    Pair pair(options);
    auto request = fetch_add(pair, 64, 1);
    WcStatus expected = WcStatus::kLocalLengthError;
    if (kind == 0) request.sges[0].length = 7;
    if (kind == 1) request.sges[0].length = 16;
    if (kind == 2) {
      request.sges[0].lkey = pair.a.program.reg_mr(Program::kBuffer, 4096, 0).lkey;
      expected = WcStatus::kLocalProtectionError;
    }
    if (kind == 3) expected = WcStatus::kLocalQpOperationError;
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(expected)) << kind;
    EXPECT_EQ(pair.world.trace.count(TraceEvent::kPacketTransmitted), 0u);
  }
}

// IBA 9.7.5.1.4: the value must be added once however often the answer is lost.
TEST(AtomicTest, a_duplicate_is_answered_from_the_saved_result) {
  PairOptions options;
  options.path.timeout = 5;
  Pair pair(options);
  set_word(pair.b, 64, 10);
  pair.world.to_client.keep = [n = 0](ib::Packet&) mutable { return n++ >= 3; };
  pair.a.program.post_send(pair.a.qp, fetch_add(pair, 64, 5));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_EQ(word(pair.a, 0), 10u);
  EXPECT_EQ(word(pair.b, 64), 15u);
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kDuplicate), 3u);
}

TEST(AtomicTest, as_many_results_are_saved_as_there_are_resources) {
  PairOptions options;
  options.path.timeout = 5;
  options.path.max_rd_atomic = options.path.max_dest_rd_atomic = 3;
  Pair pair(options);
  // All answers of the first round are lost.
  pair.world.to_client.keep = [n = 0](ib::Packet&) mutable { return n++ >= 3; };
  for (int i = 0; i < 3; ++i) pair.a.program.write_send(pair.a.qp, fetch_add(pair, 64, 1, 8 * i));
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(word(pair.a, 8 * i), static_cast<std::uint64_t>(i));
  EXPECT_EQ(word(pair.b, 64), 3u);
}

TEST(AtomicTest, answers_keep_the_order_of_the_requests) {
  Pair pair;
  for (int i = 0; i < 4; ++i) pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(90000, 8)});
  std::vector<ib::Psn> psns;
  pair.world.to_client.keep = [&](ib::Packet& packet) {
    psns.push_back(packet.bth.psn);
    return true;
  };
  for (int i = 0; i < 4; ++i) {
    pair.a.program.write_send(pair.a.qp, fetch_add(pair, 64, 1, 8 * i));
    pair.a.program.write_send(pair.a.qp, {.sges = {pair.a.sge(8000, 8)}});
  }
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  for (std::size_t i = 1; i < psns.size(); ++i) EXPECT_TRUE(is_before(psns[i - 1], psns[i]));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 8u);
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kRetransmission), 0u);
}

// A READ behind an atomic sees its result (IBA 9.5).
TEST(AtomicTest, a_read_behind_an_atomic_sees_it) {
  Pair pair;
  pair.a.program.write_send(pair.a.qp, fetch_add(pair, 64, 9));
  SendRequest read = fetch_add(pair, 64, 0, 16);
  read.opcode = WqeOpcode::kRdmaRead;
  pair.a.program.write_send(pair.a.qp, read);
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  EXPECT_EQ(word(pair.a, 16), 9u);
}

// One location takes one operation per DMA read of it; different ones overlap.
TEST(AtomicTest, operations_on_one_location_follow_each_other) {
  const auto gap = [](std::uint64_t stride) {
    PairOptions options;
    options.world.profile.wqe_prefetch = 16;
    Pair pair(options);
    for (int i = 0; i < 8; ++i) {
      pair.a.program.write_send(pair.a.qp, fetch_add(pair, 64 + i * stride, 1, 8 * i));
    }
    pair.a.program.ring(pair.a.qp);
    pair.world.run();
    const auto done = pair.a.program.drain(pair.a.send_cq);
    EXPECT_EQ(done.size(), 8u);
    EXPECT_EQ(word(pair.b, 64), stride == 0 ? 8u : 1u);
    return done[7].visible_at_ps - done[6].visible_at_ps;
  };
  const hca::HcaProfile profile = test_profile();
  const auto pcie = [&](std::uint64_t bytes) {
    return to_ps(host::pcie_byte_time(profile.pcie.generation, profile.pcie.lanes).time_for(bytes));
  };
  const std::int64_t one_way = to_ps(profile.pcie.one_way_latency);
  // The previous write is visible after its own latency, before the read that follows it in the lane.
  const std::int64_t read =
      pcie(8 + 24 + 24) + one_way + to_ps(profile.pcie.memory_read_latency) + pcie(28) + one_way;
  const std::int64_t same = gap(0), different = gap(8);
  EXPECT_LT(std::abs(same - read), 5'000) << "to the edges of the core clock";
  EXPECT_LT(different, 50'000);
}

// Against plain arithmetic: each operation happens once, in order, and brings the value before it.
TEST(AtomicTest, random_operations_over_a_lossy_path_happen_once) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed, "test/atomic");
    PairOptions options;
    options.path.timeout = 5;
    options.path.max_rd_atomic = options.path.max_dest_rd_atomic =
        static_cast<std::uint8_t>(1 + rng.below(4));
    Pair pair(options);
    const auto keep = [&](ib::Packet&) { return !rng.chance(1, 8); };
    pair.world.to_client.keep = keep;
    pair.world.to_server.keep = keep;
    std::map<std::uint64_t, std::uint64_t> expected;
    std::vector<std::uint64_t> before;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const std::uint64_t offset = 64 + 8 * rng.below(3);
      const std::uint64_t add = rng.below(1000);
      if (rng.chance(1, 3)) {
        // Either the present value or another, at random.
        const std::uint64_t compare = expected[offset] + rng.below(2);
        auto request = compare_swap(pair, offset, compare, add);
        request.sges = {pair.a.sge(4096 + 8 * i, 8)};
        pair.a.program.write_send(pair.a.qp, request);
        before.push_back(expected[offset]);
        if (compare == expected[offset]) expected[offset] = add;
      } else {
        pair.a.program.write_send(pair.a.qp, fetch_add(pair, offset, add, 4096 + 8 * i));
        before.push_back(expected[offset]);
        expected[offset] += add;
      }
    }
    pair.a.program.ring(pair.a.qp);
    pair.world.run();
    const auto done = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(done.size(), 50u) << seed;
    for (std::uint64_t i = 0; i < 50; ++i) {
      EXPECT_EQ(done[i].status, 0u) << seed;
      EXPECT_EQ(word(pair.a, 4096 + 8 * i), before[i]) << seed;
    }
    for (const auto& [offset, value] : expected) EXPECT_EQ(word(pair.b, offset), value) << seed;
  }
}

TEST(AtomicTest, the_device_says_so) {
  Pair pair;
  protocol::QueryDevice query{};
  ASSERT_EQ(pair.a.program.command(query), 0);
  EXPECT_EQ(query.attributes.atomic_cap, 1u);  // IBV_ATOMIC_HCA
}

TEST(AtomicTest, so_many_are_under_way_as_the_profile_allows_and_locations_share_locks) {
  // Every atomic on a location of its own; time per atomic in DMA reads, in hundredths.
  const auto reads_each = [](std::uint32_t locks, std::uint32_t in_flight, std::uint64_t stride) {
    PairOptions options;
    options.world.profile.atomics = {locks, in_flight};
    options.world.profile.wqe_prefetch = 16;
    ManyPairs pairs(options, 8);
    constexpr std::uint32_t kEach = 12;
    for (std::uint32_t k = 0; k < kEach; ++k) {
      for (std::uint32_t i = 0; i < 8; ++i) {
        SendRequest request = pairs.request(i, WqeOpcode::kAtomicFetchAdd, 8);
        request.remote_va = Program::kBuffer + (k * 8 + i) * stride;
        request.compare_add = 1;
        pairs.a.program.write_send(pairs.of_a[i], request);
      }
    }
    for (std::uint32_t i = 0; i < 8; ++i) pairs.a.program.ring(pairs.of_a[i]);
    pairs.world.run();
    for (std::uint64_t n = 0; n < std::uint64_t{kEach} * 8; ++n) {
      EXPECT_EQ(word(pairs.b, n * stride), 1u) << n;
    }
    std::vector<std::int64_t> written;
    for (const TraceRecord& record : pairs.world.trace.all(TraceEvent::kDmaWrite)) {
      if (record.component == pairs.world.components.id("server/hca").value) written.push_back(record.time_ps);
    }
    EXPECT_EQ(written.size(), kEach * 8u);
    const host::PcieProfile pcie = options.world.profile.pcie;
    const std::int64_t read = to_ps(2 * pcie.one_way_latency + pcie.memory_read_latency);
    return (written.back() - written.front()) * 100 / static_cast<std::int64_t>(written.size() - 1) / read;
  };
  EXPECT_NEAR(static_cast<double>(reads_each(1, 0, 8)), 100, 3) << "one lock for all";
  EXPECT_NEAR(static_cast<double>(reads_each(1, 4, 8)), 100, 3);
  EXPECT_NEAR(static_cast<double>(reads_each(4096, 1, 8)), 100, 3) << "one at a time";
  EXPECT_NEAR(static_cast<double>(reads_each(4096, 4, 8)), 25, 3);
  EXPECT_NEAR(static_cast<double>(reads_each(32, 32, 8)), 25, 3) << "four locks of aligned locations";
  EXPECT_LT(reads_each(4096, 0, 8), 8) << "no limit";
}

TEST(AtomicTest, one_that_waits_for_a_lock_lets_those_of_other_queue_pairs_pass) {
  // Queue pair 0 has two on one location, then queue pair 1 has one on another.
  const auto order = [](std::uint32_t in_flight) {
    PairOptions options;
    options.world.profile.atomics = {4096, in_flight};
    ManyPairs pairs(options, 2);
    const auto post = [&](std::uint32_t i, std::uint64_t offset) {
      SendRequest request = pairs.request(i, WqeOpcode::kAtomicFetchAdd, 8);
      request.remote_va = Program::kBuffer + offset;
      request.compare_add = 1;
      pairs.a.program.post_send(pairs.of_a[i], request);
    };
    post(0, 0);
    post(0, 0);
    post(0, 16);
    pairs.world.run_for(Duration{20'000});
    post(1, 8);
    pairs.world.run();
    std::vector<std::uint64_t> places;
    for (const TraceRecord& record : pairs.world.trace.all(TraceEvent::kDmaWrite)) {
      if (record.component == pairs.world.components.id("server/hca").value) {
        places.push_back(record.values[1] - Program::kBuffer);
      }
    }
    return places;
  };
  EXPECT_EQ(order(0), (std::vector<std::uint64_t>{0, 0, 16, 8}));
  EXPECT_EQ(order(8), (std::vector<std::uint64_t>{0, 8, 0, 16}));
}

}  // namespace
}  // namespace verbatim::test
