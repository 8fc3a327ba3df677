// Round trips measured by the sender, and the controller that uses them.
#include "sim/hca/congestion/round_trips.h"

#include <gtest/gtest.h>

#include "sim/hca/congestion/controllers.h"

namespace verbatim::hca {
namespace {

constexpr Instant at_us(std::int64_t us) { return instant_from_ps(us * 1'000'000); }
constexpr Duration us(std::int64_t count) { return std::chrono::microseconds(count); }

TEST(RoundTrips, are_those_of_packets_that_ask_for_an_acknowledgement) {
  RoundTrips trips;
  trips.on_handed_over(ib::Psn{5}, false, at_us(1));
  trips.on_handed_over(ib::Psn{6}, true, at_us(2));
  trips.on_handed_over(ib::Psn{7}, true, at_us(3));
  trips.on_handed_over(ib::Psn{8}, true, at_us(4));
  EXPECT_EQ(trips.on_acknowledged(ib::Psn{5}, at_us(10)), std::nullopt);
  EXPECT_EQ(trips.on_acknowledged(ib::Psn{6}, at_us(11)), us(9));
  EXPECT_EQ(trips.on_acknowledged(ib::Psn{6}, at_us(12)), std::nullopt) << "it has been answered";
  EXPECT_EQ(trips.on_acknowledged(ib::Psn{8}, at_us(13)), us(9)) << "the one before it is acknowledged as well";
  EXPECT_EQ(trips.on_acknowledged(ib::Psn{7}, at_us(14)), std::nullopt);
}

TEST(RoundTrips, a_packet_that_is_sent_again_gives_no_time_for_its_first_sending) {
  RoundTrips trips;
  trips.on_handed_over(ib::Psn{ib::Psn::kMask}, true, at_us(1));
  trips.on_handed_over(ib::Psn{0}, true, at_us(2));
  trips.on_handed_over(ib::Psn{ib::Psn::kMask}, false, at_us(20));
  EXPECT_EQ(trips.on_acknowledged(ib::Psn{0}, at_us(21)), std::nullopt);
  trips.on_handed_over(ib::Psn{0}, true, at_us(22));
  EXPECT_EQ(trips.on_acknowledged(ib::Psn{0}, at_us(25)), us(3));
}

struct TimelyRig {
  TimelyRig() {
    CongestionControl profile;
    profile.controller = "timely";
    controller = make_controller(profile, Rate::of_mbps(100'000));
  }
  // The rate in kb/s after a round trip; 0: not limited.
  std::uint64_t after(Duration round_trip) {
    controller->on_round_trip(now += round_trip, round_trip);
    return controller->rate({}).value_or(Rate{0}).kbps;
  }
  std::unique_ptr<RateController> controller;
  Instant now{};
};

TEST(Timely, of_the_packets_of_one_round_trip_one_counts) {
  TimelyRig timely;
  EXPECT_EQ(timely.after(us(1'000)), 0u) << "the first one has no difference";
  EXPECT_EQ(timely.after(us(1'000)), 60'000'000u);
  timely.controller->on_round_trip(timely.now + us(999), us(1'000));
  EXPECT_EQ(timely.controller->rate({})->kbps, 60'000'000u) << "it was handed over before the cut";
  timely.controller->on_round_trip(timely.now + us(1'000), us(1'000));
  EXPECT_EQ(timely.controller->rate({})->kbps, 36'000'000u);
}

TEST(Timely, short_round_trips_do_not_limit_the_rate) {
  TimelyRig timely;
  EXPECT_TRUE(timely.controller->wants_round_trips());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(timely.after(us(10 + i)), 0u);
}

// Mean differences: 17.5 us, then an eighth of it, 2.1875 us, then (2.1875 - 7 x 20) / 8 = -17.2 us. Cuts of
// 0.8 x 17.5 / 20 = 70 % and 0.8 x 2.1875 / 20 = 8.75 %, then a step of 100 Mb/s.
TEST(Timely, a_rising_round_trip_lowers_the_rate_by_its_gradient) {
  TimelyRig timely;
  EXPECT_EQ(timely.after(us(100)), 0u);
  EXPECT_EQ(timely.after(us(120)), 30'000'000u);
  EXPECT_EQ(timely.after(us(120)), 27'375'000u);
  EXPECT_EQ(timely.after(us(100)), 27'475'000u);
}

// 0.8 x (1 - 500 / 1000) = 40 %.
TEST(Timely, a_long_round_trip_lowers_it_whatever_its_gradient) {
  TimelyRig timely;
  timely.after(us(1'000));
  EXPECT_EQ(timely.after(us(1'000)), 60'000'000u);
  EXPECT_EQ(timely.after(us(1'000)), 36'000'000u);
  EXPECT_EQ(timely.after(us(30)), 36'100'000u) << "below the lower bound it rises";
}

// HPCC's model counts rises below the lower bound, too.
TEST(Timely, the_sixth_rise_in_a_row_and_those_behind_it_are_five_steps) {
  TimelyRig timely;
  timely.after(us(1'000));
  std::uint64_t rate = timely.after(us(1'000));
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t next = timely.after(us(400 - i));
    EXPECT_EQ(next, rate + 100'000) << i;
    rate = next;
  }
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t next = timely.after(us(i == 1 ? 10 : 300 - i));
    if (i < 2) {
      EXPECT_EQ(next, rate + 500'000) << i;
    } else {
      EXPECT_LT(next, rate) << "the mean has risen";
    }
    rate = next;
  }
  EXPECT_EQ(timely.after(us(10)), rate + 100'000) << "the first in a row";
}

TEST(Timely, no_cut_goes_below_the_least_rate) {
  TimelyRig timely;
  for (int i = 0; i < 100; ++i) timely.after(us(100'000));
  EXPECT_EQ(timely.after(us(100'000)), 100'000u);
  EXPECT_EQ(timely.after(us(40)), 200'000u);
}

// 30 us x 7 / 8 are more than 20 us / 0.8.
TEST(Timely, a_steep_rise_goes_to_the_least_rate_at_once_and_back_by_steps) {
  TimelyRig timely;
  timely.after(us(60));
  EXPECT_EQ(timely.after(us(90)), 100'000u);
  std::uint64_t rate = 100'000;
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t next = timely.after(us(20));
    EXPECT_EQ(next, rate + (i < 5 ? 100'000 : 500'000)) << i;
    rate = next;
  }
}

}  // namespace
}  // namespace verbatim::hca
