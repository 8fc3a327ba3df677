// The private data header and the service IDs of connections between IP addresses (IBA annex A11).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/cm/address.h"
#include "sim/cm/connection.h"

namespace verbatim::cm {

// Bytes 4 and 5 of a service ID are the protocol; Linux uses the port space.
constexpr std::uint64_t ip_service_id(PortSpace space, std::uint16_t port) {
  return std::uint64_t{static_cast<std::uint16_t>(space)} << 16 | port;
}
constexpr bool is_ip_service(std::uint64_t service) {
  const std::uint64_t space = service >> 16;
  return space == static_cast<std::uint64_t>(PortSpace::kTcp) || space == static_cast<std::uint64_t>(PortSpace::kUdp) ||
         space == static_cast<std::uint64_t>(PortSpace::kIpoib);
}

struct PrivateHeader {
  static constexpr std::size_t kBytes = 36;
  Address source, destination;  // only the source has a port

  PrivateData encode() const;
  static std::optional<PrivateHeader> decode(std::span<const std::byte> private_data);
};

}  // namespace verbatim::cm
