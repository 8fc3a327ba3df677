#include "sim/ib/ip_network.h"

#include <algorithm>

namespace verbatim::ib {

namespace {

constexpr std::uint32_t kFirstNetworkBits = 8;
constexpr std::size_t kNetwork6Bytes = 8;

}  // namespace

Gid ipv4_gid(std::uint32_t address) {
  Gid gid;
  gid.raw[10] = gid.raw[11] = 0xff;
  for (int i = 0; i < 4; ++i) gid.raw[12 + i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
  return gid;
}

Gid ipv6_gid(std::uint32_t address, std::uint32_t subnet) {
  Gid gid = ipv4_gid(address);
  gid.raw[10] = gid.raw[11] = 0;
  gid.raw[0] = 0xfd;
  for (int i = 0; i < 4; ++i) gid.raw[4 + i] = static_cast<std::uint8_t>(subnet >> (24 - 8 * i));
  return gid;
}

bool IpNetwork::contains(const Gid& ip) const {
  if (!is_ipv4_mapped(ip)) {
    const Gid lowest = ipv6_gid(0, subnet6);
    return std::equal(ip.raw, ip.raw + kNetwork6Bytes, lowest.raw);
  }
  std::uint32_t value = 0;
  for (int i = 12; i < 16; ++i) value = value << 8 | ip.raw[i];
  return network_of(value, prefix_bits) == address;
}

IpInterface IpInterface::of_first(std::uint32_t address) {
  return {address, {network_of(address, kFirstNetworkBits), kFirstNetworkBits, 0}};
}

IpInterface IpInterface::of_further(std::uint32_t address, std::uint32_t prefix_bits) {
  const std::uint32_t network = network_of(address, prefix_bits);
  return {address, {network, prefix_bits, network}};
}

std::vector<IpRoute> routes_of(std::span<const IpInterface> own, std::span<const IpNetwork> others) {
  std::vector<IpRoute> routes;
  for (std::size_t i = 0; i < own.size(); ++i) routes.push_back({own[i].network, i});
  for (const IpNetwork& other : others) {
    const auto is_in = [&](const IpInterface& interface) { return interface.network == other; };
    if (std::none_of(own.begin(), own.end(), is_in)) routes.push_back({other, 0});
  }
  return routes;
}

std::optional<std::size_t> find_route(std::span<const IpRoute> routes, const Gid& ip) {
  const IpRoute* best = nullptr;
  for (const IpRoute& route : routes) {
    if (!route.network.contains(ip)) continue;
    if (best == nullptr || route.network.prefix_bits > best->network.prefix_bits) best = &route;
  }
  return best == nullptr ? std::nullopt : std::optional(best->adapter);
}

}  // namespace verbatim::ib
