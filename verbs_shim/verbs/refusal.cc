#include "verbs_shim/verbs/refusal.h"

#include <cstdarg>
#include <cstdio>

#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/verbs/checks.h"

namespace verbatim::verbs {
namespace {

void note(int error, protocol::Check check, std::uint64_t caller, const char* format, std::va_list arguments) {
  protocol::ThreadSlot* slot = verbatim_thread_slot;
  // A program that goes on doing what is refused has told enough.
  if (slot == nullptr || slot->note_count >= protocol::kMaxVerbNotes) return;
  const int kept = errno;
  protocol::VerbNote& to = slot->notes[slot->note_count++];
  to.time_ps = shim::now_ps();
  to.error = error;
  to.check = check;
  to.caller = caller;
  std::vsnprintf(to.text, sizeof to.text, format, arguments);
  errno = kept;
}

}  // namespace

int because(int error, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  note(error, protocol::Check::kNone, 0, format, arguments);
  va_end(arguments);
  return error;
}

void found(protocol::Check check, std::uint64_t caller, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  note(0, check, caller, format, arguments);
  va_end(arguments);
}

void tell_bad_handle(const char* function) {
  because(EINVAL, "%s: a handle that it was given is of no such object, or of one that has been destroyed", function);
}

}  // namespace verbatim::verbs
