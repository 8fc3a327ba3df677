// Round trips of the packets of a queue pair that ask for an acknowledgement: from the time at which a packet
// is handed to the port until the acknowledgement has been received. A packet that is sent again, and those
// before it, have no round trip, because it is unknown which sending was answered (Karn and Partridge,
// SIGCOMM 1987).
#pragma once

#include <optional>

#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class RoundTrips {
 public:
  // A request packet is handed to the port at `when`; `asks`: it asks for an acknowledgement.
  void on_handed_over(ib::Psn psn, bool asks, Instant when) {
    if (!asked_.empty() && !ib::is_before(asked_[asked_.size() - 1].psn, psn)) {
      while (!asked_.empty()) asked_.pop_front();
    }
    if (asks) asked_.push_back({psn, when});
  }
  // All packets up to `psn` are acknowledged. Returns the round trip of `psn`; none: it did not ask, or was
  // acknowledged before.
  std::optional<Duration> on_acknowledged(ib::Psn psn, Instant now) {
    std::optional<Duration> time;
    while (!asked_.empty() && !ib::is_before(psn, asked_.front().psn)) {
      const Asked asked = asked_.pop_front();
      if (asked.psn == psn) time = now - asked.when;
    }
    return time;
  }

 private:
  struct Asked {
    ib::Psn psn;
    Instant when;
  };
  Ring<Asked> asked_;  // unacknowledged, ascending
};

}  // namespace verbatim::hca
