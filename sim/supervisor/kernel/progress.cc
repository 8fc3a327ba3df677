#include "sim/supervisor/kernel/progress.h"

#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

bool makes_progress(std::uint64_t number, std::int64_t result) {
  using protocol::CallTraits;
  constexpr std::int64_t kCounterBytes = 8, kSignalBytes = 128;  // read from eventfd and timerfd; signalfd
  const protocol::SystemCall& call = protocol::system_call(number);
  if (result < 0 || call.has(CallTraits::kNoProgress)) return false;
  return !call.has(CallTraits::kCounted) || (result != 0 && result != kCounterBytes && result != kSignalBytes);
}

}  // namespace verbatim::supervisor
