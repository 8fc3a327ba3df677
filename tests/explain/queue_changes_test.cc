// Recorded changes of output queues.
#include "tools/verbatim/queue_changes.h"

#include <gtest/gtest.h>

#include <string>

namespace verbatim::cli {
namespace {

struct QueueChangesTest : ::testing::Test {
  void put(std::int64_t time_ps, std::uint64_t bytes, std::uint32_t lane = 0) {
    changes.put({ComponentId{7}, lane, bytes, time_ps});
  }

  std::string kept;
  QueueChanges changes{[this](const QueueChanges::Change& change) {
    kept += std::to_string(change.time_ps) + ":" + std::to_string(change.lane) + ":" + std::to_string(change.bytes) + " ";
  }};
};

TEST_F(QueueChangesTest, a_packet_that_waits_alone_for_a_short_time_is_left_out) {
  put(0, 100);
  put(QueueChanges::kLongPs - 1, 0);
  put(2'000'000, 100);
  put(2'000'000 + QueueChanges::kLongPs, 0);
  EXPECT_EQ(kept, "2000000:0:100 3000000:0:0 ");
}

TEST_F(QueueChangesTest, all_changes_are_kept_from_the_second_packet_on) {
  put(1, 100);
  put(2, 200);
  put(3, 100);
  put(4, 0);
  put(5, 100);
  put(6, 0);
  EXPECT_EQ(kept, "1:0:100 2:0:200 3:0:100 4:0:0 ");
}

TEST_F(QueueChangesTest, lanes_are_apart_and_what_waits_at_the_end_is_kept) {
  put(1, 100, 3);
  put(2, 50);
  put(3, 0);
  changes.finish();
  EXPECT_EQ(kept, "1:3:100 ");
}

}  // namespace
}  // namespace verbatim::cli
