// Memory policies, huge pages (kernel_huge_pages.cc) and memory of other processes
// (kernel_other_memory.cc).
#pragma once

#include "sim/supervisor/kernel/call_context.h"

namespace verbatim::supervisor {

CallOutcome sys_memory_policy(CallContext& call);
CallOutcome sys_huge_pages(CallContext& call);
CallOutcome sys_other_memory(CallContext& call);

// ptrace(2), "Ptrace access mode checking".
bool may_look_into(Thread& thread, Process& other);

}  // namespace verbatim::supervisor
