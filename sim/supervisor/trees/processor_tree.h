// The processor and memory node of a host in /sys, for hwloc, lscpu and libnuma: one core in one node,
// consistent with CPUID, sched_getaffinity and /proc/cpuinfo.
#pragma once

#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

void add_processor(VirtualTree& tree, std::uint64_t timestamp_counter_hz);

}  // namespace verbatim::supervisor
