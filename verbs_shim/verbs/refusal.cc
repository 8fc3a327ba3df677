#include "verbs_shim/verbs/refusal.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/verbs/checks.h"

namespace verbatim::verbs {
namespace {

// nullptr: a program that goes on doing what is refused has told enough.
protocol::VerbNote* note(int error, protocol::Check check, std::uint64_t caller, const char* format, std::va_list arguments) {
  protocol::ThreadSlot* slot = verbatim_thread_slot;
  if (slot == nullptr || slot->note_count >= protocol::kMaxVerbNotes) return nullptr;
  const int kept = errno;
  protocol::VerbNote& to = slot->notes[slot->note_count++];
  to.time_ps = shim::now_ps();
  to.error = error;
  to.check = check;
  to.caller = caller;
  to.posted = to.private_at = to.frames[0] = 0;
  std::vsnprintf(to.text, sizeof to.text, format, arguments);
  errno = kept;
  return &to;
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

void found_gone(std::uint64_t private_at, std::uint64_t posted, const std::uint64_t (&frames)[protocol::kMostNoteFrames],
                protocol::Check check, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  protocol::VerbNote* const made = note(0, check, frames[0], format, arguments);
  va_end(arguments);
  if (made == nullptr) return;
  made->posted = posted;
  made->private_at = private_at;
  std::memcpy(made->frames, frames, sizeof made->frames);
}

void tell_bad_handle(const char* function) {
  because(EINVAL, "%s: a handle that it was given is of no such object, or of one that has been destroyed", function);
}

}  // namespace verbatim::verbs
