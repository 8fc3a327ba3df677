// Request packets of a queue pair that have been sent and are not acknowledged, with their payload.
#pragma once

#include <cstdint>

#include "sim/core/ring.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class InFlight {
 public:
  // One is sent; it may have been sent before, with those behind it or alone.
  void on_sent(ib::Psn psn, std::uint32_t payload) {
    if (!sent_.empty() && !ib::is_before(sent_[sent_.size() - 1].psn, psn)) return;
    next_ = psn + 1;
    bytes_ += payload;
    sent_.push_back({psn, payload});
  }
  // All up to `psn` is acknowledged; by how many packets that is more than before.
  std::uint32_t on_acknowledged(ib::Psn psn) {
    std::uint32_t packets = 0;
    for (; !sent_.empty() && !ib::is_before(psn, sent_[0].psn); ++packets) bytes_ -= sent_.pop_front().payload;
    return packets;
  }
  // The queue pair goes on with `next`: what was sent from there on is lost.
  void go_back(ib::Psn next) {
    while (!sent_.empty() && !ib::is_before(sent_[sent_.size() - 1].psn, next)) {
      bytes_ -= sent_[sent_.size() - 1].payload;
      sent_.pop_back();
    }
  }
  std::uint64_t bytes() const { return bytes_; }
  // Behind the newest.
  ib::Psn next() const { return next_; }

 private:
  struct Sent {
    ib::Psn psn;
    std::uint32_t payload;
  };
  Ring<Sent> sent_;  // ascending
  std::uint64_t bytes_ = 0;
  ib::Psn next_;
};

}  // namespace verbatim::hca
