// The output queues of a port without line, credits and buffer.
#include "sim/fabric/output_scheduler.h"

#include <gtest/gtest.h>

#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

constexpr ib::VirtualLane kLane0{0}, kLane1{1};

OutputScheduler two_lanes(const ArbitrationTables& tables = {}) { return OutputScheduler({.data_lanes = 2}, tables); }

ib::PacketPtr ready_packet(std::uint32_t number, ib::VirtualLane lane, Instant ready) {
  ib::PacketPtr packet = make_packet(2, 64, number, lane.value);
  packet->sent_bytes = packet->wire_bytes();
  packet->forwarding = {.begin = ready, .end = kNever};
  return packet;
}

void push(OutputScheduler& out, std::uint32_t number, ib::VirtualLane lane, Instant ready, Instant now = {}) {
  out.push(ready_packet(number, lane, ready), lane, now);
}

// The numbers of packets in the order of the arbiter, if all lanes may send.
std::vector<std::uint32_t> send_all(OutputScheduler& out) {
  std::vector<std::uint32_t> numbers;
  while (out.waiting() != 0) {
    const ib::VirtualLane lane = out.pick(out.waiting());
    const ib::PacketPtr packet = out.start_first(lane, Instant{});
    out.charge(packet->sent_bytes);
    numbers.push_back(packet->bth.psn.value);
  }
  return numbers;
}

TEST(OutputScheduler, a_lane_is_ordered_by_ready_time_and_then_by_arrival) {
  OutputScheduler out({}, {});
  push(out, 0, kLane0, at(20));
  push(out, 1, kLane0, at(10));
  push(out, 2, kLane0, at(20));
  push(out, 3, kLane0, at(10));
  EXPECT_EQ(send_all(out), (std::vector<std::uint32_t>{1, 3, 0, 2}));
}

TEST(OutputScheduler, lanes_exist_for_the_link_alone) {
  OutputScheduler out({.data_lanes = 4}, {});
  EXPECT_EQ(out.data_lanes(), 4u);
  out.set_data_lanes(2);
  EXPECT_TRUE(out.has_lane(kLane1));
  EXPECT_FALSE(out.has_lane(ib::VirtualLane{2}));
  EXPECT_TRUE(out.has_lane(kManagementLane));
}

TEST(OutputScheduler, counts_the_bytes_of_each_queue) {
  OutputScheduler out = two_lanes();
  push(out, 0, kLane1, {});
  push(out, 1, kLane1, {});
  EXPECT_EQ(out.queued_bytes(kLane0), 0u);
  EXPECT_EQ(out.queued_bytes(kLane1), 180u);
  out.start_first(kLane1, {});
  EXPECT_EQ(out.queued_bytes(kLane1), 90u);
}

// First lane 0 is alone in the high priority table, then lane 1.
TEST(OutputScheduler, new_tables_change_the_lane_that_sends_first) {
  OutputScheduler out = two_lanes({255, {{0, 255}}, {{1, 255}}});
  for (std::uint32_t i = 0; i < 4; ++i) push(out, i, i < 2 ? kLane0 : kLane1, {});
  out.set_arbitration({255, {{1, 255}}, {{0, 255}}});
  EXPECT_EQ(send_all(out), (std::vector<std::uint32_t>{2, 3, 0, 1}));
}

TEST(OutputScheduler, a_lane_that_loses_its_weight_keeps_its_packets_until_it_has_weight_again) {
  OutputScheduler out = two_lanes();
  push(out, 0, kLane0, {});
  push(out, 1, kLane1, {});
  out.set_arbitration({0, {}, {{1, 1}}});
  EXPECT_EQ(send_all(out), (std::vector<std::uint32_t>{1}));
  EXPECT_FALSE(out.is_empty(kLane0));
  push(out, 2, kLane0, {});
  EXPECT_EQ(out.waiting(), 0u);
  out.set_arbitration({0, {}, {{0, 1}}});
  EXPECT_EQ(send_all(out), (std::vector<std::uint32_t>{0, 2}));
}

// The lifetime of the second packet starts when the first has expired; after two the lane stalls for eight
// lifetimes.
TEST(OutputScheduler, first_packets_expire_a_lifetime_after_they_have_become_the_first) {
  constexpr std::int64_t kLifetime = 1'000;
  OutputScheduler out({.head_lifetime = Duration(kLifetime), .stall_count = 2}, {});
  for (std::uint32_t i = 0; i < 3; ++i) push(out, i, kLane0, at(100));
  std::vector<std::uint32_t> lost;
  const auto expire = [&](std::int64_t now) {
    return out.expire(
        at(now), [] {},
        [&](const ib::Packet& packet, DropReason reason) {
          EXPECT_EQ(reason, DropReason::kHeadLifetime);
          lost.push_back(packet.bth.psn.value);
        });
  };
  EXPECT_EQ(out.next_expiry(), at(100 + kLifetime));
  EXPECT_FALSE(expire(100 + kLifetime - 1));
  EXPECT_TRUE(expire(100 + kLifetime));
  EXPECT_EQ(lost, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(out.next_expiry(), at(100 + 2 * kLifetime));
  EXPECT_TRUE(expire(100 + 2 * kLifetime));
  EXPECT_EQ(lost, (std::vector<std::uint32_t>{0, 1, 2})) << "the lane has stalled";
  push(out, 3, kLane0, at(100 + 10 * kLifetime), at(100 + 10 * kLifetime));
  EXPECT_EQ(out.next_expiry(), at(100 + 11 * kLifetime)) << "the stall is over";
}

TEST(OutputScheduler, a_packet_of_a_fault_is_the_first_from_the_instant_in_which_it_is_made) {
  OutputScheduler out({.head_lifetime = Duration(1'000)}, {});
  push(out, 0, kLane0, at(0));
  out.start_first(kLane0, at(5'000));
  out.push_first(ready_packet(0, kLane0, at(0)), kLane0, at(5'000));
  EXPECT_EQ(out.next_expiry(), at(6'000));
}

}  // namespace
}  // namespace verbatim::fabric
