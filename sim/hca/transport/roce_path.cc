#include "sim/hca/transport/roce_path.h"

#include <algorithm>

#include "sim/core/check.h"
#include "sim/ib/group_address.h"

namespace verbatim::hca {

const PortAddress::VlanEntry* PortAddress::vlan_entry(std::size_t index) const {
  const auto found = std::ranges::find(vlan_entries, index, &VlanEntry::index);
  return found == vlan_entries.end() ? nullptr : &*found;
}

std::uint16_t PortAddress::vlan_of(const ib::Gid& gid) const {
  const auto found = std::ranges::find_if(vlan_entries, [&](const VlanEntry& entry) { return gids[entry.index] == gid; });
  return found == vlan_entries.end() ? 0 : found->vlan;
}

bool PortAddress::has_vlan_of(const ib::Packet& packet) const {
  const std::uint16_t vlan = packet.ethernet->vlan & ib::kVlanIdentifier;
  if (!ib::is_to_group(packet)) return (packet.grh ? vlan_of(packet.grh->destination) : 0) == vlan;
  return vlan == 0 || std::ranges::find(vlan_entries, vlan, &VlanEntry::vlan) != vlan_entries.end();
}

void set_ethernet(ib::Packet& packet, const PortAddress& address, std::uint32_t number) {
  CHECK(packet.grh.has_value());  // a path without one was refused
  ib::Grh& grh = *packet.grh;
  packet.lrh.source = packet.lrh.destination = {};
  const ib::MacAddress to = ib::is_multicast(grh.destination)
                                ? ib::group_mac(grh.destination)
                                : address.neighbours->find(grh.destination).value_or(ib::MacAddress{});
  // A17.3.2.2 leaves the UDP source port to the sender: different flows should have different ports, for
  // different routes (ECMP). It is a hash of the flow label, or of the two queue pair numbers, as Linux
  // computes it.
  std::uint64_t flow = grh.flow_label;
  if (flow == 0) {
    flow = std::uint64_t{number} * packet.bth.destination.value;
    flow ^= flow >> 20;
    flow ^= flow >> 40;
    flow &= 0xfffff;
  }
  const std::uint64_t port = ((flow & 0x3fff) ^ flow >> 14) | 0xc000;
  if (ib::is_over_ipv4(packet)) grh.flow_label = 0;
  constexpr std::uint8_t kHopLimit = 64;  // for a path without one
  if (grh.hop_limit == 0) grh.hop_limit = kHopLimit;
  const std::uint16_t vlan = address.vlan_of(grh.source);
  const int priority = vlan == 0 ? 0 : packet.lrh.service_level.value << ib::kVlanPriorityShift;
  packet.ethernet = ib::Ethernet{address.mac, to, static_cast<std::uint16_t>(port), static_cast<std::uint16_t>(priority | vlan)};
}

}  // namespace verbatim::hca
