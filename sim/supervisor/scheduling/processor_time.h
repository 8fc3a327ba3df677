// Processor time that the threads of a Linux process have used: unlike real time, it does not grow while other programs
// use the processor.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace verbatim::supervisor {

// nullopt: no such process.
std::optional<std::chrono::nanoseconds> processor_time(pid_t pid);

}  // namespace verbatim::supervisor
