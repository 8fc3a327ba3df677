// Reports a call of the program to the supervisor when it begins and when it ends, if calls are traced
// (kTellsCalls). A report takes no virtual time.
#pragma once

#include "verbs_shim/protocol/told_calls.h"
#include "verbs_shim/runtime/runtime.h"

namespace verbatim::shim {

inline bool tells_calls() { return (checks() & protocol::kTellsCalls) != 0; }

VERBATIM_EXPORT void tell_call(const protocol::ToldCall& call);
VERBATIM_EXPORT std::uint32_t telling_thread();

class ToldScope {
 public:
  ToldScope(protocol::ToldKind kind, std::uint32_t number, std::int64_t a0 = 0, std::int64_t a1 = 0,
            std::int64_t a2 = 0, std::int64_t a3 = 0, std::int64_t a4 = 0, std::int64_t a5 = 0) {
    if (!tells_calls()) [[likely]]
      return;
    call_ = {kind, protocol::ToldStep::kBegins, number, 0, {a0, a1, a2, a3, a4, a5}, 0};
    thread_ = telling_thread();
    tell_call(call_);
  }
  ToldScope(const ToldScope&) = delete;

  // Returns `result`. In a forked copy of the process the call did not begin, and nothing is reported.
  template <class T>
  T ended(T result, protocol::ToldStep step = protocol::ToldStep::kHasEnded) {
    if (thread_ == 0 || thread_ != telling_thread()) [[likely]]
      return result;
    call_.step = step;
    call_.result = result;
    tell_call(call_);
    return result;
  }

 private:
  protocol::ToldCall call_;
  std::uint32_t thread_ = 0;  // 0: calls are not reported
};

}  // namespace verbatim::shim
