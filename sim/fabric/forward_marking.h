// Marking with FECN on InfiniBand (IBA A10.2.1): an output port of a switch marks the packets of a lane while more waits there
// than a threshold and the port is the root of the congestion, which it is while it has credits to send. A port without credits
// waits for a congestion elsewhere (a victim), and marks only if its setting says so.
//
// The standard leaves open which length of the queue a threshold stands for, and when it is compared. Here
//  - threshold w is (16 - w) / 16 of the lane's input buffer, as in the model of Gran and Reinemo;
//  - it is compared when a packet starts, with the bytes that it leaves behind in the output's queue, wherever in the switch
//    these are: the mark then says what holds at that time, and not what held when the packet came. Packets that could not start
//    yet, such as those of which a faster output waits for the last byte, do not count;
//  - the port has credits if this packet has started as soon as it was ready and the line was free, and the next one of the lane
//    could start behind it without waiting for any. One of the two alone would take a port for the root whenever the far end
//    gives credits for two packets at a time;
//  - marks are drawn, with probability 1 / (marking_rate + 1), from a sequence of the port's own: the standard speaks of a mean,
//    and a fixed period could hit the same one of several flows that take turns for ever.
#pragma once

#include <cstdint>

#include "sim/core/rng.h"
#include "sim/fabric/switch_buffer.h"
#include "sim/ib/congestion.h"

namespace verbatim::fabric {

class ForwardMarking {
 public:
  // `lane_bytes`: of the input buffer. `log`: of the switch, which outlives this.
  ForwardMarking(const Rng& random, std::uint32_t lane_bytes, ib::MarkingLog& log)
      : random_(random), lane_bytes_(lane_bytes), log_(log) {}

  void set(const ib::MarkingSetting& setting) { setting_ = setting; }
  const ib::MarkingSetting& setting() const { return setting_; }

  // Whether so many bytes behind a packet are congestion.
  bool is_congested(std::uint64_t bytes) const {
    return setting_.threshold != 0 && bytes > std::uint64_t{lane_bytes_} * (kThresholds - setting_.threshold) / kThresholds;
  }
  // Whether a packet of so many bytes is marked by a port that is congested.
  bool marks(std::uint32_t wire_bytes, bool is_root) {
    if (!is_root && !setting_.marks_victims) return false;
    if (blocks_of(wire_bytes) < setting_.packet_size) return false;
    return setting_.marking_rate == 0 || random_.below(std::uint64_t{setting_.marking_rate} + 1) == 0;
  }
  void note(std::uint8_t port, const ib::Packet& packet, Instant now) {
    log_.events.add({packet.lrh.source, packet.lrh.destination, packet.lrh.service_level, now});
    log_.ports.set(port);
  }

 private:
  static constexpr std::uint32_t kThresholds = 16;

  Rng random_;
  const std::uint32_t lane_bytes_;
  ib::MarkingLog& log_;
  ib::MarkingSetting setting_;
};

}  // namespace verbatim::fabric
