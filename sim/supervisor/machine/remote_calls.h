// System calls that a process which is stopped under ptrace makes for its tracer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

// One call, and the answer that is hoped for.
struct RemoteCall {
  std::uint64_t number;
  std::uint64_t arguments[6];
  std::uint64_t expected;
};

// The process makes all of them, in their order. `at` is executable memory of its own with room for a page and more; what is
// there, and its registers, are afterwards as before. For each call: was it answered as expected? nullopt: it cannot be worked
// with.
std::optional<std::vector<bool>> make_calls(pid_t pid, ProcessMemory& memory, std::uint64_t at,
                                            std::span<const RemoteCall> calls);

}  // namespace verbatim::supervisor
