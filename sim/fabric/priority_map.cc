#include "sim/fabric/priority_map.h"

#include "sim/core/check.h"
#include "sim/ib/frame.h"

namespace verbatim::fabric {

PriorityMap::PriorityMap(std::string_view trust, const std::vector<DscpMapping>& given)
    : trust_(trust == "dscp" ? Trust::kDscp : Trust::kPcp) {
  CHECK(trust == "dscp" || trust == "pcp");
  for (const DscpMapping& mapping : given) {
    CHECK(mapping.first <= mapping.last && mapping.last < kDscps && mapping.priority < kPriorities);
  }
  by_dscp_ = priorities_of(given);
}

std::uint8_t PriorityMap::dscp_of(const ib::Packet& packet) {
  if (!packet.is_frame) return packet.grh->traffic_class >> kDscpShift;
  const ib::FrameLayer headers = ib::parse_frame(packet.payload.bytes()).outer;
  const auto byte = [](std::span<const std::byte> header, std::size_t at) { return std::to_integer<std::uint8_t>(header[at]); };
  if (!headers.ipv4.empty()) return byte(headers.ipv4, 1) >> kDscpShift;
  // The traffic class spans the lower half of the first byte and the upper half of the second (RFC 8200 3).
  if (!headers.ipv6.empty()) return static_cast<std::uint8_t>((byte(headers.ipv6, 0) & 0xf) << 2 | byte(headers.ipv6, 1) >> 6);
  return ib::Ethernet::kNoDscp;
}

ib::ServiceLevel PriorityMap::of(ib::Packet& packet) const {
  ib::Ethernet& ethernet = *packet.ethernet;
  if (trust_ != Trust::kDscp) {
    const std::uint16_t tag = packet.is_frame ? ib::parse_frame(packet.payload.bytes()).outer.vlan.value_or(0) : ethernet.vlan;
    return ib::ServiceLevel{static_cast<std::uint8_t>(tag >> ib::kVlanPriorityShift)};
  }
  if (ethernet.dscp == ib::Ethernet::kUnknownDscp) ethernet.dscp = dscp_of(packet);
  return ib::ServiceLevel{ethernet.dscp == ib::Ethernet::kNoDscp ? std::uint8_t{0} : by_dscp_[ethernet.dscp]};
}

}  // namespace verbatim::fabric
