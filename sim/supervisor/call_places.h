// Where in their programs threads post requests, ask for events and come late: told to whoever explains a run. Nothing here
// changes one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

class CallPlaces {
 public:
  explicit CallPlaces(const SupervisorOptions& options) : options_(options) {}

  bool are_wanted() const { return static_cast<bool>(options_.on_place); }
  // What the thread has posted and asked for since it got the token: the last kMaxCallNotes of it.
  void tell_calls(Thread& thread, protocol::ThreadSlot& slot);
  // The thread is late before an access to memory until `due`: that is told, and once more if others change what it touches.
  void note_access(Thread& thread, Instant due);
  // The thread has given the token back. If it is late with the call that it is in, or was late out of it, that is told.
  void tell_lateness(Thread& thread, Instant now);

 private:
  // "app.c:88, from app.c:120" of the calls that return to these addresses; `outer` may be anything.
  std::string text_of(Process& process, std::uint64_t caller, std::uint64_t outer);
  std::string call_of(Thread& thread);
  std::string access_of(Thread& thread);
  void tell_change(Thread& thread);
  std::string on_stack(Process& process, std::uint64_t stack, std::uint64_t frame);

  const SupervisorOptions& options_;
  std::map<std::pair<pid_t, std::uint64_t>, std::string> known_;
  struct LateAccess {
    CallPlace told;
    std::optional<std::uint64_t> before;  // what was there, if it is a word or less
  };
  std::map<const Thread*, LateAccess> late_accesses_;
};

}  // namespace verbatim::supervisor
