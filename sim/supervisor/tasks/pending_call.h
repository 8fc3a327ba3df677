// The system call or command that a thread waits for.
#pragma once

#include <cstdint>

namespace verbatim::supervisor {

// A request as copied from shared memory when the thread returned the token, for system calls and commands.
// Shared memory is not read again. Other requests are decoded (request.h).
struct PendingCall {
  std::uint32_t number = 0;
  std::int64_t arguments[6] = {};
  std::uint64_t transferred = 0;  // bytes moved by earlier tries: a blocking write or recv of everything
};

}  // namespace verbatim::supervisor
