// Reports to SupervisorOptions::on_place where in its program a thread posts a request, arms a completion
// queue or is late. For explanations; changes nothing in the run.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

class CallPlaces {
 public:
  explicit CallPlaces(const SupervisorOptions& options) : options_(options) {}

  bool are_wanted() const { return static_cast<bool>(options_.on_place); }
  // Reports the last kMaxCallNotes posts and arms of the thread since it got the token.
  void report_calls(Thread& thread, protocol::ThreadSlot& slot);
  // The thread is late before a memory access, until `due`. Reports its place, and again in report_lateness
  // if another thread or an adapter changes the accessed bytes meanwhile.
  void note_access(Thread& thread, Instant due);
  // A thread of the process has given the token back: notes the bytes that late threads are about to access.
  void note_values(Process& process);
  // The thread has given the token back. Reports a late call, or a late return from a wait.
  void report_lateness(Thread& thread, Instant now);

 private:
  // Return addresses of nested functions, the innermost first; 0 and behind it: unknown.
  using OuterCallers = std::array<std::uint64_t, protocol::kOuterCallers>;
  // Text such as "app.c:88, from app.c:120" for a call that returns to `caller`, in a function that returns
  // to outer[0]. A caller in a header of verbs is left out. Addresses that are no return addresses in the
  // program are ignored.
  std::string text_of(Process& process, std::uint64_t caller, std::span<const std::uint64_t> outer);
  // `frame`: frame pointer of the function that has called, with its stack pointer; anything in programs without them.
  static OuterCallers callers_by_frames(Process& process, std::uint64_t frame, std::uint64_t stack);
  std::string call_of(Thread& thread);
  std::string access_of(Process& process, const request::Access& access);
  void report_change(Thread& thread);
  std::string on_stack(Process& process, std::uint64_t stack, std::uint64_t frame);

  const SupervisorOptions& options_;
  std::map<std::pair<pid_t, std::uint64_t>, std::string> known_;
  struct LateAccess {
    CallPlace reported;
    // value before the delay; nullopt: not a number of 1, 2, 4 or 8 bytes, or unreadable
    std::optional<std::uint64_t> before;
    std::optional<std::uint64_t>
        between;  // the last other value that was there during the delay; nullopt: none was seen
  };
  std::map<const Thread*, LateAccess> late_accesses_;
};

}  // namespace verbatim::supervisor
