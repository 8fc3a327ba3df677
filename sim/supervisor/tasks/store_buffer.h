// The processor's store buffer: a thread may execute loads that follow a store before the store is visible to
// others (x86-TSO: Owens, Sarkar, Sewell, TPHOLs 2009; Intel SDM 3A, 8.2.3.4). These loads are found by
// interpreting the code from the store on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/supervisor/code/access_search.h"
#include "sim/supervisor/code/code_files.h"

namespace verbatim::supervisor {

class Process;

// A file, and its instructions that access memory which other threads may access.
struct AccessFile {
  const code::FileCode& file;
  std::span<const code::AccessSite> sites;
};

// Addresses of the instructions after such loads, in the order of execution, that follow the store at which
// the thread is. `context` is the address of its ucontext_t. The search ends at an instruction that empties
// the store buffer, at another store to such memory, at code of another file, and after kMostLoads loads or
// kMostInstructions instructions.
std::vector<std::uint64_t> find_loads_behind_store(Process& process, std::uint64_t context, std::uint64_t fs_base,
                                                   const AccessFile& file);

}  // namespace verbatim::supervisor
