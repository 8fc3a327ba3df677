// ATOMIC WRITE (IBA 1.6): 8 bytes in the request, written once and atomically, answered by a READ response
// without payload; ordered with other memory accesses of its queue pair.
#include <gtest/gtest.h>

#include "sim/ib/aeth.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::WcStatus;

constexpr ib::Opcode kRequest = make_opcode(ib::Transport::kRc, ib::Operation::kAtomicWrite);
constexpr ib::Opcode kAnswer = make_opcode(ib::Transport::kRc, ib::Operation::kReadResponseOnly);

SendRequest atomic_write(const Pair& pair, std::uint64_t value, std::uint64_t offset = 0) {
  return {.wr_id = value,
          .opcode = WqeOpcode::kAtomicWrite,
          .remote_va = Program::kBuffer + offset,
          .rkey = pair.b.mr.rkey,
          .swap = value};
}

TEST(AtomicWriteTest, writes_its_bytes_and_is_answered_by_an_empty_read_response) {
  Pair pair;
  std::vector<ib::Packet> requests, answers;
  pair.world.to_server.keep = [&](ib::Packet& packet) { return requests.push_back(packet), true; };
  pair.world.to_client.keep = [&](ib::Packet& packet) { return answers.push_back(packet), true; };
  pair.a.program.post_send(pair.a.qp, atomic_write(pair, 0x0102030405060708, 64));
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, 0u);
  EXPECT_EQ(sent[0].opcode, 9u) << "IBV_WC_ATOMIC_WRITE";
  EXPECT_EQ(sent[0].byte_length, 8u);
  EXPECT_EQ(word(pair.b, 64), 0x0102030405060708u);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].bth.opcode, kRequest);
  EXPECT_EQ(static_cast<std::uint8_t>(kRequest), 0x1d);
  EXPECT_EQ(requests[0].reth.length, 8u);
  EXPECT_EQ(requests[0].payload.length, 8u);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].bth.opcode, kAnswer);
  EXPECT_EQ(answers[0].payload.length, 0u);
  EXPECT_EQ(ib::ack_kind(answers[0].aeth.syndrome), ib::AckKind::kAck);
}

TEST(AtomicWriteTest, one_that_was_answered_in_vain_is_answered_again_and_not_written_again) {
  PairOptions options;
  options.path.timeout = 8;
  Pair pair(options);
  std::size_t answers = 0;
  pair.world.to_client.keep = [&](ib::Packet&) { return answers++ > 0; };
  pair.a.program.post_send(pair.a.qp, atomic_write(pair, 5));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_EQ(answers, 2u);
  EXPECT_EQ(word(pair.b, 0), 5u);
  std::size_t writes = 0;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kDmaWrite)) {
    writes += record.component == pair.world.server->component().value ? 1 : 0;
  }
  EXPECT_EQ(writes, 1u);
}

TEST(AtomicWriteTest, memory_changes_in_the_order_of_the_requests) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto choices = seed == 0 ? std::unique_ptr<Choices>(std::make_unique<DefaultChoices>())
                                   : std::make_unique<SeededChoices>(seed, World::component_names());
    PairOptions options;
    options.world.choices = choices.get();
    Pair pair(options);
    set_word(pair.a, 4096, 3);
    SendRequest add = atomic_write(pair, 10);
    add.opcode = WqeOpcode::kAtomicFetchAdd;
    add.compare_add = 10;
    add.sges = {pair.a.sge(0, 8)};
    SendRequest write = write_to(pair, 0, 8);
    write.sges = {pair.a.sge(4096, 8)};
    pair.a.program.post_send(pair.a.qp, atomic_write(pair, 1));
    pair.a.program.post_send(pair.a.qp, add);                    // 11
    pair.a.program.post_send(pair.a.qp, atomic_write(pair, 2));  // 2
    pair.a.program.post_send(pair.a.qp, add);                    // 12
    pair.world.run();
    EXPECT_EQ(word(pair.b, 0), 12u) << "seed " << seed;
    pair.a.program.post_send(pair.a.qp, atomic_write(pair, 7));
    pair.a.program.post_send(pair.a.qp, write);
    pair.world.run();
    EXPECT_EQ(word(pair.b, 0), 3u) << "seed " << seed;
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 6u);
  }
}

TEST(AtomicWriteTest, needs_alignment_the_right_to_write_and_a_resource_of_the_responder) {
  const struct {
    const char* name;
    std::uint64_t offset;
    std::uint32_t access;
    std::uint8_t max_rd_atomic, max_dest_rd_atomic;
    WcStatus status;
  } kCases[] = {
      {"right", 8, ib::kRemoteWrite, 4, 4, WcStatus::kSuccess},
      {"unaligned", 4, ib::kRemoteWrite, 4, 4, WcStatus::kRemoteInvalidRequestError},
      {"no right", 8, ib::kRemoteRead | ib::kRemoteAtomic, 4, 4, WcStatus::kRemoteAccessError},
      {"beyond the memory", 1 << 20, ib::kRemoteWrite, 4, 4, WcStatus::kRemoteAccessError},
      {"none may be outstanding", 8, ib::kRemoteWrite, 0, 4, WcStatus::kLocalQpOperationError},
      {"no resources", 8, ib::kRemoteWrite, 4, 0, WcStatus::kRemoteInvalidRequestError},
  };
  for (const auto& kase : kCases) {
    PairOptions options;
    options.path.access = kase.access;
    options.path.max_rd_atomic = kase.max_rd_atomic;
    options.path.max_dest_rd_atomic = kase.max_dest_rd_atomic;
    Pair pair(options);
    pair.a.program.post_send(pair.a.qp, atomic_write(pair, 5, kase.offset));
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(kase.status)) << kase.name;
    EXPECT_EQ(word(pair.b, 8), kase.status == WcStatus::kSuccess ? 5u : 0u) << kase.name;
  }
}

TEST(AtomicWriteTest, no_more_are_outstanding_than_the_queue_pair_says) {
  PairOptions options;
  options.path.max_rd_atomic = 2;
  Pair pair(options);
  std::uint32_t asked = 0, answered = 0, most = 0;
  pair.world.to_server.keep = [&](ib::Packet&) { return most = std::max(most, ++asked - answered), true; };
  pair.world.to_client.keep = [&](ib::Packet&) { return ++answered, true; };
  for (std::uint64_t i = 1; i <= 20; ++i) pair.a.program.post_send(pair.a.qp, atomic_write(pair, i));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 20u);
  EXPECT_EQ(word(pair.b, 0), 20u);
  EXPECT_LE(most, 2u);
}

}  // namespace
}  // namespace verbatim::test
