// AETH syndromes and their tables (IBA 9.7.5.2.1).
#include "sim/ib/aeth.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace verbatim::ib {
namespace {

using std::chrono::microseconds;

TEST(Aeth, syndromes_have_their_codes) {
  EXPECT_EQ(ack_syndrome(kUnlimitedCredits), 0x1f);
  EXPECT_EQ(rnr_nak_syndrome(12), 0x2c);
  EXPECT_EQ(nak_syndrome(NakCode::kPsnSequenceError), 0x60);
  EXPECT_EQ(nak_syndrome(NakCode::kInvalidRequest), 0x61);
  EXPECT_EQ(nak_syndrome(NakCode::kRemoteAccessError), 0x62);
  EXPECT_EQ(nak_syndrome(NakCode::kRemoteOperationalError), 0x63);
  EXPECT_EQ(nak_syndrome(NakCode::kInvalidRdRequest), 0x64);
  EXPECT_EQ(nak_code(0x62), NakCode::kRemoteAccessError);
  EXPECT_EQ(nak_code(0x65), std::nullopt);
  EXPECT_EQ(nak_code(0x22), std::nullopt);
  EXPECT_EQ(ack_kind(0x4f), AckKind::kReserved);
}

RC_GTEST_PROP(AethProperty, every_syndrome_is_decoded_into_what_encodes_it, ()) {
  const auto syndrome = *rc::gen::inRange(0, 128);
  const auto byte = static_cast<std::uint8_t>(syndrome);
  switch (ack_kind(byte)) {
    case AckKind::kAck:
      RC_ASSERT(ack_syndrome(ack_value(byte)) == byte);
      break;
    case AckKind::kRnrNak:
      RC_ASSERT(rnr_nak_syndrome(ack_value(byte)) == byte);
      break;
    case AckKind::kNak:
      if (nak_code(byte)) RC_ASSERT(nak_syndrome(*nak_code(byte)) == byte);
      break;
    case AckKind::kReserved:
      break;
  }
}

RC_GTEST_PROP(AethProperty, credits_are_rounded_down_to_the_next_code, ()) {
  const auto receives = *rc::gen::inRange<std::uint32_t>(0, 70'000);
  const std::uint8_t code = credit_code(receives);
  RC_ASSERT(code < kUnlimitedCredits);
  RC_ASSERT(*credits_of(code) <= receives);
  if (code + 1 < kUnlimitedCredits) RC_ASSERT(*credits_of(static_cast<std::uint8_t>(code + 1)) > receives);
}

TEST(Aeth, credit_table_has_31_codes_and_one_for_unlimited) {
  EXPECT_EQ(credits_of(0), 0u);
  EXPECT_EQ(credits_of(5), 6u);
  EXPECT_EQ(credits_of(30), 32768u);
  EXPECT_EQ(credits_of(kUnlimitedCredits), std::nullopt);
  EXPECT_EQ(credit_code(5), 4);
  EXPECT_EQ(credit_code(32767), 29);
  EXPECT_EQ(credit_code(UINT32_MAX), 30);
}

TEST(Aeth, rnr_timer_table) {
  EXPECT_EQ(rnr_timer(0), microseconds(655'360));  // code 0 is the longest
  EXPECT_EQ(rnr_timer(1), microseconds(10));
  EXPECT_EQ(rnr_timer(12), microseconds(640));
  EXPECT_EQ(rnr_timer(25), microseconds(61'440));
  EXPECT_EQ(rnr_timer(31), microseconds(491'520));
  for (std::uint8_t code = 2; code < 32; ++code) {
    EXPECT_GT(rnr_timer(code), rnr_timer(static_cast<std::uint8_t>(code - 1)));
  }
}

}  // namespace
}  // namespace verbatim::ib
