// Call stack of a thread at a call, for explanations: from the thread's stack or a copy of it, and the call
// frame information of the mapped files. Requests nothing from the program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace verbatim::supervisor {

// State of a function at the return of its callee.
struct StackStart {
  std::uint64_t address = 0;  // of the instruction after the call
  std::uint64_t stack = 0;    // stack pointer there
  std::uint64_t frame = 0;    // rbp there
};
// The word at `address`; nullopt: unknown.
using StackMemory = std::function<std::optional<std::uint64_t>(std::uint64_t address)>;

// Return addresses from `start` outwards, the one of `start` first, as far as they are known.
std::vector<std::uint64_t> return_addresses(pid_t native_pid, const StackStart& start, const StackMemory& memory);

// " (in ring_doorbell, from put at kv.c:88, from main at kv.c:140)": the function that contains `caller` and
// the functions of the program itself above it, at most eight in all. "" if `caller` is in no function on the
// stack. Code without symbols is shown as " (from kv+0x11a6)".
std::string callers_text(pid_t native_pid, std::uint64_t caller, const StackStart& start, const StackMemory& memory);

}  // namespace verbatim::supervisor
