// Network interfaces of a host in netlink, netdevice(7), /proc/net and /sys/class/net: lo; eth0 with the
// host's address, on InfiniBand also found by the name ib0; one for each further adapter (eth1, eth2 … on Ethernet,
// ib1, ib2 … on InfiniBand); then VLANs, such as eth0.10.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/ib/ip_network.h"
#include "sim/supervisor/net/internet.h"

namespace verbatim::supervisor {

struct Interface {
  int index = 0;
  std::string name;
  std::string other_name;   // of Linux (ip link property add altname): found by it, not listed; empty: none
  unsigned flags = 0;       // IFF_…
  std::uint16_t kind = 0;   // ARPHRD_…
  std::uint32_t mtu = 0;
  std::vector<std::uint8_t> hardware, broadcast;  // link-layer addresses
  std::optional<std::size_t> device;              // adapter of the host; nullopt: virtual interface
  // VLAN identifier, and index of the parent interface. An interface has at most one VLAN.
  struct Vlan {
    std::uint16_t id = 0;
    int parent = 0;
  };
  std::optional<Vlan> vlan;
  IpAddress v4, v6;
  std::uint32_t prefix_bits = 0, prefix6_bits = 0;

  bool has_name(const std::string& wanted) const { return !wanted.empty() && (name == wanted || other_name == wanted); }
  bool is_loopback() const { return index == kLoopbackIndex; }
  std::uint32_t broadcast_v4() const { return v4.as_v4() | static_cast<std::uint32_t>(0xffff'ffffull >> prefix_bits); }
  std::uint32_t mask_v4() const { return ib::network_of(~std::uint32_t{0}, prefix_bits); }
};

// Ordered by index.
std::vector<Interface> interfaces_of(const HostSpec& host);
// Interface index of the host's adapter with that number.
constexpr int interface_index(std::size_t adapter) { return kEthernetIndex + static_cast<int>(adapter); }

// PCI address of the host's adapter with that number: "0000:01:00.0".
std::string bus_address(std::size_t adapter);

// IP addresses of the host's adapters, and the networks that each adapter reaches.
std::vector<ib::IpInterface> addresses_of(const HostSpec& host);
std::vector<ib::IpRoute> routes_of(const HostSpec& host);
// Bytes as two hexadecimal digits each, separated by colons.
std::string hardware_text(const std::vector<std::uint8_t>& address);

}  // namespace verbatim::supervisor
