// Maps the memory of a run with a few calls in advance. On a virtual machine a page fault may take twenty
// microseconds, and a short run has five hundred.
#pragma once

#include <cstdint>

namespace verbatim::cli {

// Called once, first in main().
void prefault();
// Called first in a forked child, which is about to write to memory shared with its parent.
void prefault_in_child();
// Requests huge pages for this many bytes that are about to be allocated. A large fabric is accessed at
// random, and small pages would need a page table walk for each access. Call before a run without programs,
// because programs are forked.
void use_huge_pages(std::uint64_t bytes);

}  // namespace verbatim::cli
