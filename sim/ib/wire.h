// Packets as bytes: InfiniBand from the LRH to the VCRC (IBA 5.2), RoCEv2 as an Ethernet frame without its
// frame check sequence (annex A17). Used by observers: captures, tests, fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/ib/header_sizes.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

// The GRH of a packet as a datagram's receiver gets it, before the payload (IBA 8.3: version 6, next header
// 0x1b); for a RoCEv2 packet the IP header, with IPv4 in the last 20 of the 40 bytes (A17.4.5.1). The packet
// must have a GRH.
void write_grh(const Packet& packet, std::span<std::byte, kGrhBytes> to);

// Replaces the content of `to` by the bytes of a packet with a defined opcode. Both CRCs are correct, except
// the ICRC of a corrupted packet, as its original bytes are not known.
void encode(const Packet& packet, std::vector<std::byte>& to);

// Positions of the parts of a packet that matter for the ICRC.
struct FrameShape {
  enum Kind : std::uint8_t { kInfiniBand, kRoceIpv4, kRoceIpv6 } kind = kInfiniBand;
  std::size_t bth_at = 0;
  std::size_t ethernet_bytes = kEthernetBytes;  // includes a VLAN tag
};
// ICRC of the bytes of a packet that precede it (IBA 7.8.1, A17.3.3). Lane, traffic class, flow label, hop
// limit, their counterparts in IPv4, checksums and congestion bits count as ones.
std::uint32_t icrc_of(std::span<const std::byte> bytes, const FrameShape& shape);

struct Decoded {
  Packet packet;
  bool icrc_matches = false;
  bool vcrc_matches = false;  // InfiniBand only
  // Empty if the packet is well formed: all lengths fit, whatever the CRCs are.
  std::string_view problem;
};
// Accept any bytes; reserved fields are ignored.
Decoded decode_infiniband(std::span<const std::byte> bytes);
Decoded decode_ethernet(std::span<const std::byte> bytes);

}  // namespace verbatim::ib
