// Time series as CSV: columns, intervals with lines, complete sums.
#include "sim/observe/series.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"
#include "sim/observe/drop_names.h"

namespace verbatim::observe {
namespace {

const ComponentTable kInSeries({"hca/a", "port/a:1", "port/leaf:1"});
constexpr std::int64_t kMicrosecond = 1'000'000;

struct SeriesTest : ::testing::Test {
  void start(std::int64_t step_ps) {
    series.emplace(kInSeries, Duration(step_ps), [this](std::string_view text) { csv += text; });
  }
  void queue(const char* port, std::int64_t ps, std::uint64_t bytes, std::uint32_t lane = 0) {
    series->on_output_queue(kInSeries.id(port), lane, bytes, instant_from_ps(ps));
  }
  void pause(std::int64_t ps, std::uint64_t named, std::uint64_t paused) {
    series->on_record({ps, kInSeries.id("port/leaf:1").value, TraceEvent::kPauseFrame, {named, paused, 0, 0}}, {});
  }
  void rate(std::int64_t ps, std::uint64_t mbps) {
    series->on_record({ps, kInSeries.id("hca/a").value, TraceEvent::kRate, {72, mbps, 0, 0}}, {});
  }
  void packet(TraceEvent event, std::int64_t ps, std::uint64_t last_value) {
    ib::Packet one;
    one.lrh.lane = ib::VirtualLane{3};
    series->on_packet({ps, kInSeries.id("port/leaf:1").value, event, {4, 0, 0, last_value}}, one, kInSeries.id("port/leaf:1"));
  }
  // The lines without the header.
  std::string lines(std::int64_t end_ps) {
    series->finish(end_ps);
    EXPECT_TRUE(csv.starts_with(Series::kHeader));
    return csv.substr(Series::kHeader.size());
  }

  std::string csv;
  std::optional<Series> series;
};

TEST_F(SeriesTest, of_a_quiet_run_has_a_header_alone) {
  start(10 * kMicrosecond);
  EXPECT_EQ(lines(30 * kMicrosecond), "");
  EXPECT_EQ(csv, "time_us,what,where,number,value\n");
}

// 4,000 bytes for 2.5 of 10 us are 1,000 on average.
TEST_F(SeriesTest, a_short_peak_keeps_its_height) {
  start(10 * kMicrosecond);
  queue("port/a:1", 12 * kMicrosecond, 4'000);
  queue("port/a:1", 12 * kMicrosecond + 2'500'000, 0);
  EXPECT_EQ(lines(100 * kMicrosecond), "10.000000,queue_bytes_most,port/a:1,0,4000\n"
                                       "10.000000,queue_bytes_mean,port/a:1,0,1000\n"
                                       "20.000000,queue_bytes_most,port/a:1,0,0\n"
                                       "20.000000,queue_bytes_mean,port/a:1,0,0\n");
}

// The level lasts from 5 us on: the second interval has no other change and no line, like all later ones.
TEST_F(SeriesTest, a_level_that_stays_takes_no_lines) {
  start(10 * kMicrosecond);
  queue("port/a:1", 5 * kMicrosecond, 1'000);
  EXPECT_EQ(lines(1'000'000'000 * kMicrosecond), "0.000000,queue_bytes_most,port/a:1,0,1000\n"
                                                 "0.000000,queue_bytes_mean,port/a:1,0,500\n"
                                                 "10.000000,queue_bytes_most,port/a:1,0,1000\n"
                                                 "10.000000,queue_bytes_mean,port/a:1,0,1000\n");
}

// Priority 3 is paused for 4 of 10 us, and then for a picosecond, less than a millionth. At the end it is not
// paused.
TEST_F(SeriesTest, a_pause_is_a_share_of_the_time_that_never_rounds_to_none) {
  start(10 * kMicrosecond);
  pause(3 * kMicrosecond, 1 << 3 | 1 << 4, 1 << 3);
  pause(7 * kMicrosecond, 1 << 3, 0);
  pause(25 * kMicrosecond, 1 << 3, 1 << 3);
  pause(25 * kMicrosecond + 1, 1 << 3, 0);
  EXPECT_EQ(lines(30 * kMicrosecond), "0.000000,pausing_share,port/leaf:1,3,0.400000\n"
                                      "10.000000,pausing_share,port/leaf:1,3,0.000000\n"
                                      "20.000000,pausing_share,port/leaf:1,3,0.000001\n"
                                      "30.000000,pausing_share,port/leaf:1,3,0.000000\n");
}

// The rate is known from 5 us on. The run's last interval is shorter: 2 us at 40,000 and 2 us at 20,000.
TEST_F(SeriesTest, a_rate_begins_with_its_first_change) {
  start(10 * kMicrosecond);
  rate(5 * kMicrosecond, 40'000);
  rate(12 * kMicrosecond, 20'000);
  EXPECT_EQ(lines(14 * kMicrosecond), "0.000000,rate_mbps_least,hca/a,72,40000\n"
                                      "0.000000,rate_mbps_mean,hca/a,72,40000\n"
                                      "10.000000,rate_mbps_least,hca/a,72,20000\n"
                                      "10.000000,rate_mbps_mean,hca/a,72,30000\n");
}

TEST_F(SeriesTest, counts_are_sums_by_lane) {
  start(10 * kMicrosecond);
  packet(TraceEvent::kPacketTransmitted, 1, 1'000);
  packet(TraceEvent::kPacketTransmitted, 2, 500);
  packet(TraceEvent::kPacketMarked, 3, 9'999);
  packet(TraceEvent::kPacketDropped, 4, static_cast<std::uint64_t>(ib::DropReason::kInputBuffer));
  packet(TraceEvent::kPacketTransmitted, 10 * kMicrosecond, 7);
  EXPECT_EQ(lines(10 * kMicrosecond), "0.000000,marks,port/leaf:1,3,1\n"
                                      "0.000000,sent_bytes,port/leaf:1,3,1500\n"
                                      "0.000000,drops:input-buffer,port/leaf:1,3,1\n"
                                      "10.000000,sent_bytes,port/leaf:1,3,7\n");
}

// Lines with the same time are in the order of their components.
TEST_F(SeriesTest, lines_of_a_time_have_an_order_of_their_own) {
  for (const bool swapped : {false, true}) {
    csv.clear();
    start(10 * kMicrosecond);
    queue(swapped ? "port/leaf:1" : "port/a:1", 5, 10);
    queue(swapped ? "port/a:1" : "port/leaf:1", 5, 10);
    const std::string text = lines(10);
    EXPECT_LT(text.find("port/a:1"), text.find("port/leaf:1"));
  }
}

TEST_F(SeriesTest, without_a_step_each_change_has_its_line) {
  start(0);
  queue("port/leaf:1", 5, 10);
  queue("port/a:1", 5, 10);
  queue("port/a:1", 5, 0);
  packet(TraceEvent::kPacketMarked, 6, 9'999);
  pause(7, 0xff, 1);
  rate(8, 100);
  EXPECT_EQ(lines(10), "0.000005,queue_bytes,port/a:1,0,10\n"
                       "0.000005,queue_bytes,port/a:1,0,0\n"
                       "0.000005,queue_bytes,port/leaf:1,0,10\n"
                       "0.000006,marks,port/leaf:1,3,1\n"
                       "0.000007,pausing,port/leaf:1,0,1\n"
                       "0.000008,rate_mbps,hca/a,72,100\n");
}

TEST(DropNames, are_words_with_hyphens) {
  EXPECT_EQ(drop_name(static_cast<std::uint64_t>(ib::DropReason::kNoRoute)), "no-route");
  EXPECT_EQ(drop_name(static_cast<std::uint64_t>(ib::DropReason::kPauseWatchdog)), "pause-watchdog");
  EXPECT_EQ(drop_name(200), "200");
}

}  // namespace
}  // namespace verbatim::observe
