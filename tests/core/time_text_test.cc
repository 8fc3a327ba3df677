// Text of times in messages.
#include "sim/core/time_text.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

using namespace std::chrono_literals;

TEST(TimeText, has_microseconds_below_one_second_and_seconds_from_there_on) {
  EXPECT_EQ(time_text(Duration(0)), "0.000 us");
  EXPECT_EQ(time_text(Duration(7'000)), "0.007 us");
  EXPECT_EQ(time_text(instant_from_ps(102'480'042'000)), "102480.042 us");
  EXPECT_EQ(time_text(Duration(1s) - Duration(1)), "999999.999 us");
  EXPECT_EQ(time_text(Duration(1s)), "1.000000000 s");
  EXPECT_EQ(time_text(Duration(60s) + 42ns), "60.000000042 s");
  EXPECT_EQ(time_text(kEndOfTime), "9158400.000000000 s");
}

// A time of a message can be searched in the trace, whose sixth decimal is a picosecond.
TEST(TimeText, is_cut_off_and_not_rounded) { EXPECT_EQ(time_text(instant_from_ps(104'568'954'600)), "104568.954 us"); }

TEST(TimeText, has_one_sign_for_a_negative_span) {
  EXPECT_EQ(time_text(-Duration(396'080)), "-0.396 us");
  EXPECT_EQ(time_text(-Duration(999)), "0.000 us");
  EXPECT_EQ(time_text(-Duration(2s)), "-2.000000000 s");
}

TEST(TimeText, of_a_column_has_no_unit_and_stays_in_microseconds) { EXPECT_EQ(microseconds_text(2'000'000'000'000), "2000000.000"); }

}  // namespace
}  // namespace verbatim
