// Random conversations with random losses.
#pragma once

#include <cstdint>

namespace verbatim::faults {

// How adapters recover: at once and by going back; each step after a time that is drawn; so, and by selective repeat.
enum class Recovery { kAtOnce, kLate, kSelective };

// Both fail the running test with the smallest plan found that does not end as it must.

// Losses are few enough that seven retries always suffice: all completions are good.
void expect_right_data_whatever_is_lost(std::uint64_t seed, int plans, Recovery recovery);
// Few retries, any number of losses: what completed is right, then one request fails with its retries
// exceeded, the rest is flushed, and what the peer executed is the first requests, each once.
void expect_right_errors_when_retries_run_out(std::uint64_t seed, int plans, Recovery recovery);

}  // namespace verbatim::faults
