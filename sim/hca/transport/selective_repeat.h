// Chooses the packets to resend if only missing packets are repeated (IRN, Mittal et al., SIGCOMM 2018, 3.1).
// Each NAK names the first missing PSN and a later one that has arrived. A PSN that has not arrived counts as
// lost if a later one has. It is resent once. If that is lost too, the transport timer begins again with the first
// missing PSN, and resends each that counts as lost.
// A requester has one object for its requests, and another for responses, whose gaps it notices itself.
#pragma once

#include <cstdint>

#include "sim/hca/transport/psn_window.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class SelectiveRepeat {
 public:
  // `window`: maximum number of outstanding PSNs; 0: no selective repeat. `first`: the first PSN.
  void start(std::uint32_t window, ib::Psn first) {
    window_ = window;
    forget(first);
  }
  bool is_on() const { return window_ > 0; }
  // Whether a packet may be sent whose PSN is `distance` after the oldest unacknowledged one.
  bool allows(std::int32_t distance) const { return window_ == 0 || distance < static_cast<std::int32_t>(window_); }
  std::uint32_t window() const { return window_; }

  // A NAK: all PSNs before `missing`, and `count` PSNs from `seen` on, have arrived, `missing` has not; PSNs
  // from `end` on have not been sent. True: it begins a recovery, as no PSN was known to be missing.
  bool on_gap(ib::Psn missing, ib::Psn seen, std::uint32_t count, ib::Psn end) {
    seen_.advance(missing);
    // Otherwise `seen` was not sent: the peer does not use selective repeat.
    if (seen == missing || !seen_.covers(seen) || distance(seen, end) <= 0) return false;
    for (std::uint32_t i = 0; i < count; ++i) seen_.add(seen + i);
    if (distance(seen_end_, seen) > 0) seen_end_ = seen;
    const bool begins = !is_recovering_;
    if (begins) {
      is_recovering_ = true;
      next_ = missing;
      recovery_end_ = end;
    }
    settle();
    return begins;
  }

  // The oldest PSN without an acknowledgement is missing, whether or not a later one has arrived. It is resent, and so
  // is each later one that counts as lost. The acknowledgement of `end` ends the recovery.
  void on_missing(ib::Psn missing, ib::Psn end) {
    next_ = missing;
    recovery_end_ = end;
    is_recovering_ = is_next_missing_ = true;
  }

  // All PSNs before `psn` are acknowledged.
  void on_progress(ib::Psn psn) {
    if (!is_on()) return;
    seen_.advance(psn);
    if (distance(next_, psn) > 0) {
      next_ = psn;
      is_next_missing_ = false;
    }
    if (distance(seen_end_, psn) > 0) seen_end_ = psn;
    // The repeated packet must be acknowledged as well, or NAKs under way would repeat it once more.
    if (distance(recovery_end_, psn) >= 0 && next_ == psn) is_recovering_ = false;
    settle();
  }

  // All packets from `psn` on will be resent.
  void forget(ib::Psn psn) {
    seen_.start(window_, psn);
    next_ = seen_end_ = recovery_end_ = psn;
    is_recovering_ = is_next_missing_ = false;
  }

  // Whether a missing packet must be resent; its PSN.
  bool has_next() const { return is_recovering_ && (is_next_missing_ || distance(next_, seen_end_) > 0); }
  ib::Psn next() const { return next_; }
  // Whether this PSN, which is not acknowledged, is known to have arrived.
  bool has_arrived(ib::Psn psn) const { return seen_.has(psn); }
  // One past the last of the missing PSNs that follow next() without a gap, at most `limit`.
  ib::Psn end_of_missing(ib::Psn limit) const {
    ib::Psn end = next_ + 1;
    while (end != limit && end != seen_end_ && !seen_.has(end)) end = end + 1;
    return end;
  }
  // PSNs from `first` up to `end` are known to have arrived, as far as the window covers them.
  void on_known(ib::Psn first, ib::Psn end) {
    for (; seen_.covers(first) && first != end; first = first + 1) seen_.add(first);
  }
  // All missing packets before `end` have been resent.
  void on_repeated(ib::Psn end) {
    next_ = end;
    is_next_missing_ = false;
    settle();
  }

 private:
  void settle() {
    while (!is_next_missing_ && has_next() && seen_.has(next_)) next_ = next_ + 1;
  }

  std::uint32_t window_ = 0;
  PsnWindow seen_;         // PSNs that have arrived after a missing one
  ib::Psn seen_end_;       // the last one reported by a NAK
  ib::Psn next_;           // PSNs before it are acknowledged, have arrived, or have been resent
  ib::Psn recovery_end_;   // its acknowledgement ends the recovery
  bool is_recovering_ = false;
  bool is_next_missing_ = false;  // next_ is resent although no later PSN is known to have arrived
};

}  // namespace verbatim::hca
