// Marked packets, some of which cause notifications.
#include "sim/hca/congestion/notification_point.h"

#include <gtest/gtest.h>

namespace verbatim::hca {
namespace {

ib::Gid gid(std::uint8_t last) {
  ib::Gid gid;
  gid.raw[15] = last;
  return gid;
}

constexpr Duration kFour = std::chrono::microseconds(4);
constexpr Instant at(std::int64_t ps) { return instant_from_ps(ps); }

TEST(NotificationPoint, marks_within_the_minimum_time_are_lost_and_not_deferred) {
  NotificationPoint point(CnpScope::kPort, kFour);
  EXPECT_TRUE(point.on_marked(at(100), gid(1), 7));
  EXPECT_FALSE(point.on_marked(at(100), gid(1), 7));
  EXPECT_FALSE(point.on_marked(at(4'000'099), gid(1), 7));
  EXPECT_TRUE(point.on_marked(at(4'000'100), gid(1), 7));
  EXPECT_FALSE(point.on_marked(at(8'000'099), gid(1), 7)) << "the time counts from the last notification";
}

TEST(NotificationPoint, without_a_minimum_time_each_mark_is_answered) {
  NotificationPoint point(CnpScope::kPort, Duration(0));
  EXPECT_TRUE(point.on_marked(at(1), gid(1), 7));
  EXPECT_TRUE(point.on_marked(at(1), gid(1), 7));
}

// Two senders with two queue pairs each, at one instant.
TEST(NotificationPoint, the_scope_is_the_port_the_sender_or_the_queue_pair) {
  const std::pair<CnpScope, int> kExpected[] = {{CnpScope::kPort, 1}, {CnpScope::kDestinationIp, 2}, {CnpScope::kQueuePair, 4}};
  for (const auto& [scope, expected] : kExpected) {
    NotificationPoint point(scope, kFour);
    int sent = 0;
    for (std::uint32_t queue_pair = 0; queue_pair < 4; ++queue_pair) {
      sent += point.on_marked(at(5), gid(static_cast<std::uint8_t>(queue_pair / 2)), queue_pair);
    }
    EXPECT_EQ(sent, expected) << kCnpScopeNames[static_cast<int>(scope)];
  }
}

}  // namespace
}  // namespace verbatim::hca
