// About how much memory a run needs at the least, so that one that cannot fit is refused before it starts. Only hosts × bytes:
// packets under way and what programs allocate come on top.
#pragma once

#include <cstdint>
#include <string>

#include "sim/config/spec.h"
#include "tools/verbatim/check_levels.h"

namespace verbatim::cli {

struct MemoryEstimate {
  std::uint64_t hosts = 0;
  std::uint64_t model_bytes = 0;    // adapters, switches, queue pairs of flows
  std::uint64_t check_bytes = 0;    // checks that know of each host what it has heard from each other
  std::uint64_t program_bytes = 0;  // processes
  std::uint64_t total() const { return model_bytes + check_bytes + program_bytes; }
};

MemoryEstimate estimate_memory(const config::ScenarioSpec& scenario, const CheckLevels& checks);

// Bytes that this process may still take: what the machine has left, its control group and its address space allow.
std::uint64_t available_memory();

// Why a run with that estimate cannot be started, and what to turn off; empty: it can.
std::string lacking_memory(const MemoryEstimate& estimate, std::uint64_t available);

}  // namespace verbatim::cli
