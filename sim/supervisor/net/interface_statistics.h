// Statistics of an Ethernet interface as `ethtool -S` shows them, by the names and in the order of mlx5
// (drivers/net/ethernet/mellanox/mlx5/core/en_stats.c). Those that mlx5 has besides and nothing here counts are left out.
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
// The port counts priorities. Times of pauses are in microseconds, cut off.
std::vector<InterfaceStatistic> interface_statistics(const ib::PortCounters& counters, Instant now);

}  // namespace verbatim::supervisor
