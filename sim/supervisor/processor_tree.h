// The processor and the memory node of a host as /sys tells of them, where hwloc, lscpu and libnuma read. One processor of
// one core in one node: what sched_getaffinity and /proc/cpuinfo say.
#pragma once

#include "sim/supervisor/supervisor.h"
#include "sim/supervisor/virtual_tree.h"

namespace verbatim::supervisor {

// One cache of the virtual processor, with lines of 64 bytes.
struct ProcessorCache {
  unsigned level;
  const char* type;  // as Linux names it
  unsigned size_kib;
  unsigned ways;
};
inline constexpr unsigned kCacheLine = 64;
// Those of family 6, model 106; the last is the "cache size" of /proc/cpuinfo.
inline constexpr ProcessorCache kProcessorCaches[] = {
    {1, "Data", 48, 12}, {1, "Instruction", 32, 8}, {2, "Unified", 1280, 20}, {3, "Unified", 32768, 16}};

void add_processor(VirtualTree& tree, const HostSpec& host);

}  // namespace verbatim::supervisor
