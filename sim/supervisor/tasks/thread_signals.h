// Pending signals of one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/supervisor/tasks/signal_queue.h"

namespace verbatim::supervisor {

struct ThreadSignals {
  SignalQueue deliverable;  // for the thread's next token
  SignalQueue masked;       // Linux keeps them until they are unmasked
  // Masked signals that nevertheless interrupt the current call, until it is answered: bit n - 1 for signal n.
  std::uint64_t awaited = 0;
  // Mask of the current call (sigsuspend, ppoll, …), which replaces the thread's mask until the call is answered.
  std::optional<std::uint64_t> mask_of_call;

  bool awaits(int signal) const { return (awaited >> (signal - 1) & 1) != 0; }
  void await(std::uint64_t set) {
    awaited = set;
    while (const auto signal = masked.take(set)) deliverable.push(*signal);
  }
  void await_with_mask(std::uint64_t mask) {
    await(~mask);
    mask_of_call = mask;
  }
  void finish_call() {
    awaited = 0;
    mask_of_call.reset();
  }
  bool has_deliverable() const { return !deliverable.empty(); }
  int next() const { return deliverable.front().signal; }
};

}  // namespace verbatim::supervisor
