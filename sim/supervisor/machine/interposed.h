// Functions of the C library in whose place the runtime has its own (verbs_shim/runtime/heap_watch.cc).
#pragma once

#include <string>
#include <vector>

#include "sim/supervisor/spin/code_memory.h"

namespace verbatim::supervisor {

// Where they lie in every process: the runtime is linked to its address, and read once. Empty when `runtime` cannot be read.
const std::vector<spin::MemoryRange>& interposed_functions(const std::string& runtime);

}  // namespace verbatim::supervisor
