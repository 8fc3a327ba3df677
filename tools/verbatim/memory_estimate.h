// Lower bound of a run's memory, so that a run that cannot fit is refused before it starts. It does not
// include packets in flight and allocations of programs.
#pragma once

#include <cstdint>
#include <string>

#include "sim/config/spec.h"
#include "tools/verbatim/check_levels.h"

namespace verbatim::cli {

struct MemoryEstimate {
  std::uint64_t hosts = 0;
  std::uint64_t model_bytes = 0;    // adapters, switches, queue pairs of flows
  std::uint64_t check_bytes = 0;    // checks that store for each host what it has heard from each other host
  std::uint64_t program_bytes = 0;  // processes
  std::uint64_t total() const { return model_bytes + check_bytes + program_bytes; }
};

MemoryEstimate estimate_memory(const config::ScenarioSpec& scenario, const CheckLevels& checks);

// Bytes that this process can still allocate, limited by the machine, its control group and its address
// space.
std::uint64_t available_memory();

// Why the run does not fit, and what to turn off; empty if it fits.
std::string lacking_memory(const MemoryEstimate& estimate, std::uint64_t available);

}  // namespace verbatim::cli
