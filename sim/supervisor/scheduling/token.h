// Hands the token to a program and waits until it comes back. This is the only place where the simulator
// waits for wall-clock time to pass; nothing that happens here may decide what happens next in virtual time.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/supervisor/machine/process_region.h"

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

  // The token, or its life, has been given to a program: its silence is counted from now on. An answered poke is no sign
  // of life. It computes for `patience` times the usual period before it is poked.
  void handed_over(unsigned patience);
  // Thread `tid` of process `pid` (as Linux counts) has been given the token or its life before.
  // It may be poked when it computes, once the shim is in place.
  Result wait(ProcessRegion& region, pid_t pid, pid_t tid, bool may_poke);
  // For kStuck: what the process was doing, for example "sleeps in the kernel in read(3)".
  const std::string& stuck_doing() const { return stuck_doing_; }
  bool interrupted() const { return interrupted_; }

 private:
  void drain();  // signals that have come
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
  bool interrupted_ = false;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_;
};

void wake_futex(std::atomic<std::uint32_t>& word);

}  // namespace verbatim::supervisor
