// Runs the random program with a row of seeds in both modes.
#pragma once

#include <cstdint>

namespace verbatim::equality {

// `spec`: with all the freedom of the specification, drawn from the same seed.
void expect_equal_for_seeds(std::uint64_t first, std::uint64_t count, bool spec = false);

}  // namespace verbatim::equality
