#include "sim/config/host_addresses.h"

#include <algorithm>

#include "sim/ib/group_address.h"

namespace verbatim::config {

HostAddresses::HostAddresses(const TopologySpec& topology, std::size_t host, const std::vector<cm::PortFacts>& ports)
    : topology_(topology), host_(host), ports_(ports), adapters_(topology.adapters_of(host)), routes_(topology.routes_of(host)) {}

bool HostAddresses::has_ip(std::size_t adapter, const ib::Gid& ip) const {
  const auto has = [&](const VlanSpec& vlan) { return vlan.interface.has(ip); };
  return topology_.interface_of(adapter).has(ip) || std::ranges::any_of(topology_.vlans_of(topology_.adapters[adapter]), has);
}

std::optional<cm::AddressBook::Station> HostAddresses::find(const cm::Address& address) const {
  if (ib::is_multicast(address.ip)) return Station{address.ip, 0};  // needs no route or path query
  for (std::size_t i = 0; i < topology_.adapters.size(); ++i) {
    const std::vector<ib::Gid>& gids = ports_[i].gids;
    // The link-local address contains the port's GUID or MAC address.
    const bool has = address.family == cm::Family::kIb ? std::ranges::find(gids, address.ip) != gids.end()
                                                       : has_ip(i, address.ip) || address.ip == gids.front();
    if (!has) continue;
    const bool names_port = address.family == cm::Family::kIb || topology_.is_roce();
    Station station{names_port ? address.ip : gids.front(), std::nullopt};
    if (topology_.adapters[i].host == host_) station.own = topology_.adapters[i].number;
    return station;
  }
  return std::nullopt;
}

bool HostAddresses::reaches(const cm::Address& address) const {
  if (ib::is_multicast(address.ip)) return true;
  switch (address.family) {
    case cm::Family::kIpv4:
      return ib::find_route(routes_, address.ip).has_value();
    case cm::Family::kIpv6:
      return address.ip.raw[0] == 0xfd || address.is_link_local() || address.is_loopback();
    case cm::Family::kIb:
      return true;
    case cm::Family::kNone:
      break;
  }
  return false;
}

std::size_t HostAddresses::adapter_for(const cm::Address& destination) const {
  if (destination.is_link_local()) {
    const std::uint64_t first = AdapterSpec::kFirstInterface;
    const bool is_interface = destination.scope >= first && destination.scope < first + adapters_.size();
    return is_interface ? static_cast<std::size_t>(destination.scope - first) : 0;
  }
  if (const auto station = find(destination); station && station->own) return *station->own;
  return ib::find_route(routes_, destination.ip).value_or(0);
}

cm::Address HostAddresses::own_for(const cm::Address& destination, std::size_t adapter) const {
  cm::Address address;
  address.family = destination.family;
  const std::size_t index = adapters_.at(adapter);
  ib::IpInterface own = topology_.interface_of(index);
  // The narrowest network that contains the destination, as in route selection.
  for (const VlanSpec& vlan : topology_.vlans_of(topology_.adapters[index])) {
    const bool is_in_own = own.network.contains(destination.ip);
    if (!vlan.interface.network.contains(destination.ip)) continue;
    if (!is_in_own || vlan.interface.network.prefix_bits > own.network.prefix_bits) own = vlan.interface;
  }
  const bool is_ports = destination.family == cm::Family::kIb || destination.is_link_local();
  address.ip = is_ports                                   ? ports_[index].gids.front()
               : destination.family == cm::Family::kIpv4 ? own.v4()
                                                          : own.v6();
  return address;
}

}  // namespace verbatim::config
