// System calls that are answered without a trap: the instruction is replaced by a jump (sim/supervisor/code), and the shim does
// in the middle of the program what it would do in the handler of the trap.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::protocol {

// Whether a call may be answered so. Those that are not named trap as ever: what needs the program's registers or changes
// them (clone, fork, execve, rt_sigreturn, sigaltstack), what ends a thread or sends it signals, what waits for signals alone,
// and what the kernel answers by itself, which never traps.
constexpr bool is_answered_in_place(long number) {
  return system_call(static_cast<std::uint64_t>(number)).has(CallTraits::kInPlace);
}

// kFinishCall: the stub makes it when an answer has to be finished in a trap, because the program's signal handlers are to run.

}  // namespace verbatim::protocol
