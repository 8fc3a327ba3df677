// Hands the token to a program and waits until it comes back. This is the only place where the simulator
// waits for wall-clock time to pass; nothing that happens here may decide what happens next in virtual time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/core/interruption.h"
#include "sim/supervisor/machine/process_region.h"
#include "sim/supervisor/scheduling/second_core.h"

namespace verbatim::supervisor {

class TokenWait {
 public:
  enum class Result {
    kMessage,      // the program has a request
    kDied,         // the process has ended; not yet reaped
    kInterrupted,  // the user wants the run to end
    kStuck,        // it computes, or sleeps in a real kernel call, for longer than the limit
  };

  TokenWait(std::int64_t stuck_after_ms, std::int64_t poke_period_us);
  TokenWait(const TokenWait&) = delete;
  TokenWait& operator=(const TokenWait&) = delete;

  // From now on it is looked for answers before it is slept for them, as far as `core` says. `core` is used as long as *this is.
  void use(SecondCore& core) { second_core_ = &core; }

  // Hands the token to the thread that has slot `index`, and tells the one that had it before to look for it no longer: the
  // slot `before` is nullptr where there is none, or it is the same thread.
  void give(ProcessRegion& region, std::uint32_t index, protocol::ThreadSlot* before);
  // The token, or its life, has been given to a program: its silence is counted from now on. An answered poke is no sign
  // of life. It computes for `patience` times the usual period before it is poked.
  void handed_over(unsigned patience);
  // Thread `tid` of process `pid` (as Linux counts) has been given the token or its life before.
  // It may be poked when it computes, once the shim is in place.
  // `while_held` is called every 20 ms while a debugger holds the process; true: kInterrupted.
  Result wait(ProcessRegion& region, pid_t pid, pid_t tid, bool may_poke, const std::function<bool()>& while_held);
  // For kStuck: what the process was doing, for example "sleeps in the kernel in read(3)".
  const std::string& stuck_doing() const { return stuck_doing_; }
  // As long as *this is, interrupting signals do nothing but this.
  bool interrupted() const { return Interruption::came(); }

 private:
  bool look(std::atomic<protocol::Baton>& message);
  void wake_again(ProcessRegion& region);
  bool has_computed(pid_t pid);  // long enough for the next poke

  std::int64_t stuck_after_ms_;
  std::int64_t poke_period_us_;
  std::int64_t poke_us_ = 0;  // of the processor's time, until the next poke
  std::int64_t look_us_ = 0;  // of real time, until the process is looked at
  std::optional<std::int64_t> processor_us_;  // that the process had used at the last poke, or at the first look
  std::int64_t silent_ms_ = 0;
  std::int64_t asleep_ms_ = 0;
  std::chrono::steady_clock::time_point last_look_;
  std::string stuck_doing_;
  std::optional<std::uint64_t> calls_before_;  // as counted at the first look since the hand-over
  std::int64_t kernel_before_ms_ = 0;          // the thread had spent in the kernel then
  SecondCore* second_core_ = nullptr;
  const ProcessRegion* given_in_ = nullptr;  // where the token was handed over last; only compared, it may be gone
  std::uint32_t given_index_ = 0;            // and the slot
  Interruption::Watch watch_;  // the signals interrupt sleep
};

}  // namespace verbatim::supervisor
