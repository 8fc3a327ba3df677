// futex(2).
#pragma once

#include <cstdint>

#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/futex.h"

namespace verbatim::supervisor {

CallOutcome sys_futex(CallContext& call, FutexTable& futexes);

void wake_futex_word(FutexTable& futexes, Process& process, std::uint64_t address);
// The thread, or a signal, is about to end: releases the robust locks while their memory still exists.
void release_robust_locks(FutexTable& futexes, Thread& thread);
void release_robust_locks(FutexTable& futexes, Process& process);

}  // namespace verbatim::supervisor
