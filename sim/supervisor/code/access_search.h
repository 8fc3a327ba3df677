// Searches a program's code for instructions that access memory which other threads or an adapter may access
// too: a thread may be late before them (verbs_shim/protocol/accesses.h).
//
// Excluded: thread-local and read-only memory, as far as the instruction shows it, and the function's own
// frame, unless the function takes an address that may lead to the accessed part. Calls of the C library's
// memory and string functions are included, without the addresses that they access. Code outside known
// functions is ignored, and so is the rest of a function after bytes that are no instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/supervisor/code/elf_image.h"
#include "verbs_shim/protocol/accesses.h"

namespace verbatim::code {

struct AccessSite {
  std::uint64_t offset = 0;     // in the file
  protocol::AccessPlace place;  // the address is that of the file, before relocation
  bool only_loads = false;
};

// Returned in the order of offsets.
std::vector<AccessSite> search_accesses(const ElfImage& image, std::span<const std::byte> file);

// Length of the instruction at the beginning of `code`, in bytes. 0: it is invalid, empties the processor's
// store buffer (fences, locked instructions), or may do so (system calls and other uncommon instructions).
std::size_t length_if_stores_wait(std::span<const std::byte> code);

}  // namespace verbatim::code
