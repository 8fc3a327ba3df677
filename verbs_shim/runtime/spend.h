// Calls that take virtual time, and the parts of an exchange that they share with other calls (exchange.cc).
#pragma once

#include <cstdint>

#include "verbs_shim/runtime/accesses.h"
#include "verbs_shim/runtime/state.h"
#include "verbs_shim/runtime/touches.h"

namespace verbatim::shim {

// Signals that came with an answer. Copied, because a later request reuses the slot.
struct Raised {
  explicit Raised(protocol::ThreadSlot& slot) : count(slot.raised_count) {
    if (count > protocol::kMaxRaisedSignals) count = protocol::kMaxRaisedSignals;
    slot.raised_count = 0;
    for (std::uint32_t i = 0; i < count; ++i) signals[i] = slot.raised[i];
  }
  // `mask`: the program's signal mask.
  void raise_all(std::uint64_t mask) const {
    for (std::uint32_t i = 0; i < count; ++i) raise_here(signals[i], mask);
  }
  std::uint32_t count;
  protocol::RaisedSignal signals[protocol::kMaxRaisedSignals];
};

// Before the horizon, no other component can notice or affect the thread: it advances its clock itself.
inline bool passes_locally(std::int64_t cost_ps) {
  time_passes();
  protocol::ThreadSlot& slot = *my_slot;
  // The cost may exceed the remaining time: compared by subtraction, which cannot overflow.
  if (cost_ps >= slot.horizon_ps - slot.clock_ps) return false;
  if (slot.clock_ps + cost_ps >= slot.next_touch_ps && !touch_memory(slot.clock_ps + cost_ps)) return false;
  thread_state().end_clock_row();
  slot.clock_ps += cost_ps;
  return true;
}

// Copies the memory lines that the analysis of the caller's loop will read.
void bring_lines();

// State of the thread before it makes the request.
void begin_request(protocol::Request request);
// Stores the request in the thread's slot, gives the token away and takes it back.
void make_request(protocol::ThreadSlot& slot, protocol::Request request, std::uint32_t number, const long (&arguments)[6]);

}  // namespace verbatim::shim
