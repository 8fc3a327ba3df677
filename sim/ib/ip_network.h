// IP addresses of a host's adapters, their networks, and the adapter that leads to an address. IPv4 addresses
// are in host byte order; as GIDs they are mapped into ::ffff:0:0/96.
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
// fd00:0:SSSS:SSSS:0:0:a.b.c.d, with the 32 bits of `subnet` for S.
Gid ipv6_gid(std::uint32_t address, std::uint32_t subnet = 0);

// An IPv4 network and its 64-bit IPv6 counterpart.
struct IpNetwork {
  std::uint32_t address = 0;      // lowest address
  std::uint32_t prefix_bits = 0;  // 1 to 32
  std::uint32_t subnet6 = 0;      // `subnet` of ipv6_gid()

  bool contains(const Gid& ip) const;
  friend auto operator<=>(const IpNetwork&, const IpNetwork&) = default;
};

// Lowest address of the network of `address`; `prefix_bits`: 1 to 32.
constexpr std::uint32_t network_of(std::uint32_t address, std::uint32_t prefix_bits) {
  return address & ~std::uint32_t{0} << (32 - prefix_bits);
}

// An adapter's IPv4 and IPv6 address.
struct IpInterface {
  std::uint32_t address = 0;
  IpNetwork network;

  // A host's first adapter: its networks are the /8 that contains `address` (10.0.0.0/8 by default) and
  // fd00::/64.
  static IpInterface of_first(std::uint32_t address);
  // Another adapter: its IPv6 network is derived from the IPv4 network.
  static IpInterface of_further(std::uint32_t address, std::uint32_t prefix_bits);

  Gid v4() const { return ipv4_gid(address); }
  Gid v6() const { return ipv6_gid(address, network.subnet6); }
  // Highest address of its network.
  std::uint32_t broadcast() const { return address | static_cast<std::uint32_t>(0xffff'ffffull >> network.prefix_bits); }
  bool has(const Gid& ip) const { return ip == v4() || ip == v6(); }
};

// A network that adapter number `adapter` of the host reaches without a router.
struct IpRoute {
  IpNetwork network;
  std::size_t adapter = 0;
};

// Each adapter's own network, in their order; then, by the first adapter, those of `others` that are not an
// adapter's own network.
std::vector<IpRoute> routes_of(std::span<const IpInterface> own, std::span<const IpNetwork> others);
// The adapter of the smallest network that contains the address, the first of equal ones; nullopt: no route.
std::optional<std::size_t> find_route(std::span<const IpRoute> routes, const Gid& ip);

}  // namespace verbatim::ib
