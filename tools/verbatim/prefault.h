// Memory that a run is known to use is mapped with two calls: on a virtual machine each page fault may cost twenty microseconds, and
// a short run has five hundred.
#pragma once

namespace verbatim::cli {

// Called once, before anything else is done.
void prefault();

}  // namespace verbatim::cli
