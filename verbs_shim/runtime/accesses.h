// A thread may be late before an access to memory (protocol/accesses.h): the instructions trap.
//
// Which access that is must be known by its number however the thread runs. So an instruction that has trapped does so no more
// until the thread's next call of those that count (exchange.cc): each turn of a loop without such a call executes the same
// instructions, of which the first has trapped, whether or not the turns that follow are executed at all. An analysis of the
// loop meets the trap, and proves nothing before all of them have been executed.
//
// Each thread has its own instructions that do not trap, and the code follows whoever has the token.
#pragma once

#include <cstdint>

namespace verbatim::shim {

extern std::uint32_t access_places;  // 0: none traps

// Where the supervisor is to write them; 0: nowhere.
long room_for_access_places();
// It has written so many.
void arm_accesses(long count);
// The trap in `context` is such an access: the instruction may be executed now.
bool take_access(void* context);

// A store of the calling thread that waits in the processor's store buffer leaves it: time passes, or others may run.
void drain_store();

// All that have trapped in the calling thread trap again.
void rearm_accesses();
// The calling thread has the token, and others may have run.
void follow_accesses();
// In a copy of the process, whose only thread has another slot than the one that made it.
void begin_accesses_in_copy();

inline void time_passes() {
  if (access_places != 0) [[unlikely]] drain_store();
}

inline void access_row_ends() {
  if (access_places != 0) [[unlikely]] rearm_accesses();
}

}  // namespace verbatim::shim
