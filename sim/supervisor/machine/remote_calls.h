// System calls that a process stopped by ptrace makes for its tracer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

// One call and its expected result.
struct RemoteCall {
  std::uint64_t number;
  std::uint64_t arguments[6];
  std::uint64_t expected;
};

// Makes the calls in their order. `at`: executable memory of the process with room for more than a page; its
// content and the registers are restored. Result: for each call, whether it returned the expected value.
// nullopt: ptrace failed.
std::optional<std::vector<bool>> make_calls(pid_t pid, ProcessMemory& memory, std::uint64_t at,
                                            std::span<const RemoteCall> calls);

}  // namespace verbatim::supervisor
