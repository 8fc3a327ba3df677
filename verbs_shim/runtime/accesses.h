// Lateness before memory accesses (protocol/accesses.h): the instructions at which a thread may be late trap.
//
// An access is identified by its ordinal number, which must be the same however the thread runs. Therefore an
// instruction that has trapped does not trap again until the thread's next counted call (exchange.cc). Each
// iteration of a loop without such a call executes the same instructions, and only the first iteration traps,
// whether or not the following ones are executed at all. The loop analysis meets the traps, and proves
// nothing until all of them have been executed.
//
// The set of instructions that do not trap is per thread; the code is rewritten when the token passes to
// another thread.
#pragma once

#include <cstdint>

namespace verbatim::shim {

extern std::uint32_t access_places;  // number of places; 0: none traps

// Address for the table of places, which the supervisor fills; 0: none is wanted.
long room_for_access_places();
// The supervisor has written `count` places.
void arm_accesses(long count);
// Whether the trap in `context` is an access place. If so, the instruction may be executed on return.
bool take_access(void* context);

// Ends the store-buffer state of the calling thread, if there is one: time passes, or others may run.
void drain_store();

// All places that have trapped in the calling thread trap again.
void rearm_accesses();
// The calling thread has got the token, and others may have run.
void follow_accesses();
// In a copy of the process, whose only thread has another slot than its parent thread.
void begin_accesses_in_copy();

inline void time_passes() {
  if (access_places != 0) [[unlikely]] drain_store();
}

inline void access_row_ends() {
  if (access_places != 0) [[unlikely]] rearm_accesses();
}

}  // namespace verbatim::shim
