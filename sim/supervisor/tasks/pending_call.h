// The system call or command that a thread has requested.
#pragma once

#include <cstdint>

namespace verbatim::supervisor {

// As copied from shared memory when the thread returned the token. Shared memory is not read again.
struct PendingCall {
  std::uint32_t number = 0;
  std::int64_t arguments[6] = {};
};

}  // namespace verbatim::supervisor
