// Processes and threads: creation and end, families and signals (kernel_family.cc),
// limits and scheduling (kernel_attributes.cc), credentials (kernel_credentials.cc).
#pragma once

#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/futex.h"
#include "sim/supervisor/kernel/program_output.h"

namespace verbatim::supervisor {

CallOutcome sys_clone(CallContext& call, const MakeThread& make_thread);
CallOutcome sys_exit(CallContext& call, FutexTable& futexes);
CallOutcome sys_set_tid_address(CallContext& call);
CallOutcome sys_uname(CallContext& call);
CallOutcome sys_sysinfo(CallContext& call);
CallOutcome sys_getrandom(CallContext& call);
CallOutcome sys_affinity(CallContext& call);
CallOutcome sys_set_affinity(CallContext& call);

CallOutcome copy_process(CallContext& call);
// A new pidfd of a live process.
std::shared_ptr<ProcessFile> open_process(Process& process);
CallOutcome sys_wait4(CallContext& call);
CallOutcome sys_waitid(CallContext& call);
CallOutcome sys_kill(CallContext& call);
CallOutcome sys_queue_signal(CallContext& call);
CallOutcome sys_open_process(CallContext& call);
CallOutcome sys_signal_process_file(CallContext& call);
CallOutcome sys_identity(CallContext& call);
CallOutcome sys_start_remote(CallContext& call);

CallOutcome sys_limit(CallContext& call);
CallOutcome sys_priority(CallContext& call);
CallOutcome sys_scheduler(CallContext& call);
CallOutcome sys_get_robust_list(CallContext& call);
// Whether the caller may change scheduling attributes and processors of the thread.
bool may_set_attributes(const CallContext& call, const Thread& other);

CallOutcome sys_control(CallContext& call);
CallOutcome sys_user(CallContext& call);
CallOutcome sys_groups(CallContext& call);
CallOutcome sys_capabilities(CallContext& call);

// A thread has ended: clears its id word and wakes a waiter, as Linux does (CLONE_CHILD_CLEARTID).
void end_thread(FutexTable& futexes, Thread& thread);

}  // namespace verbatim::supervisor
