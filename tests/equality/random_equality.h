// Runs the random program with a row of seeds in both modes.
#pragma once

#include <cstdint>

namespace verbatim::equality {

void expect_equal_for_seeds(std::uint64_t first, std::uint64_t count);

}  // namespace verbatim::equality
