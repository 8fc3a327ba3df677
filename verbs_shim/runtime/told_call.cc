#include "verbs_shim/runtime/told_call.h"

#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

std::uint32_t telling_thread() { return my_slot->virtual_tid; }

}  // namespace verbatim::shim
