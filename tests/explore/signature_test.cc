#include "sim/explore/signature.h"

#include <gtest/gtest.h>

namespace verbatim::explore {
namespace {

TEST(Signature, numbers_and_addresses_are_left_out) {
  EXPECT_EQ(without_numbers(""), "");
  EXPECT_EQ(without_numbers("record 11 is complete, but byte 80 is of record 10"),
            "record # is complete, but byte # is of record #");
  EXPECT_EQ(without_numbers("at 100.566364717 ms, 0x7fff01Ab in [0x0, 12)."), "at # ms, # in [#, #).");
  EXPECT_EQ(without_numbers("main.c:35: n > 0"), "main.c:#: n > #");
  EXPECT_EQ(without_numbers("0x is no address"), "#x is no address");
  EXPECT_EQ(without_numbers("mlx5_0"), "mlx#_#");
}

}  // namespace
}  // namespace verbatim::explore
