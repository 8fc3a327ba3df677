// Adapters' memory accesses performed by a thread: the simulator's lists and the thread's results.
#include "sim/supervisor/machine/touches_ahead.h"

#include <gtest/gtest.h>

#include <cstring>

#include "verbs_shim/protocol/touches.h"

namespace verbatim::supervisor {
namespace {

constexpr Instant at(std::int64_t ps) { return instant_from_ps(ps); }

struct TouchesAheadTest : ::testing::Test {
  // As a thread does.
  void touch(std::uint32_t until) {
    protocol::TouchList& list = region.touches();
    for (; list.done < until; ++list.done) {
      const protocol::MemoryTouch& touch = list.touches[list.done];
      std::uint8_t* const program = memory + touch.address;
      std::uint8_t* const bytes = list.bytes + touch.offset;
      touch.is_write != 0 ? std::memcpy(program, bytes, touch.length) : std::memcpy(bytes, program, touch.length);
    }
  }
  std::string read(Instant now, host::ProgramAddress from, std::size_t length) {
    std::string text(length, '?');
    return touches.take_read(now, from, std::as_writable_bytes(std::span(text))) ? text : "";
  }

  ProcessRegion region;
  TouchesAhead touches;
  std::uint8_t memory[64] = {'a', 'b', 'c', 'd'};
  const std::byte payload[4] = {std::byte{'w'}, std::byte{'x'}, std::byte{'y'}, std::byte{'z'}};
};

TEST_F(TouchesAheadTest, what_is_done_is_taken_once_and_at_its_time) {
  const PlannedTouch planned[] = {{at(100), 0, 4, nullptr}, {at(200), 0, 4, payload}, {at(300), 1, 2, nullptr}};
  EXPECT_EQ(touches.list(region, planned), at(100));
  touch(2);
  ASSERT_TRUE(touches.collect(region));
  EXPECT_EQ(touches.next(), at(300)) << "and is done by whoever comes to it first";
  EXPECT_EQ(read(at(100), 0, 4), "abcd") << "as it was before the write";
  EXPECT_EQ(read(at(100), 0, 4), "");
  EXPECT_TRUE(touches.take_write(at(200), 0, 4));
  EXPECT_EQ(std::memcmp(memory, "wxyz", 4), 0);
  EXPECT_EQ(read(at(300), 1, 2), "");
}

TEST_F(TouchesAheadTest, what_the_adapter_does_not_do_after_all_is_forgotten) {
  const PlannedTouch planned[] = {{at(100), 0, 4, nullptr}, {at(200), 1, 2, nullptr}};
  touches.list(region, planned);
  touch(2);
  ASSERT_TRUE(touches.collect(region));
  EXPECT_EQ(read(at(200), 1, 2), "bc");
}

TEST_F(TouchesAheadTest, another_read_takes_nothing) {
  const PlannedTouch planned[] = {{at(100), 0, 4, nullptr}};
  touches.list(region, planned);
  touch(1);
  ASSERT_TRUE(touches.collect(region));
  EXPECT_EQ(read(at(100), 0, 3), "");
  EXPECT_EQ(read(at(100), 1, 4), "");
  EXPECT_EQ(read(at(99), 0, 4), "");
  EXPECT_FALSE(touches.take_write(at(100), 0, 4));
  EXPECT_EQ(read(at(100), 0, 4), "abcd");
}

TEST_F(TouchesAheadTest, a_list_that_makes_no_sense_is_noticed) {
  const PlannedTouch planned[] = {{at(100), 0, 4, nullptr}, {at(200), 1, 2, nullptr}};
  touches.list(region, planned);
  touch(1);
  ASSERT_TRUE(touches.collect(region));
  region.touches().done = 0;
  EXPECT_FALSE(touches.collect(region)) << "done things are undone";
  region.touches().done = 3;
  EXPECT_FALSE(touches.collect(region)) << "more is done than there is";
}

TEST_F(TouchesAheadTest, as_much_is_listed_as_there_is_room_for) {
  std::vector<PlannedTouch> many(protocol::kMostTouches + 1, {at(1), 0, 4, nullptr});
  EXPECT_EQ(TouchesAhead::most(many), protocol::kMostTouches);
  const PlannedTouch large[] = {{at(1), 0, protocol::kTouchedBytes, nullptr}, {at(2), 0, 1, nullptr}};
  EXPECT_EQ(TouchesAhead::most(large), 1u);
}

}  // namespace
}  // namespace verbatim::supervisor
