// Priorities 0 to 7 of Ethernet packets (IEEE 802.1Q 6.9.3): from the priority code point (PCP) of the VLAN
// tag, or from the DSCP of the IP header (RFC 2474). An adapter has a map for outgoing packets; each switch
// has its own and classifies arriving packets anew. The priority takes the place of the InfiniBand service
// level, which selects the lane (lane_table.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/ib/packet.h"

namespace verbatim::fabric {

// The priority of a range of DSCP values.
struct DscpMapping {
  std::string dscp;            // as written: "26", or "24-31"
  std::uint32_t priority = 0;  // 0 … 7

  std::uint32_t first = 0, last = 0;  // resolved: 0 … 63
};

inline constexpr std::uint32_t kDscps = 64;

// Priority of each DSCP. Omitted values have the priority DSCP / 8 (class selectors of RFC 2474).
inline std::array<std::uint8_t, kDscps> priorities_of(const std::vector<DscpMapping>& given) {
  std::array<std::uint8_t, kDscps> all{};
  for (std::uint32_t dscp = 0; dscp < kDscps; ++dscp) all[dscp] = static_cast<std::uint8_t>(dscp / 8);
  for (const DscpMapping& mapping : given) {
    const auto priority = static_cast<std::uint8_t>(mapping.priority);
    for (std::uint32_t dscp = mapping.first; dscp <= mapping.last; ++dscp) all[dscp] = priority;
  }
  return all;
}

class PriorityMap {
 public:
  static constexpr std::uint32_t kDscps = fabric::kDscps, kPriorities = 8;

  // The map of InfiniBand: the packets of a path have its service level.
  PriorityMap() = default;
  // `trust` is "pcp" or "dscp".
  PriorityMap(std::string_view trust, const std::vector<DscpMapping>& given);

  // Priority of packets that an adapter sends on a path.
  ib::ServiceLevel of_path(std::uint8_t service_level, std::uint8_t traffic_class) const {
    if (trust_ == Trust::kServiceLevel) return ib::ServiceLevel{service_level};
    if (trust_ == Trust::kPcp) return ib::ServiceLevel{static_cast<std::uint8_t>(service_level % kPriorities)};
    return ib::ServiceLevel{by_dscp_[traffic_class >> kDscpShift]};
  }
  // Priority of a RoCE packet or frame by its headers on the wire; it must have `ethernet`. 0 by PCP
  // without a tag, and by DSCP for a frame that is not IP (Linux mlxsw: the port's default priority, QPDP).
  // The DSCP is cached in the packet for later switches.
  ib::ServiceLevel of(ib::Packet& packet) const;

 private:
  enum class Trust : std::uint8_t { kServiceLevel, kPcp, kDscp };
  static constexpr int kDscpShift = 2;  // position in a traffic class, above the ECN bits

  static std::uint8_t dscp_of(const ib::Packet& packet);

  Trust trust_ = Trust::kServiceLevel;
  std::array<std::uint8_t, kDscps> by_dscp_{};
};

}  // namespace verbatim::fabric
