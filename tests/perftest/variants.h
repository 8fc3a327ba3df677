// Variants in which perftest's programs are run.
#pragma once

#include "tests/perftest/perftest_run.h"

namespace verbatim::perftest {

// All that the program takes; without `-D 1`, which is a second of virtual time.
std::vector<Variant> variants_of(const Program& program);
Variant for_a_second();

}  // namespace verbatim::perftest
