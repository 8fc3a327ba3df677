// Memory accesses of adapters that the thread performs itself: those that are due while it runs ahead of the
// adapters (verbs_shim/protocol/touches.h), and writes that were completed before it got the token
// (verbs_shim/protocol/placements.h).
#pragma once

#include <cstdint>

namespace verbatim::shim {

// Performs the accesses that are due until `until_ps`. False: the program's memory does not allow one of
// them, and the supervisor has to be asked before time passes.
bool touch_memory(std::int64_t until_ps);

// Stores the placements that came with the token. False: the program's memory does not allow one of them.
bool take_placements();

}  // namespace verbatim::shim
