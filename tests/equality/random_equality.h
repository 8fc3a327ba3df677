// Runs the random program with several seeds in both modes.
#pragma once

#include <cstdint>

namespace verbatim::equality {

struct RandomPrograms {
  std::uint64_t first = 1, count = 1;
  bool spec = false;    // --freedom spec with the same seed
  bool places = false;  // rounds with memory of their own (random_places.c)
};
void expect_equal_for_seeds(const RandomPrograms& programs);

}  // namespace verbatim::equality
