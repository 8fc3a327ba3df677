// Dispatch of system calls, generated from verbs_shim/protocol/system_call_table.h.
#pragma once

#include "sim/supervisor/kernel/kernel_state.h"

namespace verbatim::supervisor {

// Calls the handler of the call's row with the parts of the state that its parameters name. A parameter
// `const std::shared_ptr<Socket>&` is the socket that the call's first argument names; if it names none, the call
// ends with EBADF or ENOTSOCK.
CallOutcome dispatch(CallContext& call, KernelState& state);

// A call of class kRefused: warns with its name.
Answer refuse(CallContext& call);

}  // namespace verbatim::supervisor
