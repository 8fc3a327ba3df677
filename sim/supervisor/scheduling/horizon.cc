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
    // A program that opens a device makes at least two calls before it sends: it registers a umad agent,
    // creates and binds an rdma_cm identifier, or creates a queue pair and moves it to RTS.
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
      // A pushed work request needs no fetch. An acknowledgement needs no work request.
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

Horizon::Bounds Horizon::of(std::size_t host, const host::ProgramMemory& memory, std::optional<Instant> own, Instant limit) {
  Bounds bounds{earliest_effect(host, own, limit), {}};
  if (latencies_[host].is_used) plan_touches(host, memory, bounds);
  return bounds;
}

Duration Horizon::furthest_lead() const {
  Duration furthest = network_latency_;
  for (const Latencies& of : latencies_) {
    if (of.over_wire != kFarthest) furthest = std::max(furthest, of.over_wire + of.to_memory);
  }
  return furthest;
}

void Horizon::plan_touches(std::size_t host, const host::ProgramMemory& memory, Bounds& bounds) {
  for (const hca::Hca* device : hosts_[host].devices) {
    const auto first = static_cast<std::ptrdiff_t>(bounds.touches.size());
    device->visit_touches_before(bounds.until, touched_, [&](Instant when, host::Touch touch, const auto& bytes) {
      const bool is_own = std::ranges::all_of(bytes, [&memory](const host::TouchedBytes& of) { return of.memory == &memory; });
      if (touch == host::Touch::kUnknown || !is_own) {
        bounds.until = std::min(bounds.until, when);
        return;
      }
      for (const host::TouchedBytes& of : bytes) bounds.touches.push_back({when, of.address, of.length, of.written});
    });
    // At the same time an adapter writes before it reads.
    std::stable_sort(bounds.touches.begin() + first, bounds.touches.end(), [](const PlannedTouch& a, const PlannedTouch& b) {
      return std::pair(a.when, a.written == nullptr) < std::pair(b.when, b.written == nullptr);
    });
    std::inplace_merge(bounds.touches.begin(), bounds.touches.begin() + first, bounds.touches.end(),
                       [](const PlannedTouch& a, const PlannedTouch& b) { return a.when < b.when; });
  }
  if (const std::size_t most = TouchesAhead::most(bounds.touches); most < bounds.touches.size()) {
    bounds.until = std::min(bounds.until, bounds.touches[most].when);
  }
  std::erase_if(bounds.touches, [&bounds](const PlannedTouch& touch) { return touch.when >= bounds.until; });
}

Instant Horizon::earliest_effect(std::size_t host, std::optional<Instant> own, Instant limit) const {
  const Latencies& here = latencies_[host];
  // move() only delays an event. Events after the earliest effect found are therefore not visited.
  Instant until = std::min(engine_.now() + kFarthest, limit);
  const auto note = [&until](Instant effect) { return until = std::min(until, effect); };
  if (own) note(*own);
  for (const hca::Hca* device : hosts_[host].devices) note(device->next_effect());
  const auto move = [&](Instant when, EventClass event_class, ComponentId source) {
    const bool is_thread = source.value >= first_thread_;
    if (is_thread || event_class == EventClass::kProgram) {
      const KnownThread& thread =
          is_thread ? threads_[source.value - first_thread_] : KnownThread{host_of_.at(source.value), false};
      if (thread.host == host) return note(when);
      if (!here.is_used) return note(when + network_latency_);
      const Latencies& there = latencies_[thread.host];
      const Duration to_adapter = thread.is_in_command ? Duration::zero() : there.mmio;
      const Duration way = there.before_use + to_adapter + there.from_adapter + here.over_wire + here.to_memory;
      return note(when + std::min(way, network_latency_));
    }
    if (event_class == EventClass::kSupervisor) return note(when);
    const int adapter_of = adapter_host_[source.value];
    const bool is_other = adapter_of >= 0 && adapter_of != static_cast<int>(host);
    if (is_other) return note(when + here.over_wire + here.to_memory);
    return note(event_class == EventClass::kTimeout ? when : when + here.to_memory);
  };
  engine_.for_each_hardware_event_before(until, move);
  // `least` is the least latency of any program event of another host.
  const Duration by_wire = here.is_used ? least_from_program_ + here.over_wire : kFarthest;
  const Duration least = own ? std::min(by_wire, network_latency_) : Duration::zero();
  engine_.for_each_program_event_before(until - least, [&](Instant when, EventClass event_class, ComponentId source) {
    return move(when, event_class, source) - least;
  });
  return until;
}

}  // namespace verbatim::supervisor
