// The sending end of one direction of a link: serialises packets and computes when their bytes reach the
// far end.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/core/ids.h"
#include "sim/core/trail.h"
#include "sim/fabric/line_clock.h"
#include "sim/fabric/packet_sink.h"

namespace verbatim::fabric {

// Policies that keep a link from overrunning the buffer at its far end (`link_flow_control.h`).
enum class FlowControlKind : std::uint8_t {
  kCredits,  // InfiniBand credits (IBA 7.9)
  kPause,    // Ethernet pauses per priority (IEEE 802.1Qbb)
  kNone,     // none: a packet that finds the buffer full is dropped
};

// Parameters of a cable, as negotiated by both ends; the same in both directions.
struct LinkParams {
  ByteTime byte_time;              // all physical lanes together, after line coding
  Duration propagation{0};         // cable and both transceivers, one direction
  Duration transceivers{0}, fec{0};  // included in `propagation`: coding at both ends, decoder block delay
  std::uint32_t bytes_before = 0;  // line bytes per packet before the LRH (start delimiter)
  std::uint32_t bytes_after = 0;   // line bytes per packet after the VCRC (end delimiter, gap)
  // Header bytes that a switch needs for forwarding: LRH; on Ethernet up to UDP.
  std::uint32_t header_bytes = 8;
  // Flow control packets (IBA 7.9.4): a receiver reports the free space of a lane with one of this many
  // bytes, delimiters included, at multiples of `credit_update_interval` (0: at once), and at most
  // `credit_refresh_interval` after the previous one (0: only if there is new space to report).
  std::uint32_t credit_update_bytes = 8;  // 1 or more
  Duration credit_update_interval{0};
  Duration credit_refresh_interval{0};
  FlowControlKind flow_control = FlowControlKind::kCredits;
  // With kPause: a frame requests a pause of `pause_quanta` quanta of 512 bit times. The headroom of each
  // lossless priority must hold the maximum that the far end sends between the decision to pause it and the
  // end of its last packet.
  std::uint8_t lossless_lanes = 0;     // bit n: priority n
  std::uint16_t pause_quanta = 65535;  // 1 or more
  Duration pause_response{0};          // from a frame's last byte to its effect
  std::uint32_t headroom_bytes = 0;

  friend bool operator==(const LinkParams&, const LinkParams&) = default;
};
// Shared by the ends of all cables of a kind.
using SharedLinkParams = std::shared_ptr<const LinkParams>;

// Times at which a packet passes both ends.
struct TransmitTimes {
  Instant leaves;  // last byte at the sending end
  ArrivalTimes arrival;
};

class Channel {
 public:
  // `far_end`: the receiving port, for the packets' trails.
  Channel(SharedLinkParams params, ComponentId far_end);

  const LinkParams& params() const { return *params_; }
  // Everything that this end puts on the line; flow control packets use the same line.
  LineClock& line() { return line_; }
  const LineClock& line() const { return line_; }

  // Starts a packet; the line must be free. `wire_bytes` is Packet::wire_bytes(). A `delay` postpones its
  // arrival, possibly past that of later packets. `trail` is the packet's.
  TransmitTimes transmit(Instant now, std::uint32_t wire_bytes, Trail& trail, Duration delay = Duration(0));

 private:
  void add_to(Trail& trail, Instant head, Duration delay) const;

  LineClock line_;
  const SharedLinkParams params_;
  const ComponentId far_end_;
};

}  // namespace verbatim::fabric
