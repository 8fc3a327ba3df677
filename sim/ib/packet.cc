#include "sim/ib/packet.h"

#include "sim/ib/wire.h"

namespace verbatim::ib {

std::uint32_t Packet::wire_bytes() const {
  const std::uint32_t padded = (payload.length + 3) & ~3u;
  const std::uint32_t transport = kBthBytes + info(bth.opcode).extended_header_bytes + padded + kIcrcBytes;
  if (!ethernet) return kLrhBytes + (grh ? kGrhBytes : 0) + transport + kVcrcBytes;
  // Always more than the 64 bytes that a frame must have.
  return kEthernetBytes + (is_over_ipv4(*this) ? kIpv4Bytes : kIpv6Bytes) + kUdpBytes + transport +
         kFrameCheckBytes;
}

}  // namespace verbatim::ib
