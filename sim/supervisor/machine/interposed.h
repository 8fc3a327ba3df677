// Functions of the C library that the runtime replaces (verbs_shim/runtime/heap_watch.cc).
#pragma once

#include <string>
#include <vector>

#include "sim/supervisor/spin/code_memory.h"

namespace verbatim::supervisor {

// Their addresses, the same in every process: the runtime is linked to a fixed address. `runtime`: its path,
// read once. Empty if it cannot be read.
const std::vector<spin::MemoryRange>& interposed_functions(const std::string& runtime);

}  // namespace verbatim::supervisor
