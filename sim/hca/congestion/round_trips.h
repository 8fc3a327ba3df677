// Round trips of packets with AckReq of a queue pair: from the hand-over to the port until the
// acknowledgement has been received. When a packet is resent, outstanding packets have no round trip, because
// it is unknown which transmission is acknowledged (Karn and Partridge, SIGCOMM 1987).
#pragma once

#include <optional>

#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class RoundTrips {
 public:
  // A request packet is handed to the port at `when`; `asks`: it has AckReq.
  void on_handed_over(ib::Psn psn, bool asks, Instant when) {
    if (!asked_.empty() && !ib::is_before(asked_[asked_.size() - 1].psn, psn)) {
      while (!asked_.empty()) asked_.pop_front();
    }
    if (asks) asked_.push_back({psn, when});
  }
  // All packets up to `psn` are acknowledged. Returns the round trip of `psn`; nullopt: it has none.
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
