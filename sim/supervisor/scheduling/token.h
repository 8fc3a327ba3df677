// Passes the token to a program and waits until the program returns it. The simulator waits for wall-clock
// time here only. Nothing here may influence virtual time.
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
    kDied,         // the process has ended and is not reaped
    kInterrupted,  // the user has interrupted the run
    kStuck,        // it computes, or sleeps in a kernel call, longer than the limit
  };

  TokenWait(std::int64_t stuck_after_ms, std::int64_t poke_period_us);
  TokenWait(const TokenWait&) = delete;
  TokenWait& operator=(const TokenWait&) = delete;

  // Enables polling for answers before sleeping, as far as `core` permits. `core` must outlive *this.
  void use(SecondCore& core) { second_core_ = &core; }

  // Passes the token to the thread with slot `index`, and stops `before`, the slot of the previous holder,
  // from polling for it. `before` is nullptr if there is no previous holder or if it is the same thread.
  void give(ProcessRegion& region, std::uint32_t index, protocol::ThreadSlot* before);
  // Starts measuring the program's silence, after a token or an answer was passed to it; the answer to a poke
  // does not count. The program is first poked after `poke_backoff` times the usual period of computation.
  void handed_over(unsigned poke_backoff);
  // Waits for a request of thread `tid` of process `pid` (native ids), which holds the token.
  // `may_poke`: poke the thread while it computes. This requires that the shim is initialised.
  // `while_held` is called every 20 ms while a debugger holds the process; if it returns true, the result is
  // kInterrupted.
  Result wait(ProcessRegion& region, pid_t pid, pid_t tid, bool may_poke, const std::function<bool()>& while_held);
  // After kStuck: the activity of the process, for example "sleeps in the kernel in read(3)".
  const std::string& stuck_doing() const { return stuck_doing_; }
  // True after SIGINT or a similar signal. During the lifetime of *this these signals have no other effect.
  bool interrupted() const { return Interruption::came(); }

 private:
  bool look(std::atomic<protocol::Baton>& message);
  void wake_again(ProcessRegion& region);
  bool has_computed(pid_t pid);  // long enough for the next poke

  std::int64_t stuck_after_ms_;
  std::int64_t poke_period_us_;
  std::int64_t poke_us_ = 0;  // processor time until the next poke
  std::int64_t look_us_ = 0;  // real time until the process is checked
  // Processor time of the process at the last poke, or at the first check.
  std::optional<std::chrono::nanoseconds> processor_time_;
  std::int64_t silent_ms_ = 0;
  std::int64_t asleep_ms_ = 0;
  std::chrono::steady_clock::time_point last_look_;
  std::string stuck_doing_;
  std::optional<std::uint64_t> calls_before_;  // calls counted at the first check after the token was passed
  std::int64_t kernel_before_ms_ = 0;          // kernel time of the thread at that check
  SecondCore* second_core_ = nullptr;
  // Region of the last token holder; compared only, it may be destroyed.
  const ProcessRegion* given_in_ = nullptr;
  std::uint32_t given_index_ = 0;            // slot of the last token holder
  Interruption::Watch watch_;  // makes these signals interrupt sleep
};

}  // namespace verbatim::supervisor
