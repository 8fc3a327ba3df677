#include "verbs_shim/runtime/reported_call.h"

#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

std::uint32_t reporting_thread() { return my_slot->virtual_tid; }

}  // namespace verbatim::shim
