// 24-bit serial numbers.
#include "sim/ib/psn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace verbatim::ib {
namespace {

TEST(Psn, wraps_at_24_bits) {
  EXPECT_EQ((Psn{0xffffff} + 1).value, 0u);
  EXPECT_EQ((Psn{0} - 1).value, 0xffffffu);
  EXPECT_TRUE(is_before(Psn{0xffffff}, Psn{0}));
  EXPECT_FALSE(is_before(Psn{0}, Psn{0}));
  EXPECT_EQ(distance(Psn{0xfffffe}, Psn{3}), 5);
  EXPECT_EQ(distance(Psn{3}, Psn{0xfffffe}), -5);
}

RC_GTEST_PROP(PsnProperty, distance_undoes_addition_within_half_the_range, ()) {
  const Psn psn{*rc::gen::inRange<std::uint32_t>(0, 1 << 24)};
  const auto steps = *rc::gen::inRange<std::uint32_t>(1, 1 << 23);
  RC_ASSERT(distance(psn, psn + steps) == static_cast<std::int32_t>(steps));
  RC_ASSERT(distance(psn, psn - steps) == -static_cast<std::int32_t>(steps));
  RC_ASSERT(is_before(psn, psn + steps));
  RC_ASSERT(!is_before(psn + steps, psn));
  RC_ASSERT((psn + steps) - steps == psn);
}

}  // namespace
}  // namespace verbatim::ib
