#include <gtest/gtest.h>

#include "tests/faults/loss_property.h"

namespace verbatim::faults {
namespace {

TEST(LossPropertySweep, data_is_right_and_atomics_happen_once_whatever_is_lost) {
  expect_right_data_whatever_is_lost(2, 10'000);
}

TEST(LossPropertySweep, requests_fail_in_order_and_happen_at_most_once_when_retries_run_out) {
  expect_right_errors_when_retries_run_out(4, 5'000);
}

}  // namespace
}  // namespace verbatim::faults
