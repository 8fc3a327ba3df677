#include <gtest/gtest.h>

#include "tests/faults/loss_property.h"

namespace verbatim::faults {
namespace {

TEST(LossPropertySweep, data_is_right_and_atomics_happen_once_whatever_is_lost) {
  expect_right_data_whatever_is_lost(2, 20'000);
}

}  // namespace
}  // namespace verbatim::faults
