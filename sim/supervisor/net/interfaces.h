// A host's network interfaces, as netlink, netdevice(7), /proc/net and /sys/class/net tell of them: lo, eth0 with the host's
// address, and one for each further adapter, on Ethernet eth1, eth2 …, on InfiniBand ib1, ib2 …, then those of VLANs, as eth0.10.
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
  unsigned flags = 0;       // IFF_…
  std::uint16_t kind = 0;   // ARPHRD_…
  std::uint32_t mtu = 0;
  std::vector<std::uint8_t> hardware, broadcast;  // addresses of the link
  std::optional<std::size_t> device;              // whose interface it is; without one it is virtual
  // Of a VLAN, of which there is one on an interface: its identifier, and the index of that interface.
  struct Vlan {
    std::uint16_t id = 0;
    int parent = 0;
  };
  std::optional<Vlan> vlan;
  IpAddress v4, v6;
  std::uint32_t prefix_bits = 0, prefix6_bits = 0;

  bool is_loopback() const { return index == kLoopbackIndex; }
  std::uint32_t broadcast_v4() const { return v4.as_v4() | static_cast<std::uint32_t>(0xffff'ffffull >> prefix_bits); }
  std::uint32_t mask_v4() const { return ib::network_of(~std::uint32_t{0}, prefix_bits); }
};

// In the order of their indices.
std::vector<Interface> interfaces_of(const HostSpec& host);
// Index of the interface of the host's adapter with that number.
constexpr int interface_index(std::size_t adapter) { return kEthernetIndex + static_cast<int>(adapter); }

// Where the host's adapter with that number is on the PCI bus: "0000:01:00.0".
std::string bus_address(std::size_t adapter);

// Addresses of the host's adapters, and what each adapter leads to.
std::vector<ib::IpInterface> addresses_of(const HostSpec& host);
std::vector<ib::IpRoute> routes_of(const HostSpec& host);
// The bytes, two digits each, with colons between them.
std::string hardware_text(const std::vector<std::uint8_t>& address);

}  // namespace verbatim::supervisor
