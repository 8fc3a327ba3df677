// A program that writes random data wherever it can: the adapter continues, and other programs do not notice.
#include <gtest/gtest.h>

#include <map>

#include "sim/core/rng.h"
#include "tests/hca/attacker.h"

namespace verbatim::test {
namespace {

struct Counter final : TraceSink {
  std::map<TraceEvent, std::size_t> counts;
  void on_record(const TraceRecord& record, std::span<const std::byte>) override { ++counts[record.event]; }
};

// The attacker shares the adapter with a correct program that communicates with the other host.
TEST(HostileTest, random_bytes_in_rings_records_doorbells_and_mailboxes) {
  PairOptions options;
  options.world.record = false;
  options.path.timeout = 6;
  Pair pair(options);
  Counter counter;
  pair.world.tracer.add(counter);
  ASSERT_TRUE(pair.ready);
  Rng random(7, "test/hostile");
  Attacker<Rng> attacker(pair.world, random, 1 << 16, 1 << 20);

  std::uint64_t good = 0;
  constexpr int kRounds = 100'000;
  for (int round = 0; round < kRounds; ++round) {
    attacker.step();
    if (round % 1000 == 0) {
      pair.a.fill(0, 5000, static_cast<std::uint8_t>(round / 1000));
      pair.b.program.post_recv(pair.b.qp, good, {pair.b.sge(0, 5000)});
      pair.a.program.post_send(pair.a.qp, {.wr_id = good, .sges = {pair.a.sge(0, 5000)}});
      pair.world.run_for(Duration{300'000'000});
      const auto received = pair.b.program.drain(pair.b.recv_cq);
      const auto sent = pair.a.program.drain(pair.a.send_cq);
      ASSERT_EQ(received.size(), 1u) << round;
      ASSERT_EQ(sent.size(), 1u) << round;
      ASSERT_EQ(received[0].wr_id, good);
      ASSERT_EQ(received[0].status, 0u);
      ASSERT_TRUE(pair.b.equals(0, 5000, static_cast<std::uint8_t>(round / 1000)));
      ++good;
    }
  }
  pair.world.client->close(attacker.program.context);
  pair.world.run_for(Duration{1'000'000'000});
  // The attack has used every part of the adapter.
  EXPECT_GT(counter.counts[TraceEvent::kDoorbell], 20'000u);
  EXPECT_GT(counter.counts[TraceEvent::kWqeFetched], 10'000u);
  EXPECT_GT(counter.counts[TraceEvent::kCompletion], 10'000u);
  EXPECT_GT(counter.counts[TraceEvent::kDmaWrite], 5'000u);
  EXPECT_GT(counter.counts[TraceEvent::kAckSent], 1'000u);
  EXPECT_GT(counter.counts[TraceEvent::kQpState], 2'000u);
  EXPECT_GT(counter.counts[TraceEvent::kAsyncEvent], 200u);
}

TEST(HostileTest, a_producer_beyond_the_ring_kills_the_queue_pair_only) {
  Pair pair;
  pair.world.client->ring_doorbell(pair.a.program.context, protocol::DoorbellKind::kSendQueue,
                                   pair.a.qp.made.number, 65);
  pair.world.run();
  EXPECT_EQ(pair.a.program.state(pair.a.qp), ib::QpState::kErr);
  ASSERT_EQ(pair.a.program.async_events.size(), 1u);
  EXPECT_EQ(pair.a.program.async_events[0].event_type,
            static_cast<std::uint32_t>(ib::AsyncEventType::kQpFatal));
  reinterpret_cast<protocol::QueuePairRecord*>(pair.b.program.at(pair.b.qp.made.record_offset))
      ->recv_producer.store(1u << 20);
  pair.world.run();
  EXPECT_EQ(pair.b.program.state(pair.b.qp), ib::QpState::kRts) << "nobody has looked yet";
}

TEST(HostileTest, an_old_doorbell_is_ignored) {
  Pair pair;
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.b.program.post_recv(pair.b.qp, 2, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.client->ring_doorbell(pair.a.program.context, protocol::DoorbellKind::kSendQueue,
                                   pair.a.qp.made.number, 1);
  pair.world.run();
  EXPECT_EQ(pair.a.program.state(pair.a.qp), ib::QpState::kRts);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 2u);
}

}  // namespace
}  // namespace verbatim::test
