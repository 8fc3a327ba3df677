#include "sim/supervisor/call_places.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/tasks/analysed_memory.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kGreatestFrame = 1 << 20;

// Return address of the function with frame pointer `frame`, which must be above `stack`; 0: `frame`
// is no frame pointer.
std::uint64_t return_address(Process& process, std::uint64_t frame, std::uint64_t stack) {
  if (frame <= stack || frame - stack > kGreatestFrame || frame % kWord != 0) return 0;
  return process.memory().load<std::uint64_t>(frame + kWord).value_or(0);
}

CallPlace::Kind kind_of(protocol::PlacedCall call) {
  switch (call) {
    case protocol::PlacedCall::kPostSend:
      return CallPlace::Kind::kSend;
    case protocol::PlacedCall::kPostReceive:
      return CallPlace::Kind::kReceive;
    case protocol::PlacedCall::kPostSharedReceive:
      return CallPlace::Kind::kSharedReceive;
    case protocol::PlacedCall::kArm:
      break;
  }
  return CallPlace::Kind::kArm;
}

}  // namespace

void CallPlaces::report_calls(Thread& thread, protocol::ThreadSlot& slot) {
  Process& process = thread.process();
  const std::uint32_t count = slot.call_count;
  slot.call_count = 0;
  if (!are_wanted()) return;
  for (std::uint32_t i = count - std::min(count, protocol::kMaxCallNotes); i != count; ++i) {
    const protocol::CallNote note = slot.calls[i % protocol::kMaxCallNotes];
    DeviceContext* const context = process.devices().find(note.context);
    if (context == nullptr) continue;
    options_.on_place({.kind = kind_of(note.call),
                       .component = context->hca().component(),
                       .time_ps = note.time_ps,
                       .number = note.number,
                       .wr_id = note.wr_id,
                       .site = "",
                       .place = text_of(process, note.caller, note.outer),
                       .thread = thread.tid()});
  }
}

void CallPlaces::report_lateness(Thread& thread, Instant now) {
  if (!are_wanted()) return;
  report_change(thread);
  const auto late = thread.delays.take_late();
  if (!late) return;
  options_.on_place({.kind = CallPlace::Kind::kLate,
                     .component = thread.source(),
                     .time_ps = to_ps(now),
                     .site = std::string(late->site),
                     .occurrence = late->occurrence,
                     .place = call_of(thread),
                     .thread = thread.tid()});
}

std::string CallPlaces::text_of(Process& process, std::uint64_t caller, std::span<const std::uint64_t> outer) {
  const auto place = [&](std::uint64_t address) -> const std::string& {
    const auto [it, is_new] = known_.try_emplace({process.native_pid(), address});
    if (is_new) it->second = place_of_call(process.native_pid(), address);
    return it->second;
  };
  const auto is_caller = [&](std::uint64_t address) {
    return address != 0 && is_return_into_program(process.memory(), address);
  };
  bool is_wrapped = false;
  for (; !outer.empty() && is_caller(outer.front()) && is_in_header_of_verbs(place(caller)); outer = outer.subspan(1)) {
    caller = outer.front();
    is_wrapped = true;
  }
  const bool has_outer = !is_wrapped && !outer.empty() && is_caller(outer.front());
  return place(caller) + (has_outer ? ", from " + place(outer.front()) : "");
}

CallPlaces::OuterCallers CallPlaces::callers_by_frames(Process& process, std::uint64_t frame, std::uint64_t stack) {
  OuterCallers callers{};
  for (std::uint64_t& caller : callers) {
    caller = return_address(process, frame, stack);
    if (caller == 0) break;
    stack = frame;
    frame = process.memory().load<std::uint64_t>(frame).value_or(0);
  }
  return callers;
}

std::string CallPlaces::call_of(Thread& thread) {
  Process& process = thread.process();
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  constexpr unsigned kStackRegister = 4, kFrameRegister = 5;
  if (const auto* access = std::get_if<request::Access>(&thread.request())) return access_of(process, *access);
  const bool is_verb = thread.requests<request::Spend>() || thread.requests<request::Doorbell>();
  if (const std::uint64_t caller = slot.verb_caller; is_verb && caller != 0) {
    return text_of(process, caller, callers_by_frames(process, slot.verb_frame, slot.verb_stack - 1));
  }
  if (is_verb || thread.requests<request::Poll>()) {
    const std::uint64_t stack = slot.poll_registers[kStackRegister];
    const std::uint64_t caller = process.memory().load<std::uint64_t>(stack).value_or(0);
    return text_of(process, caller, callers_by_frames(process, slot.poll_registers[kFrameRegister], stack));
  }
  if (slot.context_address == 0) return "";
  const auto of_register = [&](int index) {
    const std::uint64_t registers = slot.context_address + offsetof(ucontext_t, uc_mcontext.gregs);
    return process.memory().load<std::uint64_t>(registers + kWord * static_cast<unsigned>(index)).value_or(0);
  };
  return on_stack(process, of_register(REG_RSP), of_register(REG_RBP));
}

namespace {

// Value at the address that the thread is about to access; nullopt: unreadable, or not a number of
// 1, 2, 4 or 8 bytes.
std::optional<std::uint64_t> value_there(Thread& thread) {
  const auto& access = std::get<request::Access>(thread.request());
  std::uint64_t value = 0;
  const bool is_number = access.size == 1 || access.size == 2 || access.size == 4 || access.size == 8;
  if (!is_number) return std::nullopt;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1)).first(access.size);
  if (!thread.process().memory().read(access.address, bytes)) return std::nullopt;
  return value;
}

}  // namespace

void CallPlaces::note_access(Thread& thread, Instant due) {
  if (!are_wanted()) return;
  const auto late = thread.delays.take_late();
  if (!late) return;
  const CallPlace place{.kind = CallPlace::Kind::kLate,
                        .component = thread.source(),
                        .time_ps = to_ps(due),
                        .site = std::string(late->site),
                        .occurrence = late->occurrence,
                        .place = call_of(thread),
                        .thread = thread.tid()};
  options_.on_place(place);
  late_accesses_[&thread] = {place, value_there(thread), std::nullopt};
}

void CallPlaces::report_change(Thread& thread) {
  const auto late = late_accesses_.extract(&thread);
  if (late.empty() || !thread.requests<request::Access>()) return;
  auto& [reported, before, between] = late.mapped();
  const auto now = value_there(thread);
  if (!before || !now || (*before == *now && !between)) return;
  reported.place += *before == *now
                        ? fmt::format(", which become {:#x} meanwhile and then {:#x} again", *between, *now)
                        : fmt::format(", which become {:#x} meanwhile and were {:#x}", *now, *before);
  options_.on_place(reported);
}

void CallPlaces::note_values(Process& process) {
  if (late_accesses_.empty()) return;
  for (const auto& thread : process.threads()) {
    const auto late = late_accesses_.find(thread.get());
    if (late == late_accesses_.end() || !late->second.before || !thread->requests<request::Access>()) continue;
    const auto value = value_there(*thread);
    if (value && *value != *late->second.before) late->second.between = value;
  }
}

std::string CallPlaces::access_of(Process& process, const request::Access& access) {
  // +1: a place is looked up by return address, and the access instruction is not preceded by a call.
  const auto saved = SavedContext::read(process.memory(), access.context);
  const auto of = [&](int index) { return saved ? static_cast<std::uint64_t>(saved->general[index]) : 0; };
  const std::string text = text_of(process, access.instruction + 1, callers_by_frames(process, of(REG_RBP), of(REG_RSP)));
  if (access.size == 0) return text;
  if (access.lateness == protocol::AccessLateness::kBuffered) {
    return text + fmt::format(", its store of {} bytes at {:#x} in the processor's store buffer, while later loads "
                              "have completed", access.size, access.address);
  }
  if (access.lateness == protocol::AccessLateness::kHalfCopied)
    return text + fmt::format(", with half of {} bytes copied to {:#x}", access.size, access.address);
  const std::string_view moment = access.lateness == protocol::AccessLateness::kReadNotWritten
                                      ? "between reading and writing"
                                  : access.lateness == protocol::AccessLateness::kMayBeBuffered ? "before storing"
                                                                                                : "before touching";
  return text + fmt::format(", {} {} bytes at {:#x}", moment, access.size, access.address);
}

// Searches the stack upwards for the first return address in the program: the frames of the C library are
// small and below it.
std::string CallPlaces::on_stack(Process& process, std::uint64_t stack, std::uint64_t frame) {
  constexpr std::uint64_t kWords = 128;
  for (std::uint64_t i = 0; i < kWords; ++i) {
    const auto word = process.memory().load<std::uint64_t>(stack + i * kWord);
    if (!word) break;
    if (!is_return_into_program(process.memory(), *word)) continue;
    return text_of(process, *word, callers_by_frames(process, frame, stack + i * kWord));
  }
  return "";
}

}  // namespace verbatim::supervisor
