// Statistics of an Ethernet interface in `ethtool -S`, with the names and order of mlx5
// (drivers/net/ethernet/mellanox/mlx5/core/en_stats.c). Statistics that the simulation does not count are
// left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/ib/port_counters.h"

namespace verbatim::supervisor {

struct InterfaceStatistic {
  std::string name;
  std::uint64_t value = 0;
};
// `counters` must have priority counters. Pause durations are in microseconds, rounded down.
std::vector<InterfaceStatistic> interface_statistics(const ib::PortCounters& counters, Instant now);

}  // namespace verbatim::supervisor
