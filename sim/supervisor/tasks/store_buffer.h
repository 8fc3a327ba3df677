// The processor's store buffer: a store of a thread waits there while the thread loads what comes behind it, and others see it
// later (x86-TSO: Owens, Sarkar, Sewell, TPHOLs 2009; Intel SDM 3A, 8.2.3.4). Which loads that can be is found by interpreting
// the program's code from the store on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/supervisor/code/access_search.h"
#include "sim/supervisor/code/code_files.h"

namespace verbatim::supervisor {

class Process;

// Where the store and the loads are: instructions of one file that touch memory which others may touch.
struct AccessFile {
  const code::FileCode& file;
  std::span<const code::AccessSite> sites;
};

// The addresses behind the loads from such memory that a thread comes to, the nearest first, before anything that empties its
// store buffer, another such store, or code of other files. It is at a store in `file`, with the registers that are saved at
// `context` (a ucontext_t). At most a few, at most some tens of instructions away.
std::vector<std::uint64_t> find_loads_behind_store(Process& process, std::uint64_t context, std::uint64_t fs_base,
                                                   const AccessFile& file);

}  // namespace verbatim::supervisor
