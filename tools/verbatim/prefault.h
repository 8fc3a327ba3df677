// Memory that a run is known to use is mapped with a few calls: on a virtual machine each page fault may cost twenty
// microseconds, and a short run has five hundred.
#pragma once

namespace verbatim::cli {

// Called once, before anything else is done.
void prefault();
// In a child of fork, before it goes on: what it shares with its parent it is about to write to.
void prefault_in_child();

}  // namespace verbatim::cli
