// Packets as bytes: InfiniBand from the LRH to the VCRC (IBA 5.2), RoCEv2 as an Ethernet frame without its
// frame check sequence (annex A17). Made for those who look: captures, tests, fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/ib/header_sizes.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

// The GRH of a packet as a datagram's receiver gets it, ahead of the payload (IBA 8.3: version 6, next header
// 0x1b); from a RoCEv2 packet the IP header, IPv4 in the last 20 of the 40 bytes (A17.4.5.1). The packet has
// one.
void write_grh(const Packet& packet, std::span<std::byte, kGrhBytes> to);

// Replaces what is in `to` by the bytes of a packet with a defined opcode. Both CRCs are right, but the ICRC
// of a corrupted packet: that of what was sent is no longer known.
void encode(const Packet& packet, std::vector<std::byte>& to);

// Where the parts of a packet lie, as far as the ICRC has to know.
struct FrameShape {
  enum Kind : std::uint8_t { kInfiniBand, kRoceIpv4, kRoceIpv6 } kind = kInfiniBand;
  std::size_t bth_at = 0;
  std::size_t ethernet_bytes = kEthernetBytes;  // with a VLAN tag
};
// The ICRC of the bytes of a packet up to where it stands (IBA 7.8.1, A17.3.3): lane, traffic class, flow
// label, hop limit, their like in IPv4, checksums and the congestion bits count as ones.
std::uint32_t icrc_of(std::span<const std::byte> bytes, const FrameShape& shape);

struct Decoded {
  Packet packet;
  bool icrc_matches = false;
  bool vcrc_matches = false;  // InfiniBand only
  // What is wrong; empty when the packet is well formed. Then every length fits, whatever the CRCs are.
  std::string_view problem;
};
// Any bytes; reserved fields are not looked at.
Decoded decode_infiniband(std::span<const std::byte> bytes);
Decoded decode_ethernet(std::span<const std::byte> bytes);

}  // namespace verbatim::ib
