// Loss, silence and missing receives: what is sent again, when, how often, and how it ends.
#include <gtest/gtest.h>

#include "sim/core/rng.h"
#include "sim/ib/aeth.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;

bool is_ack(const ib::Packet& packet) { return packet.bth.opcode == ib::Opcode::kRcAcknowledge; }

std::vector<std::int64_t> transmissions(const World& world, std::uint32_t psn) {
  std::vector<std::int64_t> times;
  for (const TraceRecord& record : world.trace.all(TraceEvent::kPacketTransmitted)) {
    if (record.component == world.components.id("client/p1").value && record.values[2] == psn) {
      times.push_back(record.time_ps);
    }
  }
  return times;
}

TEST(RetryTest, silence_is_answered_by_retry_cnt_retries_one_timeout_apart) {
  for (const std::uint8_t retries : {0, 1, 3, 7}) {
    PairOptions options;
    options.path.timeout = 8;
    options.path.retry_cnt = retries;
    Pair pair(options);
    std::vector<int> sent_before;
    pair.world.to_server.keep = [&](ib::Packet& packet) {
      sent_before.push_back(packet.retransmission);
      return false;
    };
    pair.a.program.post_send(pair.a.qp, {.wr_id = 3, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    for (std::size_t i = 0; i < sent_before.size(); ++i) EXPECT_EQ(sent_before[i], static_cast<int>(i));
    const auto times = transmissions(pair.world, 1000);
    ASSERT_EQ(times.size(), retries + 1u);
    const std::int64_t timeout = 4'096'000ll << 8;
    // Formula: a retry leaves `timeout` plus the time from the scheduler to the port after the previous one.
    const std::int64_t again = times.size() > 1 ? times[1] - times[0] - timeout : 0;
    EXPECT_GE(again, 0);
    EXPECT_LT(again, 1'000'000);
    for (std::size_t i = 1; i < times.size(); ++i)
      EXPECT_NEAR(times[i] - times[i - 1], timeout + again, 2'500);
    const auto failed = pair.world.trace.all(TraceEvent::kQpState).back();
    EXPECT_EQ(failed.time_ps, times.back() + timeout) << "not a picosecond earlier or later";
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].status, code(WcStatus::kRetryExceeded));
    EXPECT_EQ(sent[0].wr_id, 3u);
    EXPECT_EQ(sent[0].vendor_error, 0x81);
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kRts);
  }
}

TEST(RetryTest, timeout_zero_waits_for_ever_without_an_event) {
  PairOptions options;
  options.path.timeout = 0;
  Pair pair(options);
  pair.world.to_server.keep = [](ib::Packet&) { return false; };
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 0u);
  EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kRts);
}

TEST(RetryTest, a_gap_is_reported_once_and_filled_from_there) {
  PairOptions options;
  options.path.mtu = 1;
  Pair pair(options);
  int dropped = 0;
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    return !(packet.bth.psn.value == 1003 && dropped++ == 0);
  };
  pair.a.fill(0, 256 * 10, 5);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 256 * 10)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 256 * 10)}});
  pair.world.run();
  std::size_t naks = 0;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kAckSent)) {
    if (record.values[2] == ib::nak_syndrome(ib::NakCode::kPsnSequenceError)) {
      ++naks;
      EXPECT_EQ(record.values[1], 1003u);
    }
  }
  EXPECT_EQ(naks, 1u);
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kRetransmission), 1u);
  EXPECT_TRUE(pair.b.equals(0, 256 * 10, 5));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).byte_length, 2560u);
}

TEST(RetryTest, a_lost_acknowledgement_makes_a_duplicate_that_is_acknowledged_and_not_executed) {
  PairOptions options;
  options.path.timeout = 8;
  Pair pair(options);
  int dropped = 0;
  pair.world.to_client.keep = [&](ib::Packet&) { return dropped++ > 0; };
  pair.a.fill(0, 8, 1);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.b.program.post_recv(pair.b.qp, 2, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kDuplicate), 1u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
}

TEST(RetryTest, a_retransmission_reads_the_buffer_again) {
  PairOptions options;
  options.path.timeout = 8;
  Pair pair(options);
  int dropped = 0;
  pair.world.to_server.keep = [&](ib::Packet&) { return dropped++ > 0; };
  pair.a.fill(0, 64, 1);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 64)}});
  pair.world.run_for(Duration{100'000'000});
  pair.a.fill(0, 64, 2);  // too early: the request is not complete
  pair.world.run();
  EXPECT_TRUE(pair.b.equals(0, 64, 2));
}

TEST(RetryTest, one_acknowledgement_completes_everything_before_it) {
  Pair pair;
  pair.world.to_client.keep = [&](ib::Packet& packet) { return packet.bth.psn.value == 1004; };
  for (int i = 0; i < 5; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.wr_id = static_cast<std::uint64_t>(i), .sges = {pair.a.sge(0, 8)}});
  }
  pair.world.run_for(Duration{60'000'000});
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sent[i].wr_id, static_cast<std::uint64_t>(i));
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kRetransmission), 0u);
}

TEST(RetryTest, no_receive_is_answered_by_rnr_retry_retries_after_the_timer) {
  for (const std::uint8_t retries : {0, 1, 6}) {
    for (const std::uint8_t timer : {1, 12}) {
      PairOptions options;
      options.path.rnr_retry = retries;
      options.path.min_rnr_timer = timer;
      Pair pair(options);
      pair.a.program.post_send(pair.a.qp, {.wr_id = 9, .sges = {pair.a.sge(0, 8)}});
      pair.world.run();
      EXPECT_EQ(transmissions(pair.world, 1000).size(), retries + 1u);
      const auto naks = pair.world.trace.all(TraceEvent::kAckReceived);
      ASSERT_EQ(naks.size(), retries + 1u);
      EXPECT_EQ(naks[0].values[2], ib::rnr_nak_syndrome(timer));
      // Formula: the next try is gathered rnr_timer(code) after the NAK; the gather's own time is the same
      // each time.
      const auto gathers = pair.world.trace.all(TraceEvent::kPayloadGathered);
      const auto fetched = pair.world.trace.all(TraceEvent::kWqeFetched);
      const std::int64_t gather = gathers[0].time_ps - fetched[0].time_ps;
      for (std::size_t i = 1; i < gathers.size(); ++i) {
        EXPECT_EQ(gathers[i].time_ps, naks[i - 1].time_ps + to_ps(ib::rnr_timer(timer)) + gather);
      }
      EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(WcStatus::kRnrRetryExceeded));
      EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
      EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kRts);
    }
  }
}

TEST(RetryTest, rnr_retry_seven_is_endless_and_a_late_receive_is_found) {
  PairOptions options;
  options.path.min_rnr_timer = 1;
  Pair pair(options);
  pair.a.fill(0, 8, 1);
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run_for(Duration{5'000'000'000});
  EXPECT_GT(transmissions(pair.world, 1000).size(), 50u);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.b.program.post_recv(pair.b.qp, 2, {pair.b.sge(8, 8)});
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 2u);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 2u);
}

TEST(RetryTest, a_receive_posted_before_the_packet_came_is_never_missed) {
  // Depth one: every receive is posted after the adapter has read the record for the one before.
  PairOptions options;
  options.capabilities = {4, 1, 1, 1, 0};
  Pair pair(options);
  for (int i = 0; i < 20; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    ASSERT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
    pair.a.program.drain(pair.a.send_cq);
  }
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kRetransmission), 0u);
}

TEST(RetryTest, progress_restores_the_retry_counters) {
  PairOptions options;
  options.path.timeout = 6;
  options.path.retry_cnt = 1;
  Pair pair(options);
  std::uint32_t count = 0;
  pair.world.to_server.keep = [&](ib::Packet&) {
    return ++count % 2 == 0;
  };  // each packet needs its one retry
  for (int i = 0; i < 5; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  }
}

TEST(RetryTest, random_loss_in_both_directions_delivers_everything_once_in_order) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    PairOptions options;
    options.path.mtu = 1;
    options.path.timeout = 5;
    options.path.sq_psn = options.path.rq_psn = 0xfffff0;
    options.cqe = 64;
    Pair pair(options);
    Rng rng(seed, "test/loss");
    const auto lossy = [&](ib::Packet&) { return !rng.chance(1, 12); };
    pair.world.to_server.keep = pair.world.to_client.keep = lossy;
    constexpr std::uint32_t kMessages = 40;
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      pair.a.fill(i * 2000, 1 + i * 47, static_cast<std::uint8_t>(i));
      pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(i * 2000, 2000)});
    }
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(i * 2000, 1 + i * 47)}});
    }
    pair.world.run();
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(received.size(), kMessages) << seed;
    ASSERT_EQ(sent.size(), kMessages) << seed;
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(received[i].wr_id, i);
      EXPECT_EQ(received[i].byte_length, 1 + i * 47);
      EXPECT_EQ(sent[i].wr_id, i);
      EXPECT_TRUE(pair.b.equals(i * 2000, 1 + i * 47, static_cast<std::uint8_t>(i)));
    }
    EXPECT_TRUE(pair.world.engine.empty());
  }
}

TEST(RetryTest, forged_acknowledgements_are_ignored) {
  Pair pair;
  pair.world.to_client.keep = [](ib::Packet& packet) {
    if (is_ack(packet)) packet.bth.psn = packet.bth.psn + 5;  // of nothing outstanding
    return true;
  };
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run_for(Duration{50'000'000});
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 0u);
}

}  // namespace
}  // namespace verbatim::test
