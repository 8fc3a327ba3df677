// The sending end of one direction of a link: serialises packets one after the other and computes when their bytes pass the far
// end.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/core/ids.h"
#include "sim/core/trail.h"
#include "sim/fabric/line_clock.h"
#include "sim/fabric/packet_sink.h"

namespace verbatim::fabric {

// A policy keeps a link from overrunning the buffer at its far end (`link_flow_control.h`).
enum class FlowControlKind : std::uint8_t {
  kCredits,  // of InfiniBand (IBA 7.9)
  kPause,    // per priority (IEEE 802.1Qbb)
  kNone,     // a packet that finds the buffer full is dropped
};

// A cable with what both its ends agreed on; the same in both directions.
struct LinkParams {
  ByteTime byte_time;              // all lanes together, after line coding
  Duration propagation{0};         // of the cable and both transceivers, one way
  Duration transceivers{0}, fec{0};  // parts of it: coding at both ends, the block that a decoder waits for
  std::uint32_t bytes_before = 0;  // line bytes per packet ahead of the LRH (start delimiter)
  std::uint32_t bytes_after = 0;   // and behind the VCRC (end delimiter, gap)
  std::uint32_t header_bytes = 8;  // a switch needs so many to know the way: the LRH; on Ethernet all up to UDP
  // Flow control packets (IBA 7.9.4): a receiver reports the free space of a lane with one of this many bytes,
  // delimiters included, at multiples of `credit_update_interval` (0: at once), and at the latest
  // `credit_refresh_interval` after the one before (0: only when there is something to report).
  std::uint32_t credit_update_bytes = 8;  // 1 or more
  Duration credit_update_interval{0};
  Duration credit_refresh_interval{0};
  FlowControlKind flow_control = FlowControlKind::kCredits;
  // With kPause. A frame asks for a pause of so many quanta of 512 bit times. What the far end sends at the most between the
  // decision that it should pause and the end of its last packet must fit into the headroom of each lossless priority.
  std::uint8_t lossless_lanes = 0;     // bit n: priority n
  std::uint16_t pause_quanta = 65535;  // 1 or more
  Duration pause_response{0};          // between a frame's last byte and its effect
  std::uint32_t headroom_bytes = 0;

  friend bool operator==(const LinkParams&, const LinkParams&) = default;
};
// Ends of all cables of a kind share one copy.
using SharedLinkParams = std::shared_ptr<const LinkParams>;

// When the bytes of a packet pass both ends.
struct PassageTimes {
  Instant leaves;  // the last byte has left the sending end
  ArrivalTimes arrival;
};

class Channel {
 public:
  // `far_end`: the receiving port, which the trails of packets name.
  Channel(SharedLinkParams params, ComponentId far_end);

  const LinkParams& params() const { return *params_; }
  // All that the sending end has put on the line; flow control packets use the same line.
  LineClock& line() { return line_; }
  const LineClock& line() const { return line_; }

  // A packet starts now; the line must be free. `wire_bytes` is Packet::wire_bytes(). With a `delay` it arrives that much
  // later, behind those that start after it. `trail` is the packet's.
  PassageTimes transmit(Instant now, std::uint32_t wire_bytes, Trail& trail, Duration delay = Duration(0));

 private:
  void add_to(Trail& trail, Instant head, Duration delay) const;

  LineClock line_;
  const SharedLinkParams params_;
  const ComponentId far_end_;
};

}  // namespace verbatim::fabric
