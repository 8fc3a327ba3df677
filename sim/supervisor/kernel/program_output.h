// Callbacks of the kernel to the supervisor.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace verbatim::supervisor {

class Process;
class Thread;

// A write to stdout (`stream` 1) or stderr (2).
using ProgramOutput = std::function<void(Process&, int stream, std::span<const std::byte>)>;
// Creates a thread of the process in a free slot, not yet scheduled; nullptr: no slot is free.
using MakeThread = std::function<Thread*(Process&)>;

}  // namespace verbatim::supervisor
