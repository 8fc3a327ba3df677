// Searches a program's code for instructions that touch memory which other threads or an adapter may touch, too: a thread may be
// late there (verbs_shim/protocol/accesses.h).
//
// Left out is what is thread-local or read-only, as far as the instruction tells, and what lies on the function's own frame,
// unless the function takes the address of something there that may be part of it. Calls of the C library's functions of memory
// and strings are places, too: nothing is said of what they touch. Code that lies in no known function is left alone, and of a
// function what follows bytes that are no instruction.
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
  protocol::AccessPlace place;  // its address is that of the file
  bool only_loads = false;
};

// Ordered by offset.
std::vector<AccessSite> search_accesses(const ElfImage& image, std::span<const std::byte> file);

// Of an instruction with which `code` begins, bytes. 0: it is none, or it is one that empties the processor's store buffer
// (fences, whatever locks), or may (system calls and others that are not of everyday code).
std::size_t length_if_stores_wait(std::span<const std::byte> code);

}  // namespace verbatim::code
