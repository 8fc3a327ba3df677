#include "sim/supervisor/net/interfaces.h"

#include <fmt/format.h>
#include <linux/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <algorithm>

namespace verbatim::supervisor {

namespace {

constexpr std::uint32_t kEthernetMtu = 1500, kDatagramMtu = 2044;
constexpr std::size_t kMacBytes = 6;

std::vector<std::uint8_t> big_endian(std::uint64_t value, std::size_t bytes) {
  std::vector<std::uint8_t> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
  return all;
}

// IPoIB hardware address (RFC 4391, 9.1.1): flags and QPN, both 0 because no such QP exists here, and the
// GID.
std::vector<std::uint8_t> infiniband_hardware(const ib::Gid& gid) {
  constexpr std::size_t kBefore = 4;
  std::vector<std::uint8_t> all(kBefore + sizeof gid.raw);
  std::ranges::copy(gid.raw, all.begin() + kBefore);
  return all;
}

// RFC 4391, 4 and 5: QPN of all ones, and the broadcast group of the default partition.
const std::vector<std::uint8_t> kInfinibandBroadcast = {0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
                                                        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff};

void set_link(Interface& interface, const HostSpec& host, std::size_t device) {
  constexpr std::uint64_t kFirstMac = 0x0200;  // first bytes of the MAC, before the IPv4 address
  const hca::Hca* const hca = device < host.devices.size() ? host.devices[device] : nullptr;
  interface.kind = ARPHRD_ETHER;
  interface.mtu = hca != nullptr && hca->address().interface_mtu != 0 ? hca->address().interface_mtu : kEthernetMtu;
  interface.broadcast.assign(kMacBytes, 0xff);
  if (hca != nullptr) interface.device = device;
  if (device == 0 || hca == nullptr) {
    interface.name = "eth" + std::to_string(device);
    // Configurations for IPoIB, such as /etc/dat.conf, name the interface that has the address of rdma_cm.
    if (hca != nullptr && !hca->address().roce) interface.other_name = "ib0";
    interface.hardware = big_endian(kFirstMac << 32 | interface.v4.as_v4(), kMacBytes);
  } else if (hca->address().roce) {
    interface.name = "eth" + std::to_string(device);
    interface.hardware = big_endian(hca->address().mac.value, kMacBytes);
  } else {
    interface.name = "ib" + std::to_string(device);
    interface.kind = ARPHRD_INFINIBAND;
    interface.mtu = kDatagramMtu;
    interface.hardware = infiniband_hardware(hca->address().gids.front());
    interface.broadcast = kInfinibandBroadcast;
  }
}

}  // namespace

std::string bus_address(std::size_t adapter) { return fmt::format("0000:{:02x}:00.0", adapter + 1); }

std::vector<ib::IpInterface> addresses_of(const HostSpec& host) {
  std::vector<ib::IpInterface> addresses{ib::IpInterface::of_first(host.address)};
  addresses.insert(addresses.end(), host.further_interfaces.begin(), host.further_interfaces.end());
  return addresses;
}

std::vector<ib::IpRoute> routes_of(const HostSpec& host) { return ib::routes_of(addresses_of(host), host.further_networks); }

std::vector<Interface> interfaces_of(const HostSpec& host) {
  Interface loopback;
  loopback.index = kLoopbackIndex;
  loopback.name = "lo";
  loopback.flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING | IFF_LOWER_UP;
  loopback.kind = ARPHRD_LOOPBACK;
  loopback.mtu = 65536;
  loopback.hardware.assign(kMacBytes, 0);
  loopback.broadcast = loopback.hardware;
  loopback.v4 = IpAddress::v4(INADDR_LOOPBACK);
  loopback.prefix_bits = 8;
  loopback.v6 = IpAddress::v6_loopback();
  loopback.prefix6_bits = 128;
  std::vector<Interface> all{std::move(loopback)};
  const std::vector<ib::IpInterface> addresses = addresses_of(host);
  const std::size_t first_vlan = addresses.size() - host.vlans.size();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    Interface& interface = all.emplace_back();
    interface.index = interface_index(i);
    interface.flags = IFF_UP | IFF_BROADCAST | IFF_RUNNING | IFF_LOWER_UP | IFF_MULTICAST;
    interface.v4 = IpAddress::v4(addresses[i].address);
    interface.prefix_bits = addresses[i].network.prefix_bits;
    interface.v6 = IpAddress::v6(addresses[i].v6().raw);
    interface.prefix6_bits = 64;
    if (i < first_vlan) {
      set_link(interface, host, i);
      continue;
    }
    const HostSpec::Vlan& vlan = host.vlans[i - first_vlan];
    const Interface& parent = all[static_cast<std::size_t>(interface_index(vlan.device)) - kLoopbackIndex];
    interface.name = fmt::format("{}.{}", parent.name, vlan.id);
    interface.kind = parent.kind;
    interface.mtu = parent.mtu;
    interface.hardware = parent.hardware;
    interface.broadcast = parent.broadcast;
    interface.vlan = {vlan.id, parent.index};
  }
  return all;
}

std::string hardware_text(const std::vector<std::uint8_t>& address) {
  std::string text;
  for (const std::uint8_t byte : address) text += fmt::format("{}{:02x}", text.empty() ? "" : ":", byte);
  return text;
}

}  // namespace verbatim::supervisor
