// Pending signals with Linux's rule: a standard signal is queued once, a real-time signal each time it is
// sent.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

// Source of a signal, for siginfo_t.
struct SignalOrigin {
  std::int32_t code = 0x80;  // SI_KERNEL
  std::uint32_t sender = 0;
  std::int32_t status = 0;
  std::uint64_t value = 0;   // with a code below SI_USER; si_band with POLL_IN to POLL_HUP
  std::int32_t timer = 0;    // with SI_TIMER; si_fd with POLL_IN to POLL_HUP
  std::int32_t overrun = 0;  // with SI_TIMER
  std::uint32_t user = 0;    // real user id of the sender
};

struct QueuedSignal {
  int signal = 0;
  SignalOrigin origin;
  bool to_thread = false;  // sent to one thread, not to the process
};

class SignalQueue {
 public:
  static constexpr int kFirstRealTime = 32;  // in the kernel; libc reserves the first two

  bool empty() const { return signals_.empty(); }
  const QueuedSignal& front() const { return signals_.front(); }
  std::size_t size() const { return signals_.size(); }
  bool full() const { return signals_.size() >= protocol::kMaxRaisedSignals; }

  void push(const QueuedSignal& signal) {
    if (signal.signal < kFirstRealTime && contains(signal.signal)) return;
    if (!full()) signals_.push_back(signal);
  }
  bool contains(int signal) const { return (pending() >> (signal - 1) & 1) != 0; }
  bool contains_timer(int timer) const {
    return std::any_of(signals_.begin(), signals_.end(), [&](const QueuedSignal& queued) {
      return queued.origin.code == SI_TIMER && queued.origin.timer == timer;
    });
  }
  // Bit n - 1 for signal n.
  std::uint64_t pending() const {
    std::uint64_t set = 0;
    for (const QueuedSignal& queued : signals_) set |= 1ull << (queued.signal - 1);
    return set;
  }
  // Removes the lowest signal of `set`, the oldest if there are several.
  std::optional<QueuedSignal> take(std::uint64_t set) {
    auto least = signals_.end();
    for (auto it = signals_.begin(); it != signals_.end(); ++it) {
      const bool wanted = (set >> (it->signal - 1) & 1) != 0;
      if (wanted && (least == signals_.end() || it->signal < least->signal)) least = it;
    }
    if (least == signals_.end()) return std::nullopt;
    const QueuedSignal taken = *least;
    signals_.erase(least);
    return taken;
  }

 private:
  std::deque<QueuedSignal> signals_;
};

}  // namespace verbatim::supervisor
