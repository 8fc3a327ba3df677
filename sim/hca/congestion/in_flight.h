// Request packets of a queue pair that have been sent and are not acknowledged, with their payload.
#pragma once

#include <cstdint>

#include "sim/core/ring.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class InFlight {
 public:
  // A packet is sent. It may have been sent before, together with those behind it or alone.
  void on_sent(ib::Psn psn, std::uint32_t payload) {
    if (!sent_.empty() && !ib::is_before(sent_[sent_.size() - 1].psn, psn)) return;
    next_ = psn + 1;
    bytes_ += payload;
    sent_.push_back({psn, payload});
  }
  // All packets up to `psn` are acknowledged. Returns the number of newly acknowledged packets.
  std::uint32_t on_acknowledged(ib::Psn psn) {
    std::uint32_t packets = 0;
    for (; !sent_.empty() && !ib::is_before(psn, sent_[0].psn); ++packets) bytes_ -= sent_.pop_front().payload;
    return packets;
  }
  // The queue pair sends `next` next: packets from there on are lost.
  void go_back(ib::Psn next) {
    while (!sent_.empty() && !ib::is_before(sent_[sent_.size() - 1].psn, next)) {
      bytes_ -= sent_[sent_.size() - 1].payload;
      sent_.pop_back();
    }
  }
  std::uint64_t bytes() const { return bytes_; }
  // One past the newest PSN.
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
