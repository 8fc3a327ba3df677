// How far a thread may run on its own. The horizon is the earliest virtual time at which anything outside
// could affect or observe the thread; before it the thread may answer its own calls from shared memory, and
// nobody can tell.
//
// Everything that can happen is a scheduled event or follows from one, so the horizon is a minimum over the
// engine's queue, each event moved by the least time its consequences need to reach the thread's host:
//   a fault                                 at once (it takes something away)
//   an event that a program is told of      at once: Hca::next_effect()
//   an event of the own adapter             the one-way latency of PCI Express and an access to host memory: it has to become
//                                           a DMA request first; or the latency of an event
//   a DMA request under way                 when it touches memory, if a program can tell and the thread cannot do it itself
//   another adapter's event                 the way over the wire, the check of what comes in, then as above
//   any other event of the fabric           as the own adapter's
//   a thread of another host, or its start  a doorbell, a WQE fetch there unless WQEs are pushed, the way of an answer through
//                                           that adapter, then as another adapter's event; without the doorbell while it is in
//                                           a command; before any program there has opened a way to the adapter two calls more;
//                                           at most the latency of the management network, and no less before a program here
//                                           has opened one
//   another thread of this host             at once (they may share memory)
//   the management network                  at once
// The thread's own doorbells pull its horizon nearer: to RegionHeader::own_effect_ps after each, which the shim does itself.
//
// What DMA requests under way read or write of the process's own memory the thread does in the adapter's place when its clock
// comes there (verbs_shim/protocol/touches.h).
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
  // Threads get source ids from `first_thread` on, in the order in which they are made.
  Horizon(const Engine& engine, const std::vector<HostSpec>& hosts, Duration network_latency, std::uint32_t first_thread);

  ComponentId add_thread(std::size_t host);
  // From now on a program of the host may make its adapter send, and hear of what comes to it.
  void note_use_of_adapter(std::size_t host);
  // What the thread's next event is about: a command reaches its adapter at once, anything else by a doorbell.
  void note_command(ComponentId thread, bool is_command);

  struct Bounds {
    Instant until{};                    // what happens then or later may concern a thread that runs from now on
    std::vector<PlannedTouch> touches;  // before that, in order: what it has to do in the place of adapters
  };
  // Of a thread of `host` whose process has that memory; not later than `limit`. `own` is when the next thread or program of the
  // host itself goes on or starts, where the caller knows: thousands of others are then passed over.
  Bounds of(std::size_t host, const host::ProgramMemory& memory, std::optional<Instant> own, Instant limit);
  // No thread runs longer by itself behind an event of another host's adapter, or of the fabric.
  Duration furthest_lead() const;
  // RegionHeader::own_effect_ps of a process on `host`.
  Duration own_effect(std::size_t host) const { return latencies_[host].mmio + latencies_[host].to_memory; }

 private:
  // No horizon is farther away, so that a thread which never waits for anything still gives its token back.
  static constexpr Duration kFarthest{100'000'000'000};

  Instant earliest_effect(std::size_t host, std::optional<Instant> own, Instant limit) const;
  void plan_touches(std::size_t host, const host::ProgramMemory& memory, Bounds& bounds);

  struct Latencies {
    Duration to_memory;     // adapter to host memory or to an event that a program is told of, at least
    Duration mmio;          // CPU to adapter, at least
    Duration from_adapter;  // a doorbell or command there to the first bit of what follows, at least
    Duration before_use;    // before a way to the adapter is open, and that much more
    Duration over_wire;     // another host's first bit to this adapter's having checked it, at least
    bool is_used = false;   // a way to the adapter has been opened
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
  Duration least_from_program_ = kFarthest;
  std::vector<int> adapter_host_;         // by component: the host whose adapter it is, or -1
  std::map<std::uint32_t, std::size_t> host_of_;  // by a host's own component, which starts its programs
  std::vector<KnownThread> threads_;
  std::vector<host::TouchedBytes> touched_;  // while they are looked at
};

}  // namespace verbatim::supervisor
