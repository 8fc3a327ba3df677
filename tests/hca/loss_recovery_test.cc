// Time of recovery from a lost packet (HcaProfile::loss_recovery), and retransmitted packets with selective
// repeat.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "sim/ib/aeth.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

constexpr std::uint32_t kMtu = 256, kPackets = 20;
// Near the end: at its retransmission all other packets have been sent, so nothing delays it.
constexpr std::uint32_t kLost = 17;
constexpr std::uint8_t kGapNak = ib::nak_syndrome(ib::NakCode::kPsnSequenceError);

PairOptions options_with(const hca::LossRecoveryProfile& recovery) {
  PairOptions options;
  options.path.mtu = 1;
  options.path.timeout = 10;  // 4.2 ms
  options.world.profile.loss_recovery = recovery;
  return options;
}

hca::LossRecoveryProfile selective(std::uint32_t log_window = 9) {
  return {.selective_repeat = true, .log_tx_psn_window = log_window};
}

// Loses the first transmissions of a side's packets with these numbers, counted from the first PSN.
void lose_once(Filter& filter, std::set<std::uint32_t> numbers) {
  filter.keep = [numbers](ib::Packet& packet) mutable { return numbers.erase(packet.bth.psn.value - 1000) == 0; };
}

std::vector<TraceRecord> transmitted(const World& world, const std::string& port, std::uint32_t number) {
  std::vector<TraceRecord> records = world.trace.all(TraceEvent::kPacketTransmitted);
  std::erase_if(records, [&](const TraceRecord& record) {
    return record.component != world.components.id(port).value || record.values[2] != 1000 + number;
  });
  return records;
}

// Times of one loss: departures of the lost packet, of the NAK or the second READ request, and of the
// retransmission.
struct LossTimes {
  std::int64_t lost = 0, reported = 0, repeated = 0;
};

LossTimes times_of_write(const hca::LossRecoveryProfile& recovery) {
  Pair pair(options_with(recovery));
  lose_once(pair.world.to_server, {kLost});
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run();
  const auto sent = transmitted(pair.world, "client/p1", kLost);
  EXPECT_EQ(sent.size(), 2u);
  LossTimes times{sent.at(0).time_ps, 0, sent.at(1).time_ps};
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kAckSent)) {
    if (record.values[2] == kGapNak) times.reported = record.time_ps;
  }
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  return times;
}

LossTimes times_of_read(const hca::LossRecoveryProfile& recovery) {
  Pair pair(options_with(recovery));
  lose_once(pair.world.to_client, {kLost});
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, kPackets * kMtu));
  pair.world.run();
  const auto answers = transmitted(pair.world, "server/p1", kLost);
  const auto asked = transmitted(pair.world, "client/p1", kLost);
  EXPECT_EQ(answers.size(), 2u);
  EXPECT_EQ(asked.size(), 1u) << "the request for the rest";
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  return {answers.at(0).time_ps, asked.at(0).time_ps, answers.at(1).time_ps};
}

// Delays are whole clock cycles of 2.5 ns.
TEST(LossRecoveryTest, a_nak_leaves_so_much_later_as_the_profile_says) {
  const LossTimes none = times_of_write({}), some = times_of_write({.nak_generation = Duration(1'500'000)});
  EXPECT_EQ(some.lost, none.lost);
  EXPECT_EQ(some.reported, none.reported + 1'500'000);
  EXPECT_EQ(some.repeated, none.repeated + 1'500'000);
}

TEST(LossRecoveryTest, packets_leave_again_so_much_later_as_the_profile_says) {
  const LossTimes none = times_of_write({}), some = times_of_write({.nak_reaction = Duration(3'500'000)});
  EXPECT_EQ(some.reported, none.reported);
  EXPECT_EQ(some.repeated, none.repeated + 3'500'000);
}

TEST(LossRecoveryTest, a_response_is_asked_for_again_so_much_later_as_the_profile_says) {
  const LossTimes none = times_of_read({}), some = times_of_read({.read_nak_generation = Duration(149'500'000)});
  EXPECT_EQ(some.lost, none.lost);
  EXPECT_EQ(some.reported, none.reported + 149'500'000);
  EXPECT_EQ(some.repeated, none.repeated + 149'500'000);
}

TEST(LossRecoveryTest, a_response_is_sent_again_so_much_later_as_the_profile_says) {
  const LossTimes none = times_of_read({}), some = times_of_read({.read_nak_reaction = Duration(199'500'000)});
  EXPECT_EQ(some.reported, none.reported);
  EXPECT_EQ(some.repeated, none.repeated + 199'500'000);
}

// The missing packet arrives late. Later packets have been discarded.
TEST(LossRecoveryTest, a_nak_names_what_is_missing_when_it_leaves) {
  Pair pair(options_with({.nak_generation = Duration(10'000'000), .nak_reaction = Duration(1'000'000)}));
  pair.world.to_server.holds = [](const ib::Packet& packet) { return packet.bth.psn.value == 1005; };
  pair.a.fill(0, kPackets * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run_for(Duration(5'000'000));
  ASSERT_EQ(pair.world.to_server.held.size(), 1u);
  pair.world.to_server.let_go(pair.world.engine.now());
  pair.world.run_for(Duration(20'000'000));
  std::vector<std::uint64_t> naks;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kAckSent)) {
    if (record.values[2] == kGapNak) naks.push_back(record.values[1]);
  }
  EXPECT_EQ(naks, std::vector<std::uint64_t>{1006});
  EXPECT_TRUE(pair.b.equals(0, kPackets * kMtu, 3));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 1u);
}

TEST(LossRecoveryTest, what_was_put_off_is_void_after_a_reset) {
  Pair pair(options_with({.nak_reaction = Duration(10'000'000)}));
  lose_once(pair.world.to_server, {5});
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run_for(Duration(8'000'000));
  protocol::QpAttributes reset{};
  reset.qp_state = static_cast<std::uint32_t>(ib::QpState::kReset);
  ASSERT_EQ(pair.a.program.modify(pair.a.qp, ib::kQpState, reset), 0);
  pair.world.run();
  EXPECT_EQ(transmitted(pair.world, "client/p1", 5).size(), 1u);
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kRetransmission), 0u);
}

// Number of transmissions of each packet that a port sent more than once.
std::map<std::uint32_t, std::size_t> repeated(const World& world, const std::string& port = "client/p1") {
  std::map<std::uint32_t, std::size_t> counts;
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    const std::size_t count = transmitted(world, port, i).size();
    if (count > 1) counts[i] = count;
  }
  return counts;
}
using Counts = std::map<std::uint32_t, std::size_t>;

TEST(SelectiveRepeatTest, packets_that_are_lost_are_sent_again_and_no_others) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_server, {3, 4, 9, 15});
  pair.a.fill(0, kPackets * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run_for(Duration(100'000'000));
  EXPECT_EQ(repeated(pair.world), (Counts{{3, 2}, {4, 2}, {9, 2}, {15, 2}}));
  EXPECT_TRUE(pair.b.equals(0, kPackets * kMtu, 3));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
}

TEST(SelectiveRepeatTest, without_it_everything_from_the_first_lost_one_on_is_sent_again) {
  Pair pair(options_with({}));
  lose_once(pair.world.to_server, {kLost});
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run_for(Duration(100'000'000));
  EXPECT_EQ(repeated(pair.world), (Counts{{17, 2}, {18, 2}, {19, 2}}));
}

// IRN, 3.1: each packet after the gap is reported with the first missing PSN and its own PSN.
TEST(SelectiveRepeatTest, a_nak_has_the_psn_that_is_missing_and_the_one_that_has_come) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_server, {16});
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run_for(Duration(100'000'000));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> naks;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kAckSent)) {
    if (record.values[2] == kGapNak) naks.emplace_back(record.values[1], record.values[3]);
  }
  EXPECT_EQ(naks, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1016, 1017}, {1016, 1018}, {1016, 1019}}));
}

TEST(SelectiveRepeatTest, sends_and_atomics_behind_a_gap_happen_in_order) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_server, {0, 2, 5});
  for (std::uint32_t i = 0; i < 8; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(i * 512, 512)});
    pair.a.fill(i * 512, 8, static_cast<std::uint8_t>(i + 1));
    pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(i * 512, 8)}});
  }
  pair.world.run_for(Duration(100'000'000));
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(received.size(), 8u);
  ASSERT_EQ(sent.size(), 8u);
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(received[i].wr_id, i);
    EXPECT_EQ(sent[i].wr_id, i);
    EXPECT_TRUE(pair.b.equals(i * 512, 8, static_cast<std::uint8_t>(i + 1)));
  }
}

// Number of retransmission records with this cause.
std::size_t recoveries(const World& world, hca::RetryCause cause) {
  const auto records = world.trace.all(TraceEvent::kRetransmission);
  return static_cast<std::size_t>(std::ranges::count_if(
      records, [&](const TraceRecord& record) { return record.values[2] == static_cast<std::uint64_t>(cause); }));
}

// Only the transport timer detects the loss of a retransmission (IRN, 3.1).
TEST(SelectiveRepeatTest, a_packet_that_is_lost_again_waits_for_the_timer) {
  Pair pair(options_with(selective()));
  int lost = 0;
  pair.world.to_server.keep = [&](ib::Packet& packet) { return packet.bth.psn.value != 1005 || lost++ >= 2; };
  pair.a.fill(0, kPackets * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run();
  const auto sent = transmitted(pair.world, "client/p1", 5);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_GE(sent[2].time_ps - sent[1].time_ps, 4'096'000ll << 10);
  EXPECT_EQ(repeated(pair.world), (Counts{{5, 3}})) << "packets behind it have arrived";
  EXPECT_TRUE(pair.b.equals(0, kPackets * kMtu, 3));
}

// Packets 4 and 9 are lost again as well: both count as lost, because later ones have arrived.
TEST(SelectiveRepeatTest, a_timeout_repeats_all_that_count_as_lost) {
  Pair pair(options_with(selective()));
  std::map<std::uint32_t, int> lost;
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    const std::uint32_t number = packet.bth.psn.value - 1000;
    return (number != 4 && number != 9) || lost[number]++ >= 2;
  };
  pair.a.fill(0, kPackets * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run();
  EXPECT_EQ(repeated(pair.world), (Counts{{4, 3}, {9, 3}}));
  EXPECT_EQ(recoveries(pair.world, hca::RetryCause::kTimeout), 1u);
  EXPECT_TRUE(pair.b.equals(0, kPackets * kMtu, 3));
}

// No later packet shows that the last ones are lost. Each answer after the timeout shows that the next is missing.
TEST(SelectiveRepeatTest, last_packets_that_are_lost_take_one_timeout) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_server, {16, 17, 18, 19});
  pair.a.fill(0, kPackets * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run();
  EXPECT_EQ(recoveries(pair.world, hca::RetryCause::kTimeout), 1u);
  // No acknowledgement was asked for before the last packet, so the first packet is the oldest without one.
  EXPECT_EQ(repeated(pair.world), (Counts{{0, 2}, {16, 2}, {17, 2}, {18, 2}, {19, 2}}));
  EXPECT_TRUE(pair.b.equals(0, kPackets * kMtu, 3));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
}

TEST(SelectiveRepeatTest, a_lost_acknowledgement_repeats_one_packet) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_client, {kPackets - 1});
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run();
  EXPECT_EQ(repeated(pair.world), (Counts{{0, 2}}));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
}

// A packet is lost until no retry is left.
TEST(SelectiveRepeatTest, timeouts_take_retries) {
  PairOptions options = options_with(selective());
  options.path.retry_cnt = 2;
  Pair pair(options);
  pair.world.to_server.keep = [](ib::Packet& packet) { return packet.bth.psn.value != 1005; };
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run();
  // The NAK takes one retry and the first timeout the other.
  EXPECT_EQ(repeated(pair.world), (Counts{{5, 3}}));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, static_cast<std::uint32_t>(ib::WcStatus::kRetryExceeded));
}

TEST(SelectiveRepeatTest, no_more_than_a_window_is_outstanding) {
  Pair pair(options_with(selective(3)));
  std::uint32_t first_missing = 1000, most = 0;
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    most = std::max(most, packet.bth.psn.value - first_missing);
    return true;
  };
  pair.world.to_client.keep = [&](ib::Packet& packet) {
    first_missing = packet.bth.psn.value + 1;
    return true;
  };
  pair.a.fill(0, 200 * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, 200 * kMtu));
  pair.world.run_for(Duration(500'000'000));
  EXPECT_LT(most, 8u);
  EXPECT_GE(most, 4u);
  EXPECT_TRUE(pair.b.equals(0, 200 * kMtu, 3));
}

// The other end only reports the missing packet, once.
TEST(SelectiveRepeatTest, losses_wait_for_the_timer_when_the_requester_alone_has_it) {
  PairOptions options = options_with(selective());
  options.world.server_profile = options.world.profile;
  options.world.server_profile->loss_recovery = {};
  Pair pair(options);
  lose_once(pair.world.to_server, {3, 4, 9, 15});
  pair.a.fill(0, kPackets * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, kPackets * kMtu));
  pair.world.run();
  EXPECT_EQ(transmitted(pair.world, "client/p1", 3).size(), 2u);
  EXPECT_EQ(recoveries(pair.world, hca::RetryCause::kTimeout), 1u);
  EXPECT_TRUE(pair.b.equals(0, kPackets * kMtu, 3));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
}

// Notes the bytes that each READ request asks for, by PSN.
using Reads = std::multimap<std::uint32_t, std::uint32_t>;
void note_reads(Filter& filter, Reads& reads) {
  filter.keep = [&reads](ib::Packet& packet) {
    if (ib::info(packet.bth.opcode).has_reth) reads.emplace(packet.bth.psn.value - 1000, packet.reth.length);
    return true;
  };
}

TEST(SelectiveRepeatTest, responses_that_are_lost_are_asked_for_and_no_others) {
  for (const bool has_peer_it : {true, false}) {  // the responder's part is that of any responder
    PairOptions options = options_with(selective());
    if (!has_peer_it) {
      options.world.server_profile = options.world.profile;
      options.world.server_profile->loss_recovery = {};
    }
    Pair pair(options);
    lose_once(pair.world.to_client, {3, 4, 9, 15});
    Reads reads;
    note_reads(pair.world.to_server, reads);
    pair.b.fill(0, kPackets * kMtu, 3);
    pair.a.program.post_send(pair.a.qp, read_from(pair, 0, kPackets * kMtu));
    pair.world.run_for(Duration(100'000'000));
    EXPECT_EQ(repeated(pair.world, "server/p1"), (Counts{{3, 2}, {4, 2}, {9, 2}, {15, 2}}));
    EXPECT_EQ(reads, (Reads{{0, kPackets * kMtu}, {3, 2 * kMtu}, {9, kMtu}, {15, kMtu}}));
    EXPECT_TRUE(pair.a.equals(0, kPackets * kMtu, 3));
    const auto done = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].status, 0u);
  }
}

TEST(SelectiveRepeatTest, a_short_last_packet_is_asked_for_in_its_length) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_client, {4});
  Reads reads;
  note_reads(pair.world.to_server, reads);
  pair.b.fill(0, 4096, 3);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 4 * kMtu + 7));
  pair.a.program.post_send(pair.a.qp, read_from(pair, 2048, 8, 2048));
  pair.world.run_for(Duration(100'000'000));
  EXPECT_EQ(reads, (Reads{{0, 4 * kMtu + 7}, {4, 7}, {5, 8}}));
  EXPECT_TRUE(pair.a.equals(0, 4 * kMtu + 7, 3));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 2u);
}

TEST(SelectiveRepeatTest, a_response_that_is_lost_again_waits_for_the_timer) {
  Pair pair(options_with(selective()));
  int lost = 0;
  pair.world.to_client.keep = [&](ib::Packet& packet) { return packet.bth.psn.value != 1005 || lost++ >= 2; };
  pair.b.fill(0, kPackets * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, kPackets * kMtu));
  pair.world.run();
  const auto sent = transmitted(pair.world, "server/p1", 5);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_GE(sent[2].time_ps - sent[1].time_ps, 4'096'000ll << 10);
  EXPECT_EQ(repeated(pair.world, "server/p1"), (Counts{{5, 3}})) << "responses behind it have been kept";
  EXPECT_TRUE(pair.a.equals(0, kPackets * kMtu, 3));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 1u);
}

TEST(SelectiveRepeatTest, last_responses_that_are_lost_are_asked_for_together) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_client, {17, 18, 19});
  Reads reads;
  note_reads(pair.world.to_server, reads);
  pair.b.fill(0, kPackets * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, kPackets * kMtu));
  pair.world.run();
  EXPECT_EQ(reads, (Reads{{0, kPackets * kMtu}, {17, 3 * kMtu}}));
  EXPECT_EQ(recoveries(pair.world, hca::RetryCause::kTimeout), 1u);
  EXPECT_TRUE(pair.a.equals(0, kPackets * kMtu, 3));
}

// Requests of every kind: a READ (PSNs 0 to 3), a WRITE (4), fetch and add (5) and a READ (6 to 9), all lost.
TEST(SelectiveRepeatTest, lost_requests_take_one_timeout) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_server, {0, 4, 5, 6});
  pair.b.fill(0, 8192, 3);
  set_word(pair.b, 16384, 41);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 4 * kMtu));
  pair.a.program.post_send(pair.a.qp, write_to(pair, 20'480, 64));
  const SendRequest add = add_one_at(pair, 16384);
  pair.a.program.post_send(pair.a.qp, add);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 1024, 4 * kMtu, 1024));
  pair.world.run();
  EXPECT_EQ(recoveries(pair.world, hca::RetryCause::kTimeout), 1u);
  EXPECT_EQ(repeated(pair.world), (Counts{{0, 2}, {4, 2}, {5, 2}, {6, 2}}));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 4u);
  EXPECT_TRUE(pair.a.equals(0, 2048, 3));
  EXPECT_EQ(word(pair.a, 16384), 41u);
  EXPECT_EQ(word(pair.b, 16384), 42u);
}

// The only response of an atomic has no later one that would show its loss.
TEST(SelectiveRepeatTest, a_lost_last_atomic_response_takes_a_timeout_and_the_atomic_is_executed_once) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_client, {0});
  set_word(pair.b, 0, 41);
  const SendRequest add = add_one_at(pair, 0);
  pair.a.program.post_send(pair.a.qp, add);
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 1u);
  EXPECT_EQ(word(pair.a, 0), 41u);
  EXPECT_EQ(word(pair.b, 0), 42u);
}

// READ (PSNs 0 to 3), WRITE (4), READ (5 to 8), fetch and add (9), READ (10 to 13). The WRITE's acknowledgement and
// the atomic's response arrive after a gap, and one response of each READ is lost.
TEST(SelectiveRepeatTest, answers_behind_a_gap_complete_their_requests_in_order) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_client, {1, 6, 12});
  pair.b.fill(0, 8192, 3);
  set_word(pair.b, 16384, 41);
  const auto post = [&](std::uint64_t id, SendRequest request) {
    request.wr_id = id;
    pair.a.program.post_send(pair.a.qp, request);
  };
  post(0, read_from(pair, 0, 4 * kMtu));
  post(1, write_to(pair, 20'480, 64));
  post(2, read_from(pair, 1024, 4 * kMtu, 1024));
  const SendRequest add = add_one_at(pair, 16384);
  post(3, add);
  post(4, read_from(pair, 2048, 4 * kMtu, 2048));
  pair.world.run_for(Duration(100'000'000));
  const auto done = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(done.size(), 5u);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, 0u);
  }
  EXPECT_TRUE(pair.a.equals(0, 3072, 3));
  EXPECT_EQ(word(pair.a, 16384), 41u);
  EXPECT_EQ(word(pair.b, 16384), 42u);
  EXPECT_EQ(repeated(pair.world), (Counts{}));  // requests for responses have other PSNs than the first ones
  EXPECT_EQ(repeated(pair.world, "server/p1"), (Counts{{1, 2}, {6, 2}, {12, 2}}));
}

TEST(SelectiveRepeatTest, a_lost_atomic_response_is_asked_for_and_the_atomic_is_executed_once) {
  Pair pair(options_with(selective()));
  lose_once(pair.world.to_client, {0});
  set_word(pair.b, 0, 41);
  const SendRequest add = add_one_at(pair, 0);
  pair.a.program.post_send(pair.a.qp, add);
  pair.b.fill(1024, 4 * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 1024, 4 * kMtu, 1024));
  pair.world.run_for(Duration(100'000'000));
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 2u);
  EXPECT_EQ(word(pair.a, 0), 41u);
  EXPECT_EQ(word(pair.b, 0), 42u);
  EXPECT_TRUE(pair.a.equals(1024, 4 * kMtu, 3));
  EXPECT_EQ(repeated(pair.world), (Counts{{0, 2}}));
}

// Responses beyond the window are not kept, and count as lost.
TEST(SelectiveRepeatTest, responses_beyond_the_window_are_asked_for_again) {
  Pair pair(options_with(selective(3)));
  lose_once(pair.world.to_client, {2});
  pair.b.fill(0, 200 * kMtu, 3);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 200 * kMtu));
  pair.world.run();
  EXPECT_TRUE(pair.a.equals(0, 200 * kMtu, 3));
  const auto done = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, 0u);
}

TEST(SelectiveRepeatTest, missing_responses_are_asked_for_so_much_later_as_the_profile_says) {
  hca::LossRecoveryProfile late = selective();
  late.read_nak_generation = Duration(5'000'000);
  const LossTimes at_once = times_of_read(selective()), later = times_of_read(late);
  EXPECT_EQ(later.reported - at_once.reported, 5'000'000);
  EXPECT_EQ(later.repeated - at_once.repeated, 5'000'000);
}

TEST(SelectiveRepeatTest, kept_answers_are_dropped_by_a_reset) {
  Pair pair(options_with(selective()));
  pair.world.to_client.keep = [](ib::Packet& packet) { return packet.bth.psn.value != 1000; };
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, kPackets * kMtu));
  pair.world.run_for(Duration(20'000'000));
  protocol::QpAttributes reset{};
  reset.qp_state = static_cast<std::uint32_t>(ib::QpState::kReset);
  ASSERT_EQ(pair.a.program.modify(pair.a.qp, ib::kQpState, reset), 0);
  std::size_t dropped = 0;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPacketDropped))
    dropped += record.values[3] == static_cast<std::uint64_t>(ib::DropReason::kWrongState) ? 1 : 0;
  EXPECT_EQ(dropped, kPackets - 1);
  pair.world.run();
  EXPECT_TRUE(pair.a.program.drain(pair.a.send_cq).empty());
}

}  // namespace
}  // namespace verbatim::test
