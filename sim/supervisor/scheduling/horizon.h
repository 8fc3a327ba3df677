// How far a thread may run on its own. The horizon is the earliest virtual time at which anything outside
// could affect or observe the thread; before it the thread may answer its own calls from shared memory, and
// nobody can tell.
//
// Everything that can happen is a scheduled event or follows from one, so the horizon is a minimum over the
// engine's queue, each event moved by the least time its consequences need to reach the thread's host:
//   an event of the host's own adapter      at once (it may read or write the host's memory)
//   any other event of the fabric           one-way latency of PCI Express: it has to become a DMA request first
//   a thread of another host, or its start  a doorbell, a WQE fetch there unless WQEs are pushed, then as above; before any
//                                           program there has opened a way to the adapter two calls more; at most the
//                                           latency of the management network
//   another thread of this host             at once (they may share memory)
//   the management network, a timeout       at once
// The thread's own posts pull its horizon nearer by RegionHeader::own_effect_ps; the shim does that itself.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "sim/core/engine.h"
#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::supervisor {

class Horizon {
 public:
  // Threads get source ids from `first_thread` on, in the order in which they are made.
  Horizon(const Engine& engine, const std::vector<HostSpec>& hosts, Duration network_latency, std::uint32_t first_thread);

  ComponentId add_thread(std::size_t host);
  // From now on a program of the host may make its adapter send.
  void note_use_of_adapter(std::size_t host);

  // Events at the returned time or later may concern a thread of `host` that runs from now on. `own` is when the next
  // thread or program of the host itself goes on or starts, where the caller knows: thousands of others are then passed over.
  Instant of(std::size_t host, std::optional<Instant> own) const;
  // RegionHeader::own_effect_ps of a process on `host`.
  Duration own_effect(std::size_t host) const;

 private:
  // No horizon is farther away, so that a thread which never waits for anything still gives its token back.
  static constexpr Duration kFarthest{100'000'000'000};

  struct Latencies {
    Duration to_memory;      // adapter to host memory, at least
    Duration from_doorbell;  // CPU to the first packet that follows from a doorbell, at least
    Duration before_use;     // before a way to the adapter is open, and that much more
    Duration mmio;           // CPU to adapter, at least
  };

  const Engine& engine_;
  const Duration network_latency_;
  std::uint32_t first_thread_;
  std::vector<Latencies> latencies_;      // by host
  Duration least_from_doorbell_ = kFarthest;
  std::vector<int> adapter_host_;         // by component: the host whose adapter it is, or -1
  std::map<std::uint32_t, std::size_t> host_of_;  // by a host's own component, which starts its programs
  std::vector<std::size_t> thread_host_;  // by thread
};

}  // namespace verbatim::supervisor
