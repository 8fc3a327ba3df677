// Runs cases with both models; shared by test and sweep.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/timing/reference/fabric_case.h"

namespace verbatim::timing {

// Cases of `count` seeds from `first` on: every start and arrival of every packet is the same in both models,
// to the picosecond. Prints the number of comparisons.
void expect_agreement(std::uint64_t first, std::uint64_t count, Buffers buffers = Buffers::kAny);

// The same for DMA: every memory access, and every transfer's end at the adapter.
void expect_dma_agreement(std::uint64_t first, std::uint64_t count);

}  // namespace verbatim::timing
