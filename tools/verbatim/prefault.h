// Memory that a run is known to use is mapped with a few calls: on a virtual machine each page fault may cost twenty
// microseconds, and a short run has five hundred.
#pragma once

#include <cstdint>

namespace verbatim::cli {

// Called once, before anything else is done.
void prefault();
// In a child of fork, before it goes on: what it shares with its parent it is about to write to.
void prefault_in_child();
// So many bytes that are about to be allocated get huge pages where the machine has them. A large fabric is used all over, and
// with small pages each use is a walk through tables of pages besides. Before a run without programs, which are forked.
void use_huge_pages(std::uint64_t bytes);

}  // namespace verbatim::cli
