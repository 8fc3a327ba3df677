// Memory of a file that a process has mapped at several addresses, such as a ring buffer whose end is followed by its
// beginning. The interpreter takes the two for different memory.
#pragma once

#include <span>

#include "sim/supervisor/machine/process_memory.h"
#include "sim/supervisor/spin/memory_view.h"

namespace verbatim::supervisor {

// As ProcessMemory::is_private for sorted ranges, except those in the region shared with the simulator. Asks once for each page.
bool are_private(const ProcessMemory& memory, std::span<const spin::MemoryRange> ranges);

// True if a page with bytes of `changed` is accessed at another address as well: by `reads` or `writes`. Private pages have
// one address; for the others the kernel is asked.
bool are_mapped_twice(ProcessMemory& memory, std::span<const spin::MemoryRange> changed, std::span<const spin::ByteRun> reads,
                      std::span<const spin::ByteRun> writes);

}  // namespace verbatim::supervisor
