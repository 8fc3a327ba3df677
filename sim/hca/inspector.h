// Reads the queues and regions of programs, for messages to people, checks and proofs. It changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/hca/inspection.h"
#include "sim/hca/slot.h"
#include "sim/host/program_memory.h"

namespace verbatim::hca {

struct Adapter;
class Context;

// Contexts are named by their number. A context that its program has left has no queues and no regions.
class Inspector {
 public:
  using Contexts = std::map<std::uint32_t, Ref<Context>>;

  // `contexts`: all of the adapter, by number. Both outlive *this.
  Inspector(const Adapter& adapter, const Contexts& contexts) : adapter_(adapter), contexts_(contexts) {}

  // State of the queues that the program of the context has made.
  Inspection inspect(std::uint32_t context) const;
  // The same of each context of a program, by age.
  std::vector<Inspection> inspect_all() const;
  // State of one completion queue or queue pair, by its handle; empty: there is none.
  Inspection inspect_one(std::uint32_t context, bool is_cq, std::uint32_t handle) const;
  // The number of the program's completion queue with this handle, if the program has taken all its entries;
  // nullopt: it has entries, or the program has no such queue. All queues of a failed adapter are empty.
  std::optional<std::uint32_t> empty_completion_queue(std::uint32_t context, std::uint32_t handle) const;

  // The shortest patience_of() the connected queue pairs of programs; if none has a timeout, that of the
  // longest timeout.
  Duration least_patience() const;
  // Whether the queue pair with this number retries without limit after RNR NAKs (rnr_retry 7); true if there
  // is no such queue pair.
  bool waits_for_ever(std::uint32_t qpn) const;

  // For a thread about to sleep without a limit for an event of `channel`: a completion queue that it armed
  // while the queue held completions, which it has not polled. They need not raise an event.
  SleptOn slept_on(std::uint32_t context, std::uint32_t channel, std::uint32_t thread) const {
    return find_armed(context, channel, thread, false);
  }
  // For a thread that is about to read an event of `channel`: a queue as in slept_on() whose event was raised
  // for those old completions only, which is permitted and not required. Without the event the thread would
  // sleep.
  SleptOn would_sleep_on(std::uint32_t context, std::uint32_t channel, std::uint32_t thread) const {
    return find_armed(context, channel, thread, true);
  }

  // Whether a byte of the range is in a memory region of the context: the adapter may read it at any time.
  bool is_registered(std::uint32_t context, host::ProgramAddress start, std::uint64_t length) const;
  // Posted, incomplete work requests whose scatter lists name the region with this handle.
  RegionUse use_of_region(std::uint32_t context, std::uint32_t handle) const;

 private:
  // The context with this number; null: there is none, or its program has left it.
  const Context* find_context(std::uint32_t number) const;
  SleptOn find_armed(std::uint32_t context, std::uint32_t channel, std::uint32_t thread, bool by_courtesy) const;

  const Adapter& adapter_;
  const Contexts& contexts_;
};

}  // namespace verbatim::hca
