// Addresses of multicast groups. On InfiniBand the LID identifies a multicast packet (IBA 4.1.3, 9.2.3.2). On
// Ethernet the MAC address does, which is derived from the group's GID: an IPv6 multicast address, or an IPv4
// one mapped into IPv6 (IBA annex A17.4.5; RFC 2464 section 7, RFC 1112 section 6.4).
#pragma once

#include <cstdint>

#include "sim/ib/lid_ranges.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

// ff00::/8, or ::ffff:224.0.0.0/100.
constexpr bool is_multicast(const Gid& gid) {
  constexpr std::uint8_t kIpv6Group = 0xff, kIpv4Groups = 0xe;
  return gid.raw[0] == kIpv6Group || (is_ipv4_mapped(gid) && gid.raw[12] >> 4 == kIpv4Groups);
}

// 33:33 and the last four bytes of an IPv6 address; 01:00:5e and the last 23 bits of an IPv4 address.
constexpr MacAddress group_mac(const Gid& gid) {
  constexpr std::uint64_t kIpv6Prefix = 0x3333'0000'0000, kIpv4Prefix = 0x0100'5e00'0000;
  const std::uint64_t last = std::uint64_t{gid.raw[13]} << 16 | std::uint64_t{gid.raw[14]} << 8 | gid.raw[15];
  if (is_ipv4_mapped(gid)) return MacAddress{kIpv4Prefix | (last & 0x7fffff)};
  return MacAddress{kIpv6Prefix | std::uint64_t{gid.raw[12]} << 24 | last};
}

constexpr bool is_to_group(const Packet& packet) {
  return packet.ethernet ? is_group(packet.ethernet->destination) : is_multicast(packet.lrh.destination);
}

}  // namespace verbatim::ib
