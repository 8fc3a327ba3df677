// The processor and the memory node of a host as /sys tells of them, where hwloc, lscpu and libnuma read. One processor of
// one core in one node: what CPUID, sched_getaffinity and /proc/cpuinfo say.
#pragma once

#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

void add_processor(VirtualTree& tree, std::uint64_t timestamp_counter_hz);

}  // namespace verbatim::supervisor
