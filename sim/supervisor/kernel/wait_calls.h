// poll, select, epoll, sleeps and waits for signals.
#pragma once

#include <cstdint>

#include "sim/supervisor/kernel/call_context.h"

namespace verbatim::supervisor {

CallOutcome sys_poll(CallContext& call);
CallOutcome sys_select(CallContext& call);
CallOutcome sys_epoll_create(CallContext& call);
CallOutcome sys_epoll_ctl(CallContext& call);
CallOutcome sys_epoll_wait(CallContext& call);
CallOutcome sys_sleep(CallContext& call);
CallOutcome sys_pause(CallContext& call);
CallOutcome sys_wait_for_signal(CallContext& call);

// Signal mask of ppoll, pselect and epoll_pwait, which applies while the thread waits. Returns 0 or the errno
// that ends the call: EFAULT, or EINTR if the new mask admits a signal that the kernel of the machine holds
// back.
int deliver_signals_during_wait(CallContext& call, std::uint64_t mask_address, bool waits);
// The call has found nothing, or has slept. Stores the files and memory that decide its result, for the
// runtime to repeat it by itself (answer.repeats). Stores nothing if a repetition may have another result.
void keep_empty_call(CallContext& call, Answer& answer);

}  // namespace verbatim::supervisor
