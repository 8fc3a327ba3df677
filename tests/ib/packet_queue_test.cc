#include "sim/ib/packet_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/core/sanitizer.h"

namespace verbatim::ib {
namespace {

PacketPtr packet_at(std::int64_t ps, std::uint32_t number) {
  auto packet = std::make_unique<Packet>();
  packet->forwarding.begin = instant_from_ps(ps);
  packet->bth.psn = Psn{number};
  return packet;
}

Instant time_of(const Packet& packet) { return packet.forwarding.begin; }

std::vector<std::uint32_t> drained(PacketQueue& queue) {
  std::vector<std::uint32_t> numbers;
  while (!queue.empty()) numbers.push_back(queue.pop_front()->bth.psn.value);
  return numbers;
}

TEST(PacketQueue, is_in_the_order_of_times_and_then_of_insertion) {
  PacketQueue queue;
  EXPECT_TRUE(queue.insert(packet_at(20, 0), time_of));
  EXPECT_TRUE(queue.insert(packet_at(10, 1), time_of));
  EXPECT_FALSE(queue.insert(packet_at(20, 2), time_of));
  EXPECT_FALSE(queue.insert(packet_at(10, 3), time_of));
  EXPECT_EQ(drained(queue), (std::vector<std::uint32_t>{1, 3, 0, 2}));
  EXPECT_TRUE(queue.insert(packet_at(5, 4), time_of)) << "the times of packets that have left do not count";
  EXPECT_EQ(drained(queue), (std::vector<std::uint32_t>{4}));
}

TEST(PacketQueue, takes_a_packet_before_all_others) {
  PacketQueue queue;
  queue.push_front(packet_at(30, 0), instant_from_ps(30));
  queue.push_front(packet_at(30, 1), instant_from_ps(30));
  queue.insert(packet_at(20, 2), time_of);
  EXPECT_EQ(drained(queue), (std::vector<std::uint32_t>{2, 1, 0}));
}

// A pool allocates packets; those left in a queue are returned with it.
TEST(PacketQueue, destroys_what_is_left_in_it) {
  const Packet* last = nullptr;
  {
    PacketQueue queue, other;
    queue.insert(packet_at(1, 0), time_of);
    other = std::move(queue);
    EXPECT_TRUE(queue.empty());
    last = &other.front();
  }
  if (!kHasAddressSanitizer) {
    EXPECT_EQ(std::make_unique<Packet>().get(), last);
  }
}

}  // namespace
}  // namespace verbatim::ib
