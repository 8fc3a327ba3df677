// Runs the random program with a row of seeds in both modes.
#pragma once

#include <cstdint>

namespace verbatim::equality {

struct RandomPrograms {
  std::uint64_t first = 1, count = 1;
  bool spec = false;    // with all the freedom of the specification, drawn from the same seed
  bool places = false;  // with rounds that have memory of their own (random_places.c)
};
void expect_equal_for_seeds(const RandomPrograms& programs);

}  // namespace verbatim::equality
