// Why this library refuses a call, in words for the person who runs the simulation. The simulator reads it when the thread
// gives its token back; the program sees nothing of it. What the adapter refuses, it explains itself.
#pragma once

#include <cerrno>
#include <cstddef>

namespace verbatim::verbs {

// Notes why, and gives back `error`. `format` begins with the name of the verb.
__attribute__((format(printf, 2, 3), cold)) int because(int error, const char* format, ...);

// Notes that `function` was called with a handle that is none of its kind, or none any longer.
__attribute__((cold)) void tell_bad_handle(const char* function);

// For calls that answer with a pointer.
inline std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

}  // namespace verbatim::verbs
