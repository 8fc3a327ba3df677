#include "tests/faults/loss_property.h"

#include <gtest/gtest.h>

namespace verbatim::faults {
namespace {

TEST(LossProperty, data_is_right_and_atomics_happen_once_whatever_is_lost) {
  expect_right_data_whatever_is_lost(1, 1'000);
}

TEST(LossProperty, requests_fail_in_order_and_happen_at_most_once_when_retries_run_out) {
  expect_right_errors_when_retries_run_out(3, 500);
}

}  // namespace
}  // namespace verbatim::faults
