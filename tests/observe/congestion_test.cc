// Congestion figures of a run, counted from its records.
#include "sim/observe/congestion.h"

#include <gtest/gtest.h>

#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"

namespace verbatim::observe {
namespace {

const ComponentTable kCongested({"hca/a", "hca/b", "port/leaf:1", "port/leaf:2"});

struct CongestionTest : ::testing::Test {
  void record(const char* component, TraceEvent event, std::int64_t ps, std::uint64_t a, std::uint64_t b = 0) {
    congestion.on_record({ps, kCongested.id(component).value, event, {a, b, 0, 0}}, {});
  }
  void pause(const char* port, std::int64_t ps, std::uint64_t paused) { record(port, TraceEvent::kPauseFrame, ps, 0xff, paused); }

  Congestion congestion{kCongested};
};

TEST_F(CongestionTest, is_none_at_first) {
  congestion.finish(100);
  EXPECT_FALSE(congestion.any());
  EXPECT_EQ(congestion.longest_pausing().component, "");
  EXPECT_EQ(congestion.most_marking().component, "");
  EXPECT_EQ(congestion.lowest_rate().adapter, "");
}

// Priority 3 from 100 to 400, 5 from 200 to the end at 1,000: two pauses, 1,100 ps in total. The other port:
// 50 ps.
TEST_F(CongestionTest, pauses_last_from_frame_to_frame_for_each_priority) {
  pause("port/leaf:1", 100, 1 << 3);
  pause("port/leaf:1", 200, 1 << 3 | 1 << 5);
  pause("port/leaf:1", 400, 1 << 5);
  pause("port/leaf:2", 500, 1);
  pause("port/leaf:2", 550, 0);
  congestion.finish(1'000);
  EXPECT_TRUE(congestion.any());
  EXPECT_EQ(congestion.pauses(), 3u);
  EXPECT_EQ(congestion.paused_ps(), 300 + 800 + 50);
  EXPECT_EQ(congestion.longest_pausing().component, "port/leaf:1");
  EXPECT_EQ(congestion.longest_pausing().value, 1'100u);
}

// Priority 3 is paused for 300 ps, and from 900 to the end at 1,000.
TEST_F(CongestionTest, lanes_have_their_pauses_marks_and_drops) {
  pause("port/leaf:1", 100, 1 << 3);
  pause("port/leaf:1", 400, 0);
  pause("port/leaf:1", 900, 1 << 3);
  ib::Packet packet;
  packet.lrh.lane = ib::VirtualLane{3};
  const ComponentId port = kCongested.id("port/leaf:1");
  congestion.on_packet({1, port.value, TraceEvent::kPacketMarked, {4, 0, 0, 0}}, packet, port);
  congestion.on_packet({1, port.value, TraceEvent::kPacketTransmitted, {4, 0, 0, 0}}, packet, port);
  packet.lrh.lane = ib::VirtualLane{5};
  const auto dropped = static_cast<std::uint64_t>(ib::DropReason::kInputBuffer);
  congestion.on_drop(packet, dropped, port, Instant{});
  congestion.on_drop(packet, static_cast<std::uint64_t>(ib::DropReason::kStale), port, Instant{});
  congestion.finish(1'000);
  ASSERT_EQ(congestion.lanes().size(), 2u);
  const Congestion::Lane& paused = congestion.lanes().at({port.value, 3});
  EXPECT_EQ(paused.pauses, 2u);
  EXPECT_EQ(paused.paused_ps, 400);
  EXPECT_EQ(paused.longest_pause_ps, 300);
  EXPECT_EQ(paused.marked, 1u);
  EXPECT_TRUE(paused.dropped.empty());
  const std::map<std::uint64_t, std::uint64_t> one = {{dropped, 1}};
  EXPECT_EQ(congestion.lanes().at({port.value, 5}).dropped, one) << "a stale acknowledgement is no loss";
}

TEST_F(CongestionTest, marks_count_by_port) {
  record("port/leaf:1", TraceEvent::kPacketMarked, 1, 4);
  record("port/leaf:2", TraceEvent::kPacketMarked, 2, 4);
  record("port/leaf:2", TraceEvent::kPacketMarked, 3, 4);
  EXPECT_EQ(congestion.packets_marked(), 3u);
  EXPECT_EQ(congestion.most_marking().component, "port/leaf:2");
  EXPECT_EQ(congestion.most_marking().value, 2u);
}

TEST_F(CongestionTest, the_lowest_rate_is_the_first_of_equal_ones) {
  record("hca/a", TraceEvent::kRate, 10, 72, 50'000);
  record("hca/b", TraceEvent::kRate, 20, 73, 40'000);
  record("hca/a", TraceEvent::kRate, 30, 72, 40'000);
  record("hca/a", TraceEvent::kRate, 40, 72, 60'000);
  EXPECT_EQ(congestion.rate_changes(), 4u);
  const Congestion::Rate lowest = congestion.lowest_rate();
  EXPECT_EQ(lowest.adapter, "hca/b");
  EXPECT_EQ(lowest.qpn, 73u);
  EXPECT_EQ(lowest.mbps, 40'000u);
  EXPECT_EQ(lowest.when_ps, 20);
}

}  // namespace
}  // namespace verbatim::observe
