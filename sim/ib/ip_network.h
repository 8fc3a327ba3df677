// IP addresses of a host's adapters, the networks that they lie in, and which adapter leads to an address. IPv4 addresses are in
// host byte order; as a GID they are mapped into ::ffff:0:0/96.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/ib/packet.h"

namespace verbatim::ib {

// ::ffff:a.b.c.d
Gid ipv4_gid(std::uint32_t address);
// fd00:0:SSSS:SSSS:0:0:a.b.c.d, with the 32 bits of `subnet` in the place of S.
Gid ipv6_gid(std::uint32_t address, std::uint32_t subnet = 0);

// Of IPv4, and the network of IPv6 beside it, which has 64 bits.
struct IpNetwork {
  std::uint32_t address = 0;      // the lowest one
  std::uint32_t prefix_bits = 0;  // 1 to 32
  std::uint32_t subnet6 = 0;      // as of ipv6_gid()

  bool contains(const Gid& ip) const;
  friend auto operator<=>(const IpNetwork&, const IpNetwork&) = default;
};

// Lowest address of the network that `address` lies in; `prefix_bits`: 1 to 32.
constexpr std::uint32_t network_of(std::uint32_t address, std::uint32_t prefix_bits) {
  return address & ~std::uint32_t{0} << (32 - prefix_bits);
}

// An address of each family.
struct IpInterface {
  std::uint32_t address = 0;
  IpNetwork network;

  // Of a host's first adapter: 10.0.0.0/8, or whatever network of this size its address lies in, and fd00::/64.
  static IpInterface of_first(std::uint32_t address);
  // Of another one: the IPv6 network is named by that of IPv4.
  static IpInterface of_further(std::uint32_t address, std::uint32_t prefix_bits);

  Gid v4() const { return ipv4_gid(address); }
  Gid v6() const { return ipv6_gid(address, network.subnet6); }
  // The highest address of its network.
  std::uint32_t broadcast() const { return address | static_cast<std::uint32_t>(0xffff'ffffull >> network.prefix_bits); }
  bool has(const Gid& ip) const { return ip == v4() || ip == v6(); }
};

// What an adapter, by its number on the host, leads to without a router.
struct IpRoute {
  IpNetwork network;
  std::size_t adapter = 0;
};

// Each adapter's own network, in their order, and then, by the first adapter, those of `others` that none of them lies in.
std::vector<IpRoute> routes_of(std::span<const IpInterface> own, std::span<const IpNetwork> others);
// The adapter of the narrowest network that contains the address; of equal ones the first.
std::optional<std::size_t> find_route(std::span<const IpRoute> routes, const Gid& ip);

}  // namespace verbatim::ib
