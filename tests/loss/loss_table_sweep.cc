#include <gtest/gtest.h>

#include "tests/loss/loss_table.h"

namespace verbatim::loss {
namespace {

TEST(LossTableSweep, every_packet_of_a_pingpong) { expect_golden_outcomes(pingpong_sweep(1)); }

}  // namespace
}  // namespace verbatim::loss
