#include "sim/supervisor/scheduling/horizon.h"

#include <algorithm>

#include "sim/hca/hca.h"

namespace verbatim::supervisor {

namespace {

Duration cycles(const hca::HcaProfile& profile, std::uint32_t count) {
  return ClockDomain(profile.core_clock_hz).edge(count) - Instant{};
}

}  // namespace

Horizon::Horizon(const Engine& engine, const std::vector<HostSpec>& hosts, Duration network_latency,
                 std::uint32_t first_thread)
    : engine_(engine),
      hosts_(hosts),
      network_latency_(network_latency),
      first_thread_(first_thread),
      adapter_host_(first_thread, -1) {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    host_of_[hosts[i].component.value] = i;
    // Whoever opens a way to the adapter makes two calls at least before anything is sent: a umad agent is registered before
    // it sends, an identifier of rdma_cm is made and bound, a queue pair is made and brought to RTS.
    constexpr int kCallsBeforeSending = 2;
    Latencies least{kFarthest, kFarthest, kFarthest, kCallsBeforeSending * Duration(hosts[i].costs.system_call_ps), kFarthest};
    for (const hca::Hca* device : hosts[i].devices) {
      adapter_host_.at(device->component().value) = static_cast<int>(i);
      const hca::HcaProfile& profile = device->profile();
      const host::PcieProfile& pcie = profile.pcie;
      const Duration access = std::min(pcie.memory_read_latency, pcie.memory_write_latency);
      least.to_memory = std::min({least.to_memory, pcie.one_way_latency + access, profile.event_latency});
      least.before_use = std::min(least.before_use, kCallsBeforeSending * profile.command_latency);
      least.mmio = std::min(least.mmio, pcie.one_way_latency);
      // A pushed work request needs no fetch, and what answers a packet, none at all.
      const std::uint32_t packet = std::min(profile.packetize.latency_cycles, profile.acknowledge.latency_cycles);
      least.from_adapter = std::min(least.from_adapter, cycles(profile, packet));
      least.over_wire = std::min(least.over_wire, hosts[i].from_wire + cycles(profile, profile.receive_check.latency_cycles));
    }
    latencies_.push_back(least);
    least_from_program_ = std::min(least_from_program_, least.from_adapter);
  }
}

ComponentId Horizon::add_thread(std::size_t host) {
  threads_.push_back({host});
  return ComponentId{first_thread_ + static_cast<std::uint32_t>(threads_.size() - 1)};
}

void Horizon::note_use_of_adapter(std::size_t host) {
  latencies_[host].before_use = Duration::zero();
  latencies_[host].is_used = true;
}

void Horizon::note_command(ComponentId thread, bool is_command) {
  threads_[thread.value - first_thread_].is_in_command = is_command;
}

Horizon::Bounds Horizon::of(std::size_t host, std::optional<Instant> own) const {
  const Latencies& here = latencies_[host];
  // An event can only be moved to later, so those behind the earliest found so far need no look. What is due for records is not
  // later than for all else.
  Bounds bounds{engine_.now() + kFarthest, engine_.now() + kFarthest};
  const auto note = [&bounds](Instant all, Instant records) {
    bounds.all = std::min(bounds.all, all);
    bounds.records = std::min({bounds.records, records, all});
    return bounds.all;
  };
  if (own) note(*own, *own);
  for (const hca::Hca* device : hosts_[host].devices) {
    const Instant effect = device->next_effect();
    note(effect, effect);
  }
  const auto move = [&](Instant when, EventClass event_class, ComponentId source) {
    const bool is_thread = source.value >= first_thread_;
    if (is_thread || event_class == EventClass::kProgram) {
      const KnownThread& thread =
          is_thread ? threads_[source.value - first_thread_] : KnownThread{host_of_.at(source.value), false};
      if (thread.host == host) return note(when, when);
      if (!here.is_used) return note(when + network_latency_, when + network_latency_);
      const Latencies& there = latencies_[thread.host];
      const Duration to_adapter = thread.is_in_command ? Duration::zero() : there.mmio;
      const Duration way = there.before_use + to_adapter + there.from_adapter + here.over_wire;
      return note(when + std::min(way + here.to_memory, network_latency_), when + std::min(way, network_latency_));
    }
    const int adapter_of = adapter_host_[source.value];
    if (event_class == EventClass::kSupervisor) return note(when, when);
    if (adapter_of == static_cast<int>(host)) {
      const bool is_late = event_class != EventClass::kDma && event_class != EventClass::kTimeout;
      return note(is_late ? when + here.to_memory : when, when);
    }
    if (adapter_of >= 0) return note(when + here.over_wire + here.to_memory, when + here.over_wire);
    return note(event_class == EventClass::kTimeout ? when : when + here.to_memory, when);
  };
  engine_.for_each_hardware_event_before(bounds.all, move);
  // Who is not of this host takes at least so long.
  const Duration by_wire = here.is_used ? least_from_program_ + here.over_wire : kFarthest;
  const Duration least = own ? std::min(by_wire, network_latency_) : Duration::zero();
  engine_.for_each_program_event_before(bounds.all - least, [&](Instant when, EventClass event_class, ComponentId source) {
    return move(when, event_class, source) - least;
  });
  return bounds;
}

}  // namespace verbatim::supervisor
