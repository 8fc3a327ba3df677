// The horizon of a thread is the earliest virtual time at which anything outside the thread could affect or
// observe it. Before its horizon the thread may answer its own calls from shared memory, and nobody can
// notice the difference.
//
// Every future effect is a scheduled event or follows from one. The horizon is therefore the minimum over the
// engine's queue of each event's time plus the least latency from the event to the thread's host:
//   event                                least latency
//   a timeout or fault of this adapter   0 (it may remove an object that the thread uses)
//   or of the fabric
//   an effect that a program can see     0: Hca::next_effect()
//   another event of this adapter        PCI Express one way and an access to host memory, because it
//                                        must become a DMA request first; or the adapter's event latency
//                                        if that is shorter
//   a DMA request under way              0, if a program can notice it and the thread cannot execute it
//                                        itself
//   an event of another adapter          wire latency, the receive check, then as an event of this adapter
//   any other event of the fabric        as an event of this adapter
//   resumption of a thread, or start of  the doorbell, the packet processing of that adapter (no WQE
//   a program, on another host           fetch: a WQE may be pushed), then as an event of another adapter.
//                                        No doorbell while the thread is in a command. Two calls more
//                                        before a program of that host has opened a device. The sum is at
//                                        most the latency of the management network, and exactly that
//                                        before a program of this host has opened a device.
//   another thread of this host          0 (it may share memory)
//   the management network               0
// Each doorbell of the thread itself lowers its horizon to RegionHeader::own_effect_ps after the doorbell;
// the shim does this.
//
// The thread executes those reads and writes of its process's memory that DMA requests under way make before
// the horizon, when its clock reaches their time (verbs_shim/protocol/touches.h).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "sim/core/engine.h"
#include "sim/supervisor/machine/touches_ahead.h"
#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::supervisor {

class Horizon {
 public:
  // `network_latency`: of the management network. `first_thread`: the id that add_thread() returns first.
  Horizon(const Engine& engine, const std::vector<HostSpec>& hosts, Duration network_latency, std::uint32_t first_thread);

  // Returns the component id of a new thread.
  ComponentId add_thread(std::size_t host);
  // A program of the host has opened a device: from this call on the host can send, and receive from other
  // hosts.
  void note_use_of_adapter(std::size_t host);
  // `is_command`: the thread's next event is a command, which reaches its adapter at once, without doorbell.
  void note_command(ComponentId thread, bool is_command);

  struct Bounds {
    Instant until{};                    // the horizon
    // By time, all before `until`: DMA accesses that the thread executes for adapters.
    std::vector<PlannedTouch> touches;
  };
  // Bounds of a thread of `host` whose process has `memory`; `until` is at most `limit`. `own` is the time at
  // which the next thread or program of this host resumes or starts, if the caller knows it: most events of
  // the other threads, of which there may be thousands, need no visit then.
  Bounds of(std::size_t host, const host::ProgramMemory& memory, std::optional<Instant> own, Instant limit);
  // Maximum distance from the next event of the fabric or of another host to the horizon of a thread on a
  // host with an adapter.
  Duration furthest_lead() const;
  // RegionHeader::own_effect_ps of a process on `host`.
  Duration own_effect(std::size_t host) const { return latencies_[host].mmio + latencies_[host].to_memory; }

 private:
  // Longest time from now to a horizon: a thread that never waits still returns its token.
  static constexpr Duration kFarthest{100'000'000'000};

  Instant earliest_effect(std::size_t host, std::optional<Instant> own, Instant limit) const;
  // Adds the DMA accesses to `memory` that the thread executes. Lowers `until` to the first access that it cannot
  // execute, or that has no room in the list of the process.
  void plan_touches(std::size_t host, const host::ProgramMemory& memory, Bounds& bounds);

  struct Latencies {
    Duration to_memory;     // least latency from adapter to host memory, or to an event for a program
    Duration mmio;          // least latency from CPU to adapter
    // Least latency from a doorbell or command at the adapter to the first bit of its packet.
    Duration from_adapter;
    Duration before_use;    // added to `from_adapter`; zero once a program of the host has opened a device
    // Least latency from the first bit that another host sends to the end of the receive check here.
    Duration over_wire;
    bool is_used = false;   // a program of the host has opened a device
  };
  struct KnownThread {
    std::size_t host = 0;
    bool is_in_command = false;
  };

  const Engine& engine_;
  const std::vector<HostSpec>& hosts_;
  const Duration network_latency_;
  std::uint32_t first_thread_;
  std::vector<Latencies> latencies_;  // by host
  Duration least_from_program_ = kFarthest;  // least `from_adapter` of all hosts
  std::vector<int> adapter_host_;         // by component: index of the host that has this adapter, or -1
  std::map<std::uint32_t, std::size_t> host_of_;  // by HostSpec::component
  std::vector<KnownThread> threads_;
  std::vector<host::TouchedBytes> touched_;  // scratch space of plan_touches()
};

}  // namespace verbatim::supervisor
