// What adapters do to the program's memory while the thread runs ahead of them (verbs_shim/protocol/touches.h), and what they
// have written before it got the token (verbs_shim/protocol/placements.h).
#pragma once

#include <cstdint>

namespace verbatim::shim {

// Does what is due until `until_ps`. False: it cannot be done here, and the supervisor has to be asked before time passes.
bool touch_memory(std::int64_t until_ps);

// Puts what came with the token where it belongs. False: some of it cannot be put there by the program.
bool take_placements();

}  // namespace verbatim::shim
