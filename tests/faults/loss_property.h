// Random conversations with random losses, few enough that seven retries always suffice.
#pragma once

#include <cstdint>

namespace verbatim::faults {

// Fails the running test with the smallest plan found that does not end as it must.
void expect_right_data_whatever_is_lost(std::uint64_t seed, int plans);

}  // namespace verbatim::faults
