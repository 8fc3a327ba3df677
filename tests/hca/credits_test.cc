// End-to-end flow control (IBA 9.7.7.2.5): what acknowledgements grant, what is held back, and that nothing
// is held for ever.
#include <gtest/gtest.h>

#include "sim/core/rng.h"
#include "sim/hca/transport/end_to_end_credits.h"
#include "sim/ib/aeth.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using hca::EndToEndCredits;
using ib::WcStatus;

ib::Aeth grant(std::uint32_t msn, std::uint32_t receives) {
  return {ib::ack_syndrome(ib::credit_code(receives)), msn & ib::kSerialMask};
}

PairOptions with_credits(bool on = true) {
  PairOptions options;
  options.world.profile.end_to_end_credits = on;
  options.path.min_rnr_timer = 1;
  return options;
}

// Messages that began at `from` and are not yet answered, the most at any time; and RNR NAKs.
struct Watch {
  explicit Watch(Pair& pair) {
    pair.world.to_server.keep = [this](ib::Packet& packet) {
      if (ib::info(packet.bth.opcode).ends_message) most = std::max(most, ++outstanding);
      return true;
    };
    pair.world.to_client.keep = [this](ib::Packet& packet) {
      if (packet.bth.opcode != ib::Opcode::kRcAcknowledge) return true;
      syndromes.push_back(packet.aeth.syndrome);
      outstanding = 0;
      if (ib::ack_kind(packet.aeth.syndrome) == ib::AckKind::kRnrNak) ++rnr_naks;
      return true;
    };
  }
  int outstanding = 0, most = 0, rnr_naks = 0;
  std::vector<std::uint8_t> syndromes;
};

TEST(EndToEndCreditsTest, one_message_beyond_the_limit_may_begin) {
  EndToEndCredits credits;
  credits.start(true);
  EXPECT_TRUE(credits.may_begin(true)) << "limited: nothing is known yet";
  credits.on_begin(true);
  EXPECT_FALSE(credits.may_begin(true));
  credits.on_grant(grant(1, 2));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(credits.may_begin(true)) << i;
    credits.on_begin(true);
  }
  EXPECT_FALSE(credits.may_begin(true));
  credits.on_grant(grant(2, 1));
  EXPECT_FALSE(credits.may_begin(true)) << "the same receives, seen later";
  credits.on_grant(grant(2, 2));
  EXPECT_TRUE(credits.may_begin(true));
}

TEST(EndToEndCreditsTest, messages_without_a_receive_are_not_held_and_take_no_credit) {
  EndToEndCredits credits;
  credits.start(true);
  credits.on_begin(true);
  credits.on_grant(grant(1, 1));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(credits.may_begin(false));
    credits.on_begin(false);
  }
  EXPECT_TRUE(credits.may_begin(true));
  credits.on_begin(true);  // the one there is a receive for
  credits.on_grant(grant(101, 1));
  credits.on_begin(true);  // limited
  EXPECT_FALSE(credits.may_begin(true));
  EXPECT_TRUE(credits.may_begin(false));
}

TEST(EndToEndCreditsTest, code_31_ends_the_limit_and_who_does_not_obey_has_none) {
  EndToEndCredits credits;
  credits.start(true);
  credits.on_begin(true);
  credits.on_grant({ib::ack_syndrome(ib::kUnlimitedCredits), 1});
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(credits.may_begin(true));
    credits.on_begin(true);
  }
  credits.start(false);
  credits.on_begin(true);
  EXPECT_TRUE(credits.may_begin(true));
}

TEST(EndToEndCreditsTest, numbers_wrap_after_24_bits) {
  EndToEndCredits credits;
  credits.start(true);
  std::uint32_t executed = 0;
  // Far past the wrap; three receives are always there.
  for (std::uint32_t i = 0; i < (1u << 24) + 1000; ++i) {
    if (!credits.may_begin(true)) {
      ASSERT_EQ(i - executed, executed == 0 ? 1u : 4u) << i;
      executed = i;
      credits.on_grant(grant(executed, 3));
    }
    credits.on_begin(true);
  }
}

TEST(CreditsTest, an_acknowledgement_tells_how_many_receives_are_left_rounded_down) {
  for (const std::uint32_t posted : {1u, 2u, 6u, 8u, 12u, 50u, 64u}) {
    Pair pair(with_credits());
    Watch watch(pair);
    for (std::uint32_t i = 0; i < posted; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    ASSERT_EQ(watch.syndromes.size(), 1u);
    EXPECT_EQ(watch.syndromes[0], ib::ack_syndrome(ib::credit_code(posted - 1))) << posted;
  }
}

TEST(CreditsTest, without_them_and_with_a_shared_queue_code_31_is_sent) {
  for (const bool shared : {false, true}) {
    Pair pair(with_credits(shared));
    Watch watch(pair);
    Srq srq = pair.b.program.create_srq(8);
    if (shared) {
      pair.b.qp = pair.b.program.create_qp(pair.b.send_cq, pair.b.recv_cq, {64, 64, 4, 4, 64},
                                           ib::QpType::kRc, srq.made.handle);
      pair.a.qp = pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq);
      pair.connect_both();
      ASSERT_TRUE(pair.ready);
      for (int i = 0; i < 8; ++i) pair.b.program.post_recv(srq, i, {pair.b.sge(0, 8)});
    } else {
      for (int i = 0; i < 8; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    }
    for (int i = 0; i < 8; ++i) pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 8u);
    for (const std::uint8_t syndrome : watch.syndromes) {
      EXPECT_EQ(syndrome, ib::ack_syndrome(ib::kUnlimitedCredits));
    }
    // From the first acknowledgement on nothing holds the others back.
    EXPECT_GT(watch.most, 3);
  }
}

TEST(CreditsTest, never_more_messages_are_on_their_way_than_receives_and_one) {
  for (const std::uint32_t posted : {1u, 2u, 4u}) {
    PairOptions options = with_credits();
    Pair pair(options);
    Watch watch(pair);
    std::uint32_t number = 0;
    for (; number < posted; ++number) pair.b.program.post_recv(pair.b.qp, number, {pair.b.sge(0, 8)});
    constexpr std::uint32_t kMessages = 40;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 8)}});
    }
    std::size_t received = 0;
    while (pair.world.engine.step()) {
      for (const protocol::Cqe& entry : pair.b.program.drain(pair.b.recv_cq)) {
        EXPECT_EQ(entry.wr_id, received++);
        pair.b.program.post_recv(pair.b.qp, number++, {pair.b.sge(0, 8)});
      }
    }
    EXPECT_EQ(received, kMessages);
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), kMessages);
    EXPECT_LE(watch.most, static_cast<int>(posted) + 1);
  }
}

TEST(CreditsTest, only_the_limited_message_is_answered_not_ready) {
  for (const bool on : {true, false}) {
    Pair pair(with_credits(on));
    Watch watch(pair);
    pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, 8)});
    for (std::uint64_t i = 0; i < 6; ++i) {
      pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 8)}});
    }
    pair.world.run_for(Duration{35'000'000});  // three tries of the second
    const int tries = watch.rnr_naks;
    EXPECT_GE(tries, 2);
    std::size_t sent = 0;
    for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPacketTransmitted)) {
      if (record.component == pair.world.components.id("client/p1").value) ++sent;
    }
    // The first message, and the second as often as it was refused; what follows it only without credits.
    EXPECT_EQ(sent == static_cast<std::size_t>(1 + tries), on) << sent;
    for (std::uint64_t i = 1; i < 6; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.world.run();
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 6u);
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 6u);
  }
}

TEST(CreditsTest, rnr_retries_of_the_limited_message_run_out_as_ever) {
  PairOptions options = with_credits();
  options.path.rnr_retry = 2;
  Pair pair(options);
  for (std::uint64_t i = 0; i < 3; ++i) {
    pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 8)}});
  }
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].status, code(WcStatus::kRnrRetryExceeded));
  EXPECT_EQ(sent[1].status, code(WcStatus::kWorkRequestFlushed));
  EXPECT_EQ(pair.b.program.state(pair.b.qp), ib::QpState::kRts);
}

TEST(CreditsTest, writes_reads_and_atomics_wait_for_no_credit_but_behind_a_send_that_does) {
  Pair pair(with_credits());
  const auto request = [&](WqeOpcode opcode, std::uint64_t wr_id) {
    return SendRequest{.wr_id = wr_id,
                       .opcode = opcode,
                       .sges = {pair.a.sge(64, 8)},
                       .remote_va = Program::kBuffer + 64,
                       .rkey = pair.b.mr.rkey};
  };
  const WqeOpcode kinds[] = {WqeOpcode::kRdmaWrite, WqeOpcode::kRdmaRead, WqeOpcode::kAtomicFetchAdd};
  for (std::uint64_t i = 0; i < 30; ++i) pair.a.program.post_send(pair.a.qp, request(kinds[i % 3], i));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 30u);
  // Two SENDs without a receive: the first is limited, the second is held, and the WRITE behind it with it.
  pair.a.program.post_send(pair.a.qp, {.wr_id = 30, .sges = {pair.a.sge(0, 8)}});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 31, .sges = {pair.a.sge(0, 8)}});
  pair.a.program.post_send(pair.a.qp, request(WqeOpcode::kRdmaWriteWithImm, 32));
  pair.a.program.post_send(pair.a.qp, request(WqeOpcode::kRdmaWrite, 33));
  pair.world.run_for(Duration{100'000'000});
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 0u);
  for (std::uint64_t i = 0; i < 3; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 4u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 3u);
}

// IBA 9.7.7.2.5: a responder that advertised no receives sends an update when there are some, so that the
// requester need not probe with a limited message. `idle`: nothing is outstanding; otherwise a message has
// been refused and waits for its timer.
TEST(CreditsTest, receives_that_are_posted_after_the_last_are_told_of) {
  for (const bool idle : {true, false}) {
    PairOptions options = with_credits();
    options.path.min_rnr_timer = 12;  // 640 us
    Pair pair(options);
    Watch watch(pair);
    std::vector<std::uint32_t> acknowledged;
    const auto keep = pair.world.to_client.keep;
    pair.world.to_client.keep = [&](ib::Packet& packet) { return acknowledged.push_back(packet.bth.psn.value), keep(packet); };
    const auto send = [&](std::uint64_t n) { pair.a.program.post_send(pair.a.qp, {.wr_id = n, .sges = {pair.a.sge(0, 8)}}); };
    pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, 8)});
    send(0);
    if (!idle) send(1);
    pair.world.run_for(Duration{100'000'000});
    const std::size_t before = acknowledged.size();
    EXPECT_EQ(before, idle ? 1u : 2u);
    for (std::uint64_t i = 1; i < 5; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.world.run_for(Duration{100'000'000});
    // One acknowledgement of nothing more; the first post rang, and the others were there when the record was read.
    ASSERT_EQ(acknowledged.size(), before + 1);
    EXPECT_EQ(acknowledged.back(), 1000u);
    EXPECT_EQ(watch.syndromes.back(), ib::ack_syndrome(ib::credit_code(4)));
    EXPECT_EQ(pair.world.trace.all(TraceEvent::kPacketDropped).size(), idle ? 0u : 1u) << "but for the refused one";
    watch.most = 0;
    for (std::uint64_t i = idle ? 1 : 2; i < 5; ++i) send(i);
    pair.world.run();
    EXPECT_EQ(watch.most, 4) << "all at once";
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 5u);
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 5u);
    EXPECT_EQ(watch.rnr_naks, idle ? 0 : 1) << "its timer has the least time that was asked for";
  }
}

TEST(CreditsTest, without_credits_nobody_is_told_of_receives) {
  Pair pair(with_credits(false));
  Watch watch(pair);
  pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.world.run();
  EXPECT_EQ(watch.syndromes.size(), 1u);
}

// A receive posted while the record is being read, before or after it is sampled, is never missed.
TEST(CreditsTest, a_receive_posted_at_any_moment_is_told_of) {
  for (std::int64_t at = 0; at < 3'000'000; at += 20'000) {
    Pair pair(with_credits());
    Watch watch(pair);
    pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run_for(Duration{at});
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
    pair.world.run();
    ASSERT_FALSE(watch.syndromes.empty());
    EXPECT_EQ(watch.syndromes.back(), ib::ack_syndrome(1)) << at;
  }
}

// The acknowledgement that would have let the next message go is lost: its repetition brings the same
// credits.
TEST(CreditsTest, a_lost_grant_comes_again_with_the_repeated_acknowledgement) {
  PairOptions options = with_credits();
  options.path.timeout = 5;
  Pair pair(options);
  int acknowledgements = 0;
  pair.world.to_client.keep = [&](ib::Packet&) { return acknowledgements++ % 2 == 1; };
  for (std::uint64_t i = 0; i < 10; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
  for (std::uint64_t i = 0; i < 10; ++i) {
    pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 8)}});
  }
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 10u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 10u);
}

// The adapter learns of receives in time: a queue that is kept filled never runs dry on the wire.
TEST(CreditsTest, a_queue_kept_half_full_holds_nothing_back_after_the_first_message) {
  PairOptions options = with_credits();
  options.capabilities = {256, 64, 4, 4, 64};
  options.cqe = 512;
  Pair pair(options);
  Watch watch(pair);
  std::uint64_t number = 0;
  for (; number < 64; ++number) pair.b.program.post_recv(pair.b.qp, number, {pair.b.sge(0, 64)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 64)}});
  pair.world.run();
  for (std::uint64_t i = 0; i < 250; ++i)
    pair.a.program.write_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 64)}});
  pair.a.program.ring(pair.a.qp);
  while (pair.world.engine.step()) {
    if (number - pair.b.recv_cq.consumer < 40) {
      while (number - pair.b.recv_cq.consumer < 64) {
        pair.b.program.post_recv(pair.b.qp, number++, {pair.b.sge(0, 64)});
      }
    }
    pair.b.program.drain(pair.b.recv_cq);
  }
  EXPECT_EQ(watch.rnr_naks, 0);
  std::uint32_t least = 64;
  for (const std::uint8_t syndrome : watch.syndromes) least = std::min(least, *ib::credits_of(syndrome));
  EXPECT_GE(least, 16u);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 251u);
}

TEST(CreditsTest, random_loss_and_late_receives_end_with_everything_delivered_in_order) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    PairOptions options = with_credits();
    options.path.mtu = 1;
    options.path.timeout = 5;
    Pair pair(options);
    Rng rng(seed, "test/credits");
    pair.world.to_server.keep = pair.world.to_client.keep = [&](ib::Packet&) { return !rng.chance(1, 15); };
    constexpr std::uint64_t kMessages = 40;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      pair.a.program.post_send(
          pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(i * 2000, 1 + static_cast<std::uint32_t>(i) * 30)}});
    }
    std::uint64_t posted = 0;
    std::vector<protocol::Cqe> received;
    for (int look = 0; look < 4000 && received.size() < kMessages; ++look) {
      pair.world.run_for(Duration{20'000'000});
      for (const auto& entry : pair.b.program.drain(pair.b.recv_cq)) received.push_back(entry);
      for (std::uint64_t more = rng.below(4); more > 0 && posted < kMessages; --more) {
        pair.b.program.post_recv(pair.b.qp, posted++, {pair.b.sge(0, 2000)});
      }
    }
    pair.world.run();
    ASSERT_EQ(received.size(), kMessages) << seed;
    for (std::uint64_t i = 0; i < kMessages; ++i) EXPECT_EQ(received[i].byte_length, 1 + i * 30);
    for (const auto& entry : pair.a.program.drain(pair.a.send_cq)) EXPECT_EQ(entry.status, 0u);
  }
}

}  // namespace
}  // namespace verbatim::test
