#include "sim/fabric/load_balancing.h"

#include <algorithm>

namespace verbatim::fabric {

bool LoadBalancer::contains(std::span<const PortNumber> ports, PortNumber port) {
  return std::ranges::find(ports, port) != ports.end();
}

void LoadBalancer::forget_old(Instant now) {
  std::erase_if(flowlets_, [&](const auto& entry) { return now >= entry.second.last + params_.gap; });
}

std::uint32_t LoadBalancer::grade_of(std::uint64_t bytes) const {
  if (params_.grade_bytes == 0) return 0;
  const std::uint64_t steps = bytes / static_cast<std::uint64_t>(params_.grade_bytes);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, kGrades - 1));
}

}  // namespace verbatim::fabric
