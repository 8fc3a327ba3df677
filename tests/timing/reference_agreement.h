// Runs cases through both models; the test and the sweep share it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/timing/reference/fabric_case.h"

namespace verbatim::timing {

// The cases of `count` seeds from `first`: every start and arrival of every packet is the same in both, to the
// picosecond. Prints how much was compared.
void expect_agreement(std::uint64_t first, std::uint64_t count, Buffers buffers = Buffers::kAny);

// The same for DMA: every access to memory, and every transfer's end at the adapter.
void expect_dma_agreement(std::uint64_t first, std::uint64_t count);

}  // namespace verbatim::timing
