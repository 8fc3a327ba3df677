// CHECK(condition): a broken invariant of the simulator itself. On in every build; prints the condition, the
// place, the virtual time and the component of the event being executed, and ends the process with exit code 70.
#pragma once

#include <cstdint>

namespace verbatim {

// What the running event was when a CHECK failed. The engine keeps it up to date while it executes events.
struct CheckContext {
  std::int64_t virtual_time_ps = -1;
  std::uint32_t component = 0;
};
extern constinit thread_local CheckContext check_context;

// Root seed printed with a failed CHECK, so that the run can be repeated.
void set_check_seed(std::uint64_t seed);

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace verbatim

#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] ::verbatim::check_failed(#condition, __FILE__, __LINE__); \
  } while (0)
