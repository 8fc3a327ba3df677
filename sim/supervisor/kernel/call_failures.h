// Calls that a schedule lets fail or transfer less than possible (freedom.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/failing_calls.h"
#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class CallFailures {
 public:
  // `calls` selects the calls that fail, and outlives this object. Without it none does.
  void use(FailingCalls& calls) { calls_ = &calls; }
  bool may_occur() const { return calls_ != nullptr; }
  // Whether a call that would block ends with EINTR.
  bool interrupts(Thread& thread);
  // Number of bytes, at most `limit` or `length`, that a read finds or a write has room for; 0: EAGAIN.
  // `whole`: MSG_WAITALL.
  std::uint64_t readable_now(Thread& thread, VirtualFile& file, std::uint64_t limit, bool dont_wait,
                             bool whole);
  std::uint64_t writable_now(Thread& thread, VirtualFile& file, std::uint64_t length, bool dont_wait);

 private:
  bool occurs(Thread& thread, std::string_view site);

  FailingCalls* calls_ = nullptr;
};

}  // namespace verbatim::supervisor
