// Linux asynchronous I/O: the part that runs in the process.
#pragma once

#include <cstdint>

namespace verbatim::shim {

// io_setup, io_destroy.
long async_context_call(long number, const long (&arguments)[6]);
// Action::kTransfers of an io_submit with these arguments.
long carry_out_transfers(const long (&arguments)[6], std::int64_t count, std::int64_t before);

}  // namespace verbatim::shim
