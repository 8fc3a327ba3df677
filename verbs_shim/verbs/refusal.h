// Explanations of refused calls for the user of the simulator. The supervisor reads them when the thread
// gives its token back; the program does not see them. The adapter explains its own refusals.
#pragma once

#include <cerrno>
#include <cstddef>

namespace verbatim::verbs {

// Notes the explanation and returns `error`. `format` begins with the verb's name.
__attribute__((format(printf, 2, 3), cold)) int refuse_with(int error, const char* format, ...);

// Notes that `function` was called with a handle of another kind, or of a destroyed object.
__attribute__((cold)) void report_bad_handle(const char* function);

// For calls that return a pointer.
inline std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

}  // namespace verbatim::verbs
