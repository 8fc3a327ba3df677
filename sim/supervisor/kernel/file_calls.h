// Calls on descriptors (kernel_io.cc, kernel_splice.cc, kernel_files.cc).
#pragma once

#include <string>

#include "sim/supervisor/kernel/transfers.h"

namespace verbatim::supervisor {

CallOutcome sys_read(CallContext& call, CallFailures& failures);
CallOutcome sys_write(CallContext& call, CallFailures& failures, const ProgramOutput& output);
CallOutcome sys_seek(CallContext& call);
CallOutcome sys_close(CallContext& call);
CallOutcome sys_close_range(CallContext& call);
CallOutcome sys_dup(CallContext& call);
CallOutcome sys_splice(CallContext& call);
CallOutcome sys_tee(CallContext& call);
CallOutcome sys_vmsplice(CallContext& call);
CallOutcome sys_fcntl(CallContext& call);
CallOutcome sys_ioctl(CallContext& call);

CallOutcome sys_pipe(CallContext& call);
CallOutcome sys_eventfd(CallContext& call);
CallOutcome sys_timerfd(CallContext& call);
CallOutcome sys_signalfd(CallContext& call);
// fstat and related calls on a virtual descriptor.
CallOutcome sys_stat(CallContext& call);
// Operations on files of a file system.
CallOutcome sys_change(CallContext& call);

// fifo(7): opening one end waits for the other, unless O_NONBLOCK is given.
CallOutcome open_fifo(CallContext& call, const std::string& path, int flags);

}  // namespace verbatim::supervisor
