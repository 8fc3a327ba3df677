#include "sim/supervisor/horizon.h"

#include <algorithm>

#include "sim/hca/hca.h"

namespace verbatim::supervisor {

Horizon::Horizon(const Engine& engine, const std::vector<HostSpec>& hosts, std::uint32_t first_thread)
    : engine_(engine), first_thread_(first_thread), adapter_host_(first_thread, -1) {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    Latencies least{kFarthest, kFarthest, kFarthest};
    for (const hca::Hca* device : hosts[i].devices) {
      adapter_host_.at(device->component().value) = static_cast<int>(i);
      const host::PcieProfile& pcie = device->profile().pcie;
      least.to_memory = std::min(least.to_memory, pcie.one_way_latency);
      least.mmio = std::min(least.mmio, pcie.one_way_latency);
      // A pushed work request needs no fetch.
      const bool pushes = device->profile().blueflame_bytes > 0;
      const Duration fetch = pushes ? Duration::zero() : 2 * pcie.one_way_latency + pcie.memory_read_latency;
      least.from_doorbell = std::min(least.from_doorbell, pcie.one_way_latency + fetch);
    }
    latencies_.push_back(least);
  }
}

ComponentId Horizon::add_thread(std::size_t host) {
  thread_host_.push_back(host);
  return ComponentId{first_thread_ + static_cast<std::uint32_t>(thread_host_.size() - 1)};
}

Instant Horizon::of(std::size_t host) const {
  const Duration to_memory = latencies_[host].to_memory;
  // An event can only be moved to later, so those behind the earliest found so far need no look.
  Instant horizon = engine_.now() + kFarthest;
  return engine_.for_each_before(horizon, [&](Instant when, EventClass event_class, ComponentId source) {
    if (source.value >= first_thread_) {
      const std::size_t other = thread_host_[source.value - first_thread_];
      if (other != host) when += latencies_[other].from_doorbell + to_memory;
    } else if (event_class != EventClass::kSupervisor && event_class != EventClass::kProgram &&
               adapter_host_[source.value] != static_cast<int>(host)) {
      when += to_memory;
    }
    return horizon = std::min(horizon, when);
  });
}

Duration Horizon::own_effect(std::size_t host) const { return latencies_[host].mmio; }

}  // namespace verbatim::supervisor
