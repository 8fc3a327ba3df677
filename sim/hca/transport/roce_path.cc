#include "sim/hca/transport/roce_path.h"

#include "sim/core/check.h"
#include "sim/ib/group_address.h"

namespace verbatim::hca {

void set_ethernet(ib::Packet& packet, const PortAddress& address, std::uint32_t number) {
  CHECK(packet.grh.has_value());  // a path without one was refused
  ib::Grh& grh = *packet.grh;
  packet.lrh.source = packet.lrh.destination = {};
  const ib::MacAddress to = ib::is_multicast(grh.destination)
                                ? ib::group_mac(grh.destination)
                                : address.neighbours->find(grh.destination).value_or(ib::MacAddress{});
  // A17.3.2.2 leaves the port to the sender: different flows should have different ones, so that they may take
  // different ways. The flow label gives it, or the two queue pairs, folded as Linux does.
  std::uint64_t flow = grh.flow_label;
  if (flow == 0) {
    flow = std::uint64_t{number} * packet.bth.destination.value;
    flow ^= flow >> 20;
    flow ^= flow >> 40;
    flow &= 0xfffff;
  }
  const std::uint64_t port = ((flow & 0x3fff) ^ flow >> 14) | 0xc000;
  if (ib::is_over_ipv4(packet)) grh.flow_label = 0;
  constexpr std::uint8_t kHopLimit = 64;  // of a path that names none
  if (grh.hop_limit == 0) grh.hop_limit = kHopLimit;
  packet.ethernet = ib::Ethernet{address.mac, to, static_cast<std::uint16_t>(port)};
}

}  // namespace verbatim::hca
