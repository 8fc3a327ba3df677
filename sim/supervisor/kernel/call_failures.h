// Calls that fail, or transfer less than possible, by choice (freedom.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/failing_calls.h"
#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class CallFailures {
 public:
  // Chooses which calls fail; without it, none. `calls` outlives this object.
  void use(FailingCalls& calls) { calls_ = &calls; }
  // True if calls may fail by choice.
  bool may_occur() const { return calls_ != nullptr; }
  // Chooses whether a call that must wait ends with EINTR.
  bool interrupts(Thread& thread);
  // Maximum number of bytes, of `limit`, that a read may find or a write may place; 0: EAGAIN. `whole`:
  // MSG_WAITALL.
  std::uint64_t readable_now(Thread& thread, VirtualFile& file, std::uint64_t limit, bool dont_wait,
                             bool whole);
  std::uint64_t writable_now(Thread& thread, VirtualFile& file, std::uint64_t length, bool dont_wait);

 private:
  bool occurs(Thread& thread, std::string_view site);

  FailingCalls* calls_ = nullptr;
};

}  // namespace verbatim::supervisor
