// Shared memory of ports: reserve, pool with a dynamic threshold, headroom.
#include "sim/fabric/shared_buffer.h"

#include <gtest/gtest.h>

#include "tests/core/at.h"

namespace verbatim::fabric {
namespace {

constexpr std::uint32_t kCell = 100;

SharedBuffer::GroupParams group(std::uint32_t reserved, std::uint32_t headroom, int alpha_log2 = 0) {
  return {.reserved_bytes = reserved * kCell,
          .headroom_bytes = headroom * kCell,
          .alpha_log2 = alpha_log2,
          .is_lossless = headroom > 0};
}

bool admit(SharedBuffer& buffer, std::size_t to, std::uint32_t cells, std::int64_t now = 0) {
  return buffer.admit(to, cells * kCell, at(now));
}

TEST(SharedBuffer, reserves_and_headrooms_are_taken_from_the_pool) {
  SharedBuffer buffer(1'000 * kCell, kCell);
  EXPECT_EQ(buffer.add_group(group(10, 50)), 0u);
  EXPECT_EQ(buffer.add_group(group(20, 0)), 1u);
  EXPECT_EQ(buffer.free_pool_cells(), 920u);
}

TEST(SharedBuffer, a_packet_takes_whole_cells) {
  SharedBuffer buffer(1'000 * kCell, kCell);
  buffer.add_group(group(0, 0));
  EXPECT_TRUE(buffer.admit(0, 101, at(0)));
  EXPECT_EQ(buffer.used_cells(0), 2u);
}

// alpha 1: a group may use as much of the pool as is free, so at most half of it: 50 of 100.
TEST(SharedBuffer, the_threshold_is_alpha_times_what_is_free) {
  SharedBuffer buffer(100 * kCell, kCell);
  buffer.add_group(group(0, 0));
  EXPECT_TRUE(admit(buffer, 0, 50));
  EXPECT_FALSE(admit(buffer, 0, 1)) << "51 are more than the 50 that are free";
}

// alpha 1/8 of 90 cells: 11. If another group leaves 45 free: 5.
TEST(SharedBuffer, what_others_take_lowers_the_threshold) {
  SharedBuffer buffer(90 * kCell, kCell);
  buffer.add_group(group(0, 0, -3));
  buffer.add_group(group(0, 0, 0));
  EXPECT_EQ(buffer.threshold(-3), 11u);
  EXPECT_TRUE(admit(buffer, 1, 45));
  EXPECT_EQ(buffer.threshold(-3), 5u);
  EXPECT_TRUE(admit(buffer, 0, 5));
  EXPECT_FALSE(admit(buffer, 0, 1));
}

// With alpha 128 the threshold exceeds the pool; its size is the limit.
TEST(SharedBuffer, nobody_takes_more_of_the_pool_than_there_is) {
  SharedBuffer buffer(100 * kCell, kCell);
  buffer.add_group(group(0, 0, 7));
  EXPECT_TRUE(admit(buffer, 0, 99));
  EXPECT_FALSE(admit(buffer, 0, 2));
  EXPECT_TRUE(admit(buffer, 0, 1));
}

TEST(SharedBuffer, a_lossless_group_is_full_when_it_uses_headroom_or_all_that_it_may) {
  SharedBuffer buffer(110 * kCell, kCell);
  buffer.add_group(group(0, 10));  // pool: 100 cells
  EXPECT_TRUE(admit(buffer, 0, 49));
  EXPECT_FALSE(buffer.is_full(0)) << "51 are free";
  EXPECT_TRUE(admit(buffer, 0, 5)) << "54 are more than 51: headroom";
  EXPECT_TRUE(buffer.is_full(0));
  EXPECT_EQ(buffer.headroom_used_cells(0), 5u);
  EXPECT_TRUE(admit(buffer, 0, 1)) << "50 are not more than 51";
  EXPECT_TRUE(admit(buffer, 0, 5));
  EXPECT_FALSE(admit(buffer, 0, 1)) << "the headroom is full, and 51 are more than 50";
}

TEST(SharedBuffer, a_lossy_group_is_never_full) {
  SharedBuffer buffer(100 * kCell, kCell);
  buffer.add_group(group(0, 0));
  EXPECT_TRUE(admit(buffer, 0, 50));
  EXPECT_FALSE(buffer.is_full(0));
}

TEST(SharedBuffer, what_leaves_gives_back_headroom_first_and_then_the_pool) {
  SharedBuffer buffer(120 * kCell, kCell);
  buffer.add_group(group(10, 10));    // pool: 100 cells
  EXPECT_TRUE(admit(buffer, 0, 60));  // 10 of the reserve, 50 of the pool
  EXPECT_TRUE(admit(buffer, 0, 8));   // in the headroom
  EXPECT_EQ(buffer.free_pool_cells(), 50u);
  buffer.release(0, 10 * kCell, at(5));
  EXPECT_EQ(buffer.next_release(0), at(5));
  buffer.settle(at(4));
  EXPECT_EQ(buffer.used_cells(0), 68u);
  buffer.settle(at(5));
  EXPECT_EQ(buffer.headroom_used_cells(0), 0u);
  EXPECT_EQ(buffer.free_pool_cells(), 52u);
  EXPECT_EQ(buffer.next_release(0), kNever);
  buffer.release(0, 58 * kCell, at(6));
  buffer.settle(at(6));
  EXPECT_EQ(buffer.used_cells(0), 0u);
  EXPECT_EQ(buffer.free_pool_cells(), 100u);
}

// Two groups share 100 cells; each may use as much as is free.
TEST(SharedBuffer, packets_that_stay_keep_a_group_from_having_room_again) {
  using Kept = std::vector<std::uint64_t>;
  SharedBuffer buffer(120 * kCell, kCell);
  buffer.add_group(group(0, 10));
  buffer.add_group(group(0, 10));
  EXPECT_TRUE(admit(buffer, 0, 20));
  EXPECT_TRUE(admit(buffer, 1, 40));
  EXPECT_TRUE(admit(buffer, 1, 5)) << "headroom: 45 are more than the 40 that are free";
  EXPECT_TRUE(buffer.is_full(1));
  EXPECT_TRUE(buffer.can_have_room_again(1, Kept{0, 0}));
  EXPECT_TRUE(buffer.can_have_room_again(1, Kept{20, 39})) << "six cells leave, first those of the headroom";
  EXPECT_FALSE(buffer.can_have_room_again(1, Kept{20, 40})) << "40 are all that is free with the others' 20";
  EXPECT_TRUE(buffer.can_have_room_again(1, Kept{0, 40})) << "60 are free without them";
  EXPECT_FALSE(buffer.can_have_room_again(1, Kept{0, 41})) << "one stays in the headroom";
}

TEST(SharedBuffer, memory_that_is_given_back_serves_heads_that_come_later) {
  SharedBuffer buffer(10 * kCell, kCell);
  buffer.add_group(group(10, 0));
  EXPECT_TRUE(admit(buffer, 0, 10, 0));
  buffer.release(0, 10 * kCell, at(100));
  EXPECT_FALSE(admit(buffer, 0, 1, 100));
  EXPECT_TRUE(admit(buffer, 0, 1, 101));
}

TEST(SharedBuffer, packets_of_several_groups_leave_in_any_order) {
  SharedBuffer buffer(100 * kCell, kCell);
  buffer.add_group(group(0, 0));
  buffer.add_group(group(0, 0));
  EXPECT_TRUE(admit(buffer, 0, 7));
  EXPECT_TRUE(admit(buffer, 0, 5));
  EXPECT_TRUE(admit(buffer, 1, 11));
  buffer.release(0, 7 * kCell, at(30));
  buffer.release(1, 11 * kCell, at(20));
  buffer.release(0, 5 * kCell, at(10));
  EXPECT_EQ(buffer.next_release(0), at(10));
  buffer.settle(at(10));
  EXPECT_EQ(buffer.used_cells(0), 7u);
  buffer.settle(at(20));
  EXPECT_EQ(buffer.used_cells(1), 0u);
  EXPECT_EQ(buffer.free_pool_cells(), 93u);
}

TEST(SharedBuffer, a_group_has_room_again_below_the_resume_offset_or_when_it_is_empty) {
  SharedBuffer buffer(110 * kCell, kCell);
  SharedBuffer::GroupParams params = group(0, 10);
  params.resume_offset_bytes = 8 * kCell;
  buffer.add_group(params);
  EXPECT_TRUE(admit(buffer, 0, 50));
  EXPECT_TRUE(buffer.is_full(0));
  buffer.release(0, 3 * kCell, at(1));  // 47 used, 53 free: 6 below the threshold
  buffer.settle(at(1));
  EXPECT_FALSE(buffer.has_room_again(0));
  buffer.release(0, 1 * kCell, at(2));  // 46 used, 54 free: 8 below
  buffer.settle(at(2));
  EXPECT_TRUE(buffer.has_room_again(0));
}

TEST(SharedBuffer, an_empty_group_has_room_however_little_is_free) {
  SharedBuffer buffer(100 * kCell, kCell);
  SharedBuffer::GroupParams params = group(0, 10, -3);
  params.resume_offset_bytes = 80 * kCell;
  buffer.add_group(params);
  EXPECT_TRUE(buffer.has_room_again(0));
  EXPECT_TRUE(admit(buffer, 0, 1));
  EXPECT_FALSE(buffer.has_room_again(0));
}

// An empty group could not be resumed, because no packet leaves it.
TEST(SharedBuffer, an_empty_group_is_not_full_however_little_is_free) {
  SharedBuffer buffer(20 * kCell, kCell);
  buffer.add_group(group(0, 10));
  buffer.add_group(group(0, 0, 7));
  EXPECT_TRUE(admit(buffer, 1, 10)) << "the whole pool";
  EXPECT_FALSE(admit(buffer, 0, 11)) << "more than the headroom";
  EXPECT_FALSE(buffer.is_full(0));
  EXPECT_TRUE(admit(buffer, 0, 1));
  EXPECT_TRUE(buffer.is_full(0));
}

}  // namespace
}  // namespace verbatim::fabric
