// Addresses as librdmacm programs pass them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "sim/ib/packet.h"

namespace verbatim::cm {

// Values of rdma_port_space.
enum class PortSpace : std::uint16_t { kIpoib = 0x0002, kTcp = 0x0106, kUdp = 0x0111, kIb = 0x013f };

enum class Family : std::uint8_t { kNone, kIpv4, kIpv6, kIb };

struct Address {
  Family family = Family::kNone;
  ib::Gid ip;               // IPv4: mapped; AF_IB: the GID
  std::uint16_t port = 0;   // IP addresses only
  std::uint64_t scope = 0;  // AF_IB; IPv6: the interface of a link-local address
  // AF_IB only.
  std::uint16_t pkey = 0;
  std::uint32_t flow_info = 0;
  std::uint64_t service_id = 0, service_mask = 0;

  // Whether the address belongs to no particular adapter. Linux's connection manager treats the loopback
  // address as a wildcard as well (cma_any_addr).
  bool is_any() const { return is_zero() || is_loopback(); }
  bool is_zero() const {
    const std::uint8_t* begin = ip.raw + (family == Family::kIpv4 ? 12 : 0);
    return std::all_of(begin, std::end(ip.raw), [](std::uint8_t byte) { return byte == 0; });
  }
  bool is_loopback() const {
    if (family == Family::kIpv4) return ip.raw[12] == 127;
    const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
    return family == Family::kIpv6 && ip.raw[15] == 1 && std::all_of(ip.raw, ip.raw + 15, is_zero);
  }
  // fe80::/10 (RFC 4291, 2.5.6).
  bool is_link_local() const { return family == Family::kIpv6 && ip.raw[0] == 0xfe && (ip.raw[1] & 0xc0) == 0x80; }
};

}  // namespace verbatim::cm
