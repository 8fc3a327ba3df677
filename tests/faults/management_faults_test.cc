#include "sim/faults/management_faults.h"

#include <gtest/gtest.h>

namespace verbatim::faults {
namespace {

constexpr Instant kStart{};

TEST(ManagementFaults, counts_what_a_rule_is_about_and_hits_the_chosen) {
  ManagementFaults faults;
  faults.add({.selection = {.first = 2, .every = 2, .count = 2}, .tcp = false, .from = 0});
  std::string lost;
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(faults.on_transmission(true, 0, 1, kStart).is_lost) << "TCP";
    EXPECT_FALSE(faults.on_transmission(false, 1, 0, kStart).is_lost) << "of another host";
    lost += faults.on_transmission(false, 0, 1, kStart).is_lost ? 'x' : '.';
  }
  EXPECT_EQ(lost, ".x.x....");
  EXPECT_EQ(faults.seen(0), 8u);
  EXPECT_EQ(faults.fired(0), 2u);
}

TEST(ManagementFaults, delays_add_up_and_what_leaves_earlier_does_not_count) {
  ManagementFaults faults;
  const Instant later = kStart + Duration(10);
  faults.add({.selection = {.count = 0}, .after = later, .delay = Duration(3)});
  faults.add({.selection = {.count = 0}, .delay = Duration(4), .to = 2});
  EXPECT_EQ(faults.on_transmission(true, 0, 2, kStart).delay, Duration(4));
  EXPECT_EQ(faults.on_transmission(true, 0, 2, later).delay, Duration(7));
  EXPECT_EQ(faults.on_transmission(true, 0, 1, later).delay, Duration(3));
  EXPECT_FALSE(faults.on_transmission(true, 0, 2, later).is_lost);
}

}  // namespace
}  // namespace verbatim::faults
