// FECN marking on InfiniBand (IBA A10.2.1): a switch's output port marks the packets of a lane while the
// queue exceeds a threshold and the port is the root of the congestion. A port is the root while it has
// credits to send. A port without credits waits for congestion elsewhere (a victim), and marks only if its
// setting says so.
//
// The standard does not define the queue length that a threshold means, nor when it is compared. In this
// model:
//  - Threshold w is (16 - w) / 16 of the lane's input buffer, as in the model of Gran and Reinemo.
//  - It is compared when a packet starts, with the bytes left in the output's queue, in whichever input
//    buffer they are: the mark reports the state at that time and not at the packet's arrival. Packets that
//    cannot start yet do not count, such as those of which a faster output awaits the last byte.
//  - The port has credits if this packet started as soon as it was ready and the line was free, and if the
//    lane's next packet could start after it without waiting for credits. One condition alone would take a
//    port for the root whenever the far end grants credits for two packets at a time.
//  - Marks are drawn with probability 1 / (marking_rate + 1) from a stream of the port: the standard
//    defines a mean, and a fixed period could always hit the same one of several alternating flows.
#pragma once

#include <cstdint>

#include "sim/core/rng.h"
#include "sim/fabric/switch_buffer.h"
#include "sim/ib/congestion.h"

namespace verbatim::fabric {

class ForwardMarking {
 public:
  // `lane_bytes`: size of a lane's input buffer. `log`: the switch's; must outlive this.
  ForwardMarking(const Rng& random, std::uint32_t lane_bytes, ib::MarkingLog& log)
      : random_(random), lane_bytes_(lane_bytes), log_(log) {}

  void set(const ib::MarkingSetting& setting) { setting_ = setting; }
  const ib::MarkingSetting& setting() const { return setting_; }

  // Whether `bytes` queued behind a packet are congestion.
  bool is_congested(std::uint64_t bytes) const {
    return setting_.threshold != 0 && bytes > std::uint64_t{lane_bytes_} * (kThresholds - setting_.threshold) / kThresholds;
  }
  // Whether a congested port marks a packet of `wire_bytes`.
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
