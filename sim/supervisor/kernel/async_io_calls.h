// Asynchronous input and output: io_setup(2) and related calls.
#pragma once

#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/program_output.h"

namespace verbatim::supervisor {

CallOutcome sys_io_setup(CallContext& call);
CallOutcome sys_io_destroy(CallContext& call);
CallOutcome sys_io_submit(CallContext& call, const ProgramOutput& output);
CallOutcome sys_io_cancel(CallContext& call);
CallOutcome sys_io_getevents(CallContext& call);

// Ends all contexts of the process.
void end_async_contexts(HostKernel& host, Process& process);

}  // namespace verbatim::supervisor
