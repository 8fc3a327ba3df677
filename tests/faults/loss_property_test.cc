#include "tests/faults/loss_property.h"

#include <gtest/gtest.h>

namespace verbatim::faults {
namespace {

TEST(LossProperty, data_is_right_and_atomics_happen_once_whatever_is_lost) {
  expect_right_data_whatever_is_lost(1, 1'000);
}

}  // namespace
}  // namespace verbatim::faults
