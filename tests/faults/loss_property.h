// Random conversations with random losses.
#pragma once

#include <cstdint>

namespace verbatim::faults {

// Recovery of adapters: go-back-N at once; go-back-N with random delays of each step; with selective repeat in addition.
enum class Recovery { kAtOnce, kLate, kSelective };

// Both functions fail the running test with the smallest plan found whose result is wrong.

// The number of losses is limited, so that seven retries always suffice: all completions are successful.
void expect_right_data_whatever_is_lost(std::uint64_t seed, int plans, Recovery recovery);
// Few retries, any number of losses: completed requests have the right effects, one request fails with
// exceeded retries, the others are flushed, and the peer has executed the first n requests, each once.
void expect_right_errors_when_retries_run_out(std::uint64_t seed, int plans, Recovery recovery);

}  // namespace verbatim::faults
