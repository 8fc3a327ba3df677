#include "sim/observe/race_windows.h"

#include <gtest/gtest.h>

#include "sim/ib/aeth.h"
#include "sim/ib/drop_reason.h"

namespace verbatim::observe {
namespace {

std::uint64_t hits(const RaceWindows& windows, RaceWindow window) { return windows.hits()[static_cast<std::size_t>(window)]; }

TEST(RaceWindows, each_is_counted_where_it_is_and_not_beside_it) {
  RaceWindows windows;
  const auto record = [&](std::int64_t time_ps, TraceEvent event, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0,
                          std::uint64_t d = 0) {
    windows.on_record({time_ps, 1, event, {a, b, c, d}}, {});
  };
  record(0, TraceEvent::kCompletion, 128, 72);
  record(3'000'000, TraceEvent::kDoorbell, 1, 128);
  EXPECT_EQ(hits(windows, RaceWindow::kCompletionBeforeArm), 0u);  // long before
  record(4'000'000, TraceEvent::kCompletion, 128, 72);
  record(5'000'000, TraceEvent::kDoorbell, 1, 129);
  EXPECT_EQ(hits(windows, RaceWindow::kCompletionBeforeArm), 0u);  // another queue
  record(5'000'000, TraceEvent::kDoorbell, 1, 128);
  record(5'000'000, TraceEvent::kDoorbell, 1, 128);
  EXPECT_EQ(hits(windows, RaceWindow::kCompletionBeforeArm), 1u);

  record(6'000'000, TraceEvent::kDoorbell, 0, 72, 1);
  record(6'500'000, TraceEvent::kPayloadGathered, 72, 1, 8);
  EXPECT_EQ(hits(windows, RaceWindow::kLateGather), 0u);
  record(7'000'000, TraceEvent::kDoorbell, 0, 72, 2);
  record(8'000'000, TraceEvent::kPayloadGathered, 72, 1, 8);
  EXPECT_EQ(hits(windows, RaceWindow::kLateGather), 1u);

  record(9'000'000, TraceEvent::kAckSent, 72, 1, ib::ack_syndrome(5));
  EXPECT_EQ(hits(windows, RaceWindow::kReceiveMissing), 0u);
  record(9'000'000, TraceEvent::kAckSent, 72, 1, ib::rnr_nak_syndrome(5));
  EXPECT_EQ(hits(windows, RaceWindow::kReceiveMissing), 1u);

  record(9'000'000, TraceEvent::kPacketDropped, 4, 72, 1, static_cast<std::uint64_t>(ib::DropReason::kFault));
  EXPECT_EQ(hits(windows, RaceWindow::kQueuePairGone), 0u);
  record(9'000'000, TraceEvent::kPacketDropped, 4, 72, 1, static_cast<std::uint64_t>(ib::DropReason::kUnknownQp));
  EXPECT_EQ(hits(windows, RaceWindow::kQueuePairGone), 1u);
  record(9'000'000, TraceEvent::kRetransmission, 72, 1);
  EXPECT_EQ(hits(windows, RaceWindow::kRetransmission), 1u);
  for (std::size_t i = 0; i < kRaceWindowCount; ++i) EXPECT_FALSE(text_of(static_cast<RaceWindow>(i)).empty());
}

}  // namespace
}  // namespace verbatim::observe
