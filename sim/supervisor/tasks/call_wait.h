// The wait of a thread in its current call, or of a parked thread for files of its loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/supervisor/files/virtual_file.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

class CallWait {
 public:
  // `waiter`: the thread. `costs`: its latencies after a wake-up.
  CallWait(Waiter& waiter, const protocol::CallCosts& costs)
      : waiter_(waiter), wake_up_(costs.wake_up_ps), event_wake_up_(costs.event_wake_up_ps) {}

  // The call has blocked at least once and is not answered.
  bool is_retried() const { return is_retried_; }
  // Time at which the call gives up; kNever: no limit.
  Instant deadline() const { return deadline_; }
  // Time at which the call blocked first.
  Instant since() const { return since_; }
  // Completes "waits in …".
  const std::string& what() const { return what_; }
  const std::vector<VirtualFilePtr>& files() const { return files_; }

  // The call blocks. `late`: delay after the wait. Returns the time of its retry at the deadline; kNever: no limit.
  Instant begin(std::vector<VirtualFilePtr> files, Instant deadline, std::string what, Instant now, Duration late);
  // The thread is woken by changes of `files`.
  void watch(std::vector<VirtualFilePtr> files);
  // Time of the retry after a wake-up at `now`; nullopt if an earlier wake-up or the deadline has set it.
  std::optional<Instant> wake(Instant now, bool by_adapter_event);
  // Removes the thread from the waiting lists of all files.
  void leave();
  // The call is answered.
  void finish() { is_retried_ = false; }

 private:
  Waiter& waiter_;
  const Duration wake_up_, event_wake_up_;
  std::vector<VirtualFilePtr> files_;
  std::string what_;
  Instant since_{};
  Instant deadline_ = kNever;
  Duration late_{};
  bool is_woken_ = false;  // since the thread blocked
  bool is_retried_ = false;
};

}  // namespace verbatim::supervisor
