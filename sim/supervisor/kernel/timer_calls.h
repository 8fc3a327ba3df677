// Interval timers and POSIX timers; calls that a signal interrupts.
#pragma once

#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/futex.h"

namespace verbatim::supervisor {

CallOutcome sys_timer(CallContext& call);
CallOutcome sys_posix_timer(CallContext& call);

// The call must still wait, but a signal is pending. Ends its wait; the answer: EINTR, or the call starts
// again.
Answer interrupt(CallContext& call, FutexTable& futexes);
// Ends the wait of the call. False: the remaining time of a sleep cannot be stored (bad address).
bool give_up_waiting(CallContext& call, FutexTable& futexes);

}  // namespace verbatim::supervisor
