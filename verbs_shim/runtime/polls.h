// ibv_start_poll spends its time as ibv_poll_cq does, see spend_on_poll().
#pragma once

#include <cstdint>

#include "verbs_shim/runtime/runtime.h"

namespace verbatim::shim {

// The caller has stored its own caller's registers, in the frame of POLL_ENTRY.
VERBATIM_EXPORT void spend_on_start_poll(std::int64_t cost_ps, std::uint32_t context, std::uint32_t cq_number,
                                         std::uint64_t arena_offset, std::uint32_t sequence);

}  // namespace verbatim::shim
