#include <gtest/gtest.h>

#include <string>

#include "tests/faults/loss_property.h"

namespace verbatim::faults {
namespace {

class LossPropertySweep : public ::testing::TestWithParam<Recovery> {};

TEST_P(LossPropertySweep, data_is_right_and_atomics_happen_once_whatever_is_lost) {
  expect_right_data_whatever_is_lost(2, 10'000, GetParam());
}

TEST_P(LossPropertySweep, requests_fail_in_order_and_happen_at_most_once_when_retries_run_out) {
  expect_right_errors_when_retries_run_out(4, 5'000, GetParam());
}

std::string name_of(const ::testing::TestParamInfo<Recovery>& recovery) {
  constexpr const char* kNames[] = {"at_once", "late", "selective"};
  return kNames[static_cast<int>(recovery.param)];
}
INSTANTIATE_TEST_SUITE_P(recovery, LossPropertySweep,
                         ::testing::Values(Recovery::kAtOnce, Recovery::kLate, Recovery::kSelective), name_of);

}  // namespace
}  // namespace verbatim::faults
