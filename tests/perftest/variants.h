// Variants in which perftest's programs are run.
#pragma once

#include "tests/perftest/perftest_run.h"

namespace verbatim::perftest {

// All variants of the program except `-D 1`, which takes a second of virtual time.
std::vector<Variant> variants_of(const Program& program);
Variant for_a_second();

}  // namespace verbatim::perftest
