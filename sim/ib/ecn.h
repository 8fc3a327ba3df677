// Explicit congestion notification of IP (RFC 3168): the low two bits of the traffic class. Switches change
// them, so the ICRC does not cover them.
#pragma once

#include <cstdint>

#include "sim/ib/packet.h"

namespace verbatim::ib {

enum class Ecn : std::uint8_t {
  kNotCapable = 0,           // Not-ECT: a congested switch may only drop the packet
  kCapable1 = 1,             // ECT(1)
  kCapable0 = 2,             // ECT(0), sent by adapters
  kCongestionExperienced = 3,  // CE
};
inline constexpr std::uint8_t kEcnBits = 3;
inline constexpr int kDscpShift = 2;  // position of the DSCP in the traffic class

constexpr Ecn ecn_of(std::uint8_t traffic_class) { return static_cast<Ecn>(traffic_class & kEcnBits); }
constexpr std::uint8_t with_ecn(std::uint8_t traffic_class, Ecn ecn) {
  return static_cast<std::uint8_t>((traffic_class & ~kEcnBits) | static_cast<std::uint8_t>(ecn));
}

// Codepoint of a RoCEv2 packet; kNotCapable for every other packet.
inline Ecn ecn_of(const Packet& packet) {
  if (!packet.ethernet || packet.is_frame || !packet.grh) return Ecn::kNotCapable;
  return ecn_of(packet.grh->traffic_class);
}
// Marks a packet as a congested switch does; its codepoint must not be kNotCapable.
inline void mark_congestion(Packet& packet) {
  packet.grh->traffic_class = with_ecn(packet.grh->traffic_class, Ecn::kCongestionExperienced);
}

}  // namespace verbatim::ib
