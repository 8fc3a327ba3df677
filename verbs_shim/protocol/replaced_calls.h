// System calls that are answered without a trap: the instruction is replaced by a jump to a stub
// (sim/supervisor/code), and the shim answers on the program's path of execution as it would in the trap
// handler.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::protocol {

// True if the call may be answered without a trap. Other calls trap: calls that read or change the program's
// registers (clone, fork, execve, rt_sigreturn, sigaltstack), end a thread, send it signals, or only wait for
// signals. Calls that the kernel executes are not trapped at all.
constexpr bool is_answered_in_place(long number) {
  return system_call(static_cast<std::uint64_t>(number)).has(CallTraits::kInPlace);
}

// kFinishCall: made by the stub if the answer must be completed in a trap, because signal handlers are to
// run.

}  // namespace verbatim::protocol
