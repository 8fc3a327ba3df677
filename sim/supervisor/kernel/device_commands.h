// Commands of the verbs library (kernel_device.cc).
#pragma once

#include "sim/supervisor/kernel/call_context.h"

namespace verbatim::supervisor {

// A control-path command (verbs_shim/protocol/commands.h).
CallOutcome execute_command(CallContext& call);
// Virtual time that the command takes.
Duration cost_of_command(Thread& thread);

}  // namespace verbatim::supervisor
