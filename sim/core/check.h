// CHECK(condition): an invariant of the simulator itself; on in every build. A failure prints the
// condition, the source line, the virtual time and component of the running event and the seed, and ends
// the process with exit code 70.
#pragma once

#include <cstdint>

namespace verbatim {

// The running event, for the message of a failed CHECK. The engine updates it before each event.
struct CheckContext {
  std::int64_t virtual_time_ps = -1;
  std::uint32_t component = 0;
};
extern constinit thread_local CheckContext check_context;

// Root seed, printed with a failed CHECK for repeating the run.
void set_check_seed(std::uint64_t seed);

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace verbatim

#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] ::verbatim::check_failed(#condition, __FILE__, __LINE__); \
  } while (0)
