#include "sim/supervisor/verb_notes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

std::uint64_t VerbNotes::caller_of(Process& process, const protocol::VerbNote& note) {
  std::uint64_t in_header = 0;
  for (const std::uint64_t frame : note.frames) {
    if (frame == 0) break;
    if (!is_return_into_program(process.memory(), frame)) continue;
    if (in_header != 0) return frame;
    const auto [known, is_new] = are_in_header_.try_emplace({process.native_pid(), frame});
    if (is_new) known->second = is_in_header_of_verbs(place_of_call(process.native_pid(), frame));
    if (!known->second) return frame;
    in_header = frame;
  }
  return in_header != 0 ? in_header : note.caller;
}

void VerbNotes::report(Thread& thread, protocol::ThreadSlot& slot, Instant begin, Instant end) {
  Process& process = thread.process();
  const std::uint32_t count = std::min(slot.note_count, protocol::kMaxVerbNotes);
  slot.note_count = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const protocol::VerbNote note = slot.notes[i];
    std::string text(note.text, strnlen(note.text, sizeof note.text));
    // The program may have overwritten the text.
    std::erase_if(text, [](char c) { return c < ' ' || c > '~'; });
    const Instant when = std::clamp(instant_from_ps(note.time_ps), std::min(begin, end), end);
    const char* error = strerrorname_np(note.error);
    const std::size_t verb_end = text.find(": ");
    const bool is_finding = note.check != protocol::Check::kNone;
    if (verb_end != text.npos && error != nullptr && !is_finding)
      text.insert(verb_end, std::string(": ") + error);
    const std::uint64_t caller = is_finding ? caller_of(process, note) : 0;
    // The stack is copied, since the thread that noted it continues.
    const auto stack = is_finding ? std::make_shared<protocol::NoteStack>() : nullptr;
    if (is_finding && !process.memory().read(note.stack, std::as_writable_bytes(std::span(stack.get(), 1))))
      stack->length = 0;
    const auto report = [this, &process, when, note, caller, stack, text = std::move(text)] {
      if (stack != nullptr) return checks_.report_note(process, note, caller, *stack, text, when);
      run_.tracer.diagnose({process.host().component, process.pid(), note.error, text}, when);
    };
    when > run_.engine.now() ? thread.early_records.emit_at(when, report) : report();
  }
}

}  // namespace verbatim::supervisor
