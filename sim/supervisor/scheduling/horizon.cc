#include "sim/supervisor/scheduling/horizon.h"

#include <algorithm>

#include "sim/hca/hca.h"

namespace verbatim::supervisor {

Horizon::Horizon(const Engine& engine, const std::vector<HostSpec>& hosts, Duration network_latency,
                 std::uint32_t first_thread)
    : engine_(engine), network_latency_(network_latency), first_thread_(first_thread), adapter_host_(first_thread, -1) {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    host_of_[hosts[i].component.value] = i;
    // Whoever opens a way to the adapter makes two calls at least before anything is sent: a umad agent is registered before
    // it sends, an identifier of rdma_cm is made and bound, a queue pair is made and brought to RTS.
    constexpr int kCallsBeforeSending = 2;
    Latencies least{kFarthest, kFarthest, kCallsBeforeSending * Duration(hosts[i].costs.system_call_ps), kFarthest};
    for (const hca::Hca* device : hosts[i].devices) {
      adapter_host_.at(device->component().value) = static_cast<int>(i);
      const host::PcieProfile& pcie = device->profile().pcie;
      least.to_memory = std::min(least.to_memory, pcie.one_way_latency);
      least.before_use = std::min(least.before_use, kCallsBeforeSending * device->profile().command_latency);
      least.mmio = std::min(least.mmio, pcie.one_way_latency);
      // A pushed work request needs no fetch.
      const bool pushes = device->profile().blueflame_bytes > 0;
      const Duration fetch = pushes ? Duration::zero() : 2 * pcie.one_way_latency + pcie.memory_read_latency;
      least.from_doorbell = std::min(least.from_doorbell, pcie.one_way_latency + fetch);
    }
    latencies_.push_back(least);
    least_from_doorbell_ = std::min(least_from_doorbell_, least.from_doorbell);
  }
}

ComponentId Horizon::add_thread(std::size_t host) {
  thread_host_.push_back(host);
  return ComponentId{first_thread_ + static_cast<std::uint32_t>(thread_host_.size() - 1)};
}

void Horizon::note_use_of_adapter(std::size_t host) { latencies_[host].before_use = Duration::zero(); }

Instant Horizon::of(std::size_t host, std::optional<Instant> own) const {
  const Duration to_memory = latencies_[host].to_memory;
  // An event can only be moved to later, so those behind the earliest found so far need no look.
  Instant horizon = engine_.now() + kFarthest;
  if (own) horizon = std::min(horizon, *own);
  const auto move = [&](Instant when, EventClass event_class, ComponentId source) {
    const bool is_thread = source.value >= first_thread_;
    if (is_thread || event_class == EventClass::kProgram) {
      const std::size_t other = is_thread ? thread_host_[source.value - first_thread_] : host_of_.at(source.value);
      const Latencies& there = latencies_[other];
      if (other != host) when += std::min(there.before_use + there.from_doorbell + to_memory, network_latency_);
    } else if (event_class != EventClass::kSupervisor && adapter_host_[source.value] != static_cast<int>(host)) {
      when += to_memory;
    }
    return horizon = std::min(horizon, when);
  };
  engine_.for_each_hardware_event_before(horizon, move);
  // Who is not of this host takes at least so long.
  const Duration least = own ? std::min(least_from_doorbell_ + to_memory, network_latency_) : Duration::zero();
  engine_.for_each_program_event_before(horizon - least, [&](Instant when, EventClass event_class, ComponentId source) {
    return move(when, event_class, source) - least;
  });
  return horizon;
}

Duration Horizon::own_effect(std::size_t host) const { return latencies_[host].mmio; }

}  // namespace verbatim::supervisor
