// Through which functions of its program a thread has come to a call, for people. From the thread's stack, as it stands or as it
// was copied, and the call frame information of the files that are mapped; nothing is asked of the program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace verbatim::supervisor {

// A function that is about to go on, as its callee would return to it.
struct StackStart {
  std::uint64_t address = 0;  // of the instruction behind the call
  std::uint64_t stack = 0;    // the stack pointer there
  std::uint64_t frame = 0;    // and rbp
};
// The word there; nullopt: it is not known.
using StackMemory = std::function<std::optional<std::uint64_t>(std::uint64_t address)>;

// The addresses to which functions return, those of `start` first, out to where it is not known any more.
std::vector<std::uint64_t> return_addresses(pid_t native_pid, const StackStart& start, const StackMemory& memory);

// " (in ring_doorbell, from put at kv.c:88, from main at kv.c:140)": the function in which `caller` lies and those of the program
// itself that have called it, at most eight in all; "" when `caller` does not lie in a function on the stack. A part of the
// program without symbols has no names: " (from kv+0x11a6)".
std::string callers_text(pid_t native_pid, std::uint64_t caller, const StackStart& start, const StackMemory& memory);

}  // namespace verbatim::supervisor
