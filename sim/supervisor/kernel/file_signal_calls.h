// fcntl requests about signals on readiness of files.
#pragma once

#include "sim/supervisor/kernel/call_context.h"

namespace verbatim::supervisor {

// F_SETOWN, F_SETSIG and related requests.
Answer control_file_signal(CallContext& call, VirtualFile& file);
// O_ASYNC is set.
bool is_async(const VirtualFile& file);
// Sets O_ASYNC of the file. `descriptor`: si_fd of the signals. False: the file does not support it.
bool set_async(CallContext& call, VirtualFile& file, bool on, int descriptor);

}  // namespace verbatim::supervisor
