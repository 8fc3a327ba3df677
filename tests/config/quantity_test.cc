#include "sim/config/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <string>

namespace verbatim::config {
namespace {

std::int64_t parsed(std::string_view text, Dimension dimension) {
  std::string problem, hint;
  const auto value = parse_quantity(text, dimension, &problem, &hint);
  EXPECT_TRUE(value.has_value()) << text << " " << problem;
  EXPECT_TRUE(std::regex_match(std::string(text), std::regex(pattern_of(dimension)))) << text;
  return value.value_or(-1);
}

std::string refusal(std::string_view text, Dimension dimension) {
  std::string problem, hint;
  EXPECT_FALSE(parse_quantity(text, dimension, &problem, &hint).has_value()) << text;
  return problem + "; " + hint;
}

TEST(Quantity, every_unit_is_exact) {
  EXPECT_EQ(parsed("90 ns", Dimension::kDuration), 90'000);
  EXPECT_EQ(parsed("90ns", Dimension::kDuration), 90'000);
  EXPECT_EQ(parsed("137.49 ns", Dimension::kDuration), 137'490);
  EXPECT_EQ(parsed("1.5 us", Dimension::kDuration), 1'500'000);
  EXPECT_EQ(parsed("1.5 µs", Dimension::kDuration), 1'500'000);
  EXPECT_EQ(parsed("10s", Dimension::kDuration), 10'000'000'000'000);
  EXPECT_EQ(parsed("400 MHz", Dimension::kFrequency), 400'000'000);
  EXPECT_EQ(parsed("64 KiB", Dimension::kSize), 65'536);
  EXPECT_EQ(parsed("0.5 KiB", Dimension::kSize), 512);
  EXPECT_EQ(parsed("100 Gbps", Dimension::kRate), 100'000'000'000);
  EXPECT_EQ(parsed("2 m", Dimension::kLength), 2'000);
  EXPECT_EQ(parsed("4.96 ns/m", Dimension::kDelayPerLength), 4'960);
}

TEST(Quantity, what_floating_point_would_blur_stays_exact) {
  EXPECT_EQ(parsed("0.1 s", Dimension::kDuration), 100'000'000'000);
  EXPECT_EQ(parsed("0.000000000001 s", Dimension::kDuration), 1);
  EXPECT_EQ(parsed("9223372.036854775807 s", Dimension::kDuration), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parsed("1.10 ns", Dimension::kDuration), 1'100);
}

TEST(Quantity, refusals_say_what_to_write) {
  EXPECT_EQ(refusal("90", Dimension::kDuration),
            "has no unit; units are s, ms, us, ns, ps, for example \"90 ns\"");
  EXPECT_EQ(refusal("200 Gbp", Dimension::kRate), "is not a rate; did you mean \"200 Gbps\"?");
  EXPECT_EQ(refusal("100 GBps", Dimension::kRate), "is not a rate; B means bytes, and rates count bits: 100 GBps is \"800 Gbps\"");
  EXPECT_EQ(refusal("12.5 GB/s", Dimension::kRate), "is not a rate; B means bytes, and rates count bits: 12.5 GB/s is \"100 Gbps\"");
  EXPECT_EQ(refusal("5B", Dimension::kRate), "is not a rate; B means bytes, and rates count bits: 5B is \"40 bps\"");
  EXPECT_EQ(refusal("99999999999999999999999999999 TBps", Dimension::kRate), "is not a rate; B means bytes, and rates count bits");
  EXPECT_EQ(refusal("1 parsec", Dimension::kLength), "is not a length; units are km, m, cm, mm");
  EXPECT_EQ(refusal("0.5 ps", Dimension::kDuration),
            "is finer than one ps; round it to a whole number of ps");
  EXPECT_EQ(refusal("9223373 s", Dimension::kDuration),
            "is too large; the greatest value is 9223372036854775.807 ns");
  for (const char* text : {"", " ", "ns", "-1 ns", "+1 ns", "1e3 ns", "1. ns", ".5 ns", "1  ns", "1 ns ",
                           " 1 ns", "1,5 ns", "0x10 ns", "1 NS", "nan ns",
                           "99999999999999999999999999999999999999999999 ns", "0.0000000000000000000001 s"}) {
    refusal(text, Dimension::kDuration);
  }
}

TEST(Quantity, formatting_is_the_inverse_of_parsing) {
  for (const std::int64_t value :
       {0ll, 1ll, 999ll, 1'000ll, 1'500ll, 137'490ll, 1'234'567ll, 60'000'000'000'000ll}) {
    EXPECT_EQ(parsed(format_quantity(value, Dimension::kDuration), Dimension::kDuration), value);
  }
  EXPECT_EQ(format_quantity(1'500'000, Dimension::kDuration), "1.5 us");
  EXPECT_EQ(format_quantity(65'536, Dimension::kSize), "64 KiB");
  EXPECT_EQ(format_quantity(65'537, Dimension::kSize), "65537 B");
}

TEST(LinkRate, byte_times_are_exact_ratios) {
  std::string problem, hint;
  const auto time = [&](const char* text) { return parse_link_rate(text, &problem, &hint)->byte_time; };
  EXPECT_EQ(time("EDR 4x"), (ByteTime{80, 1}));
  EXPECT_EQ(time("edr 4x"), (ByteTime{80, 1}));
  EXPECT_EQ(time("EDR"), (ByteTime{80, 1}));
  EXPECT_EQ(time("FDR 4x"), (ByteTime{440, 3}));
  EXPECT_EQ(time("FDR 12x"), (ByteTime{440, 9}));
  EXPECT_EQ(time("SDR 1x"), (ByteTime{4000, 1}));
  EXPECT_EQ(time("XDR 8x"), (ByteTime{5, 1}));
  EXPECT_EQ(time("HDR 12x"), (ByteTime{40, 3}));
}

TEST(LinkRate, carries_the_encodings_of_ibv_port_attr) {
  std::string problem, hint;
  const auto edr = parse_link_rate("EDR 4x", &problem, &hint);
  EXPECT_EQ(edr->active_speed, 32u);
  EXPECT_EQ(edr->active_width, 2u);
  const auto hdr = parse_link_rate("HDR 2x", &problem, &hint);
  EXPECT_EQ(hdr->active_speed, 64u);
  EXPECT_EQ(hdr->active_width, 16u);
}

// The number of symbols of a code word * 10 bits / the line rate of all lanes.
TEST(LinkRate, a_code_word_takes_its_bits_over_the_line_rate) {
  std::string problem, hint;
  const auto time = [&](const char* rate, const char* fec) {
    return to_ps(fec_block_time(*parse_link_rate(rate, &problem, &hint), fec));
  };
  EXPECT_EQ(time("EDR 4x", "none"), 0);
  EXPECT_EQ(time("EDR 4x", "RS(528,514)"), 51'200);   // 5280 / 103.125 Gb/s
  EXPECT_EQ(time("EDR 4x", "RS(271,257)"), 26'279);   // 26278.8
  EXPECT_EQ(time("HDR 4x", "RS(544,514)"), 25'600);   // 5440 / 212.5
  EXPECT_EQ(time("HDR 4x", "RS(271,257)"), 12'753);   // 12752.9
  EXPECT_EQ(time("NDR 4x", "RS(544,514)"), 12'800);
  EXPECT_EQ(time("FDR 4x", "RS(271,257)"), 48'178);   // 2710 / 56.25
}

TEST(LinkRate, a_data_rate_means_the_4x_link_of_that_rate) {
  std::string problem, hint;
  EXPECT_EQ(format_link_rate(*parse_link_rate("100 Gbps", &problem, &hint)), "EDR 4x");
  EXPECT_EQ(format_link_rate(*parse_link_rate("25 Gbps", &problem, &hint)), "EDR 1x");
  EXPECT_EQ(format_link_rate(*parse_link_rate("600 Gbps", &problem, &hint)), "HDR 12x");
  EXPECT_FALSE(parse_link_rate("99 Gbps", &problem, &hint).has_value());
  EXPECT_EQ(problem, "is not the data rate of any InfiniBand link");
}

TEST(LinkRate, refusals_name_the_nearest) {
  std::string problem, hint;
  EXPECT_FALSE(parse_link_rate("ERD 4x", &problem, &hint).has_value());
  EXPECT_EQ(hint, "did you mean \"EDR 4x\"?");
  EXPECT_FALSE(parse_link_rate("EDR 5x", &problem, &hint).has_value());
  EXPECT_EQ(problem + "; " + hint, "has no such width; widths are 1x, 2x, 4x, 8x and 12x");
  EXPECT_FALSE(parse_link_rate("EDR  4x", &problem, &hint).has_value());
  EXPECT_FALSE(parse_link_rate("", &problem, &hint).has_value());
}

TEST(CableDelay, rounds_up_once) {
  EXPECT_EQ(cable_delay(2'000, 4'600), Duration(9'200));
  EXPECT_EQ(cable_delay(1, 1), Duration(1));
  EXPECT_EQ(cable_delay(0, 4'600), Duration(0));
  EXPECT_EQ(cable_delay(100'000'000, 100'000), Duration(10'000'000'000));
}

}  // namespace
}  // namespace verbatim::config
