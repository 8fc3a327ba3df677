#include "verbs_shim/verbs/refusal.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/verbs/checks.h"

namespace verbatim::verbs {
namespace {

// Stacks of the current token holder's notes; the supervisor reads them before another thread gets the token.
protocol::NoteStack stacks[protocol::kMaxVerbNotes];

// Stores the stack above the frame of the call that returns to `caller`, as far as it is mapped, for note
// `index`.
void keep_stack(std::uint32_t index, void* caller, void* frame) {
  protocol::NoteStack& to = stacks[index];
  to.address = address_of(caller);
  to.stack = address_of(frame) + 2 * sizeof(std::uint64_t);
  to.frame = *static_cast<const std::uint64_t*>(frame);
  constexpr std::uint64_t kAtOnce = 508;  // bytes
  static_assert(sizeof to.bytes % kAtOnce == 0);
  for (to.length = 0; to.length < sizeof to.bytes; to.length += kAtOnce) {
    if (!shim::copy_program_bytes(to.bytes + to.length, reinterpret_cast<const void*>(to.stack + to.length), kAtOnce)) break;
  }
}

// nullptr: the thread has no room for another note until it gives the token back.
protocol::VerbNote* note(int error, protocol::Check check, std::uint64_t caller, const char* format, std::va_list arguments) {
  protocol::ThreadSlot* slot = verbatim_thread_slot;
  if (slot == nullptr || slot->note_count >= protocol::kMaxVerbNotes) return nullptr;
  const int kept = errno;
  protocol::VerbNote& to = slot->notes[slot->note_count++];
  to.time_ps = shim::now_ps();
  to.error = error;
  to.check = check;
  to.caller = caller;
  to.posted = to.private_at = to.frames[0] = to.stack = 0;
  if (check != protocol::Check::kNone) {
    keep_stack(slot->note_count - 1, __builtin_return_address(0), __builtin_frame_address(0));
    to.stack = reinterpret_cast<std::uint64_t>(&stacks[slot->note_count - 1]);
  }
  std::vsnprintf(to.text, sizeof to.text, format, arguments);
  errno = kept;
  return &to;
}

}  // namespace

int refuse_with(int error, const char* format, ...) {
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

void found_of_request(protocol::Check check, std::uint64_t posted, std::uint64_t private_at,
                      const std::uint64_t (&frames)[protocol::kMostNoteFrames], const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  protocol::VerbNote* const made = note(0, check, frames[0], format, arguments);
  va_end(arguments);
  if (made == nullptr) return;
  made->posted = posted;
  made->private_at = private_at;
  std::memcpy(made->frames, frames, sizeof made->frames);
}

void report_bad_handle(const char* function) {
  refuse_with(EINVAL, "%s: a handle that it was given is of no such object, or of one that has been destroyed", function);
}

}  // namespace verbatim::verbs
