// Congestion over time in `verbatim report`, from lines of a recording, over a picture of 1,000 ps.
#include "tools/verbatim/run_lanes.h"

#include <gmock/gmock.h>

namespace verbatim::cli {
namespace {

struct RunLanes : ::testing::Test {
  RunLanes() {
    picture.first_packet_ps = 1000;
    picture.last_packet_ps = 1999;
  }
  void fact(std::int64_t time, const char* port, const char* event, const char* values) { run.facts.push_back({time, port, event, values, ""}); }
  void line(std::int64_t time, const char* component, const char* event, const char* values) { run.lines.push_back({time, component, event, values, ""}); }
  std::vector<LaneHistory> lanes(std::size_t most = 100) { return congested_lanes_of(run, picture, most, &left_out); }
  static std::int64_t at(const BinnedValues& values, std::int64_t time) {
    return values.at(static_cast<std::size_t>(time - 1000) * BinnedValues::kBins / 1000);
  }

  RecordedRun run;
  RunPicture picture;
  std::size_t left_out = 99;
};

TEST_F(RunLanes, a_lane_has_its_queue_pauses_marks_and_drops) {
  fact(1100, "port/leaf:1", "output-queue", "vl=3 bytes=9000");
  fact(1200, "port/leaf:1", "mark", "vl=3");
  fact(1250, "port/leaf:1", "drop", "vl=3 reason=10");
  fact(1260, "port/leaf:1", "drop", "vl=3 reason=23");  // a stale acknowledgement
  fact(1300, "port/leaf:1", "output-queue", "vl=3 bytes=0");
  line(1400, "port/leaf:1", "pause-frame", "priorities=8 paused=8 quanta=65535");
  line(1500, "port/leaf:1", "pause-frame", "priorities=8 paused=0 quanta=65535");
  line(1900, "port/leaf:1", "pause-frame", "priorities=8 paused=8 quanta=65535");
  line(1999, "port/leaf:2", "packet-received", "opcode=4");
  const auto all = lanes();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(left_out, 0u);
  const LaneHistory& lane = all[0];
  EXPECT_EQ(lane.port, "port/leaf:1");
  EXPECT_EQ(lane.lane, 3u);
  EXPECT_EQ(lane.deepest, 9000);
  EXPECT_EQ(at(lane.queue, 1050), 0);
  EXPECT_EQ(at(lane.queue, 1150), 9000);
  EXPECT_EQ(at(lane.queue, 1350), 0);
  EXPECT_EQ(lane.pauses, 2u);
  EXPECT_EQ(lane.paused_ps, 100 + 99) << "the last one lasts to the end";
  EXPECT_EQ(at(lane.pausing, 1450), 1);
  EXPECT_EQ(at(lane.pausing, 1600), 0);
  EXPECT_EQ(at(lane.pausing, 1950), 1);
  EXPECT_EQ(lane.marked, 1u);
  EXPECT_EQ(lane.all_dropped(), 1u);
  EXPECT_EQ(at(lane.drops, 1250), 1);
}

TEST_F(RunLanes, a_lane_with_one_packet_at_a_time_is_not_congested) {
  fact(1100, "port/leaf:1", "output-queue", "vl=0 bytes=4222");
  EXPECT_TRUE(lanes().empty());
  fact(1100, "port/leaf:1", "output-queue", "vl=0 bytes=4225");
  EXPECT_EQ(lanes().size(), 1u);
}

TEST_F(RunLanes, the_worst_come_first_and_the_rest_is_counted) {
  for (const char* port : {"port/a:1", "port/b:1", "port/c:1", "port/d:1"}) fact(1100, port, "output-queue", "vl=0 bytes=5000");
  fact(1200, "port/b:1", "mark", "vl=0");
  fact(1300, "port/d:1", "drop", "vl=0 reason=10");
  line(1400, "port/c:1", "pause-frame", "priorities=1 paused=1 quanta=65535");
  line(1500, "port/c:1", "pause-frame", "priorities=1 paused=0 quanta=65535");
  const auto all = lanes(3);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].port, "port/d:1");
  EXPECT_EQ(all[1].port, "port/c:1");
  EXPECT_EQ(all[2].port, "port/b:1");
  EXPECT_EQ(left_out, 1u);
}

TEST_F(RunLanes, rates_have_their_changes_the_lowest_first) {
  line(1100, "hca/a", "rate", "qpn=72 mbps=50000");
  line(1200, "hca/a", "rate", "qpn=72 mbps=40000");
  line(1300, "hca/b", "rate", "qpn=73 mbps=20000");
  const auto all = rates_of(run, picture, 1, &left_out);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(left_out, 1u);
  EXPECT_EQ(all[0].host, "b");
  EXPECT_EQ(all[0].lowest, 20'000);
  EXPECT_EQ(at(all[0].least, 1300), 20'000);
  EXPECT_EQ(at(all[0].least, 1250), -1);
}

}  // namespace
}  // namespace verbatim::cli
