#include "sim/ib/headers.h"

#include <cstring>

#include "sim/core/check.h"

namespace verbatim::ib {

void write_grh(const Packet& packet, std::span<std::byte, kGrhBytes> to) {
  CHECK(packet.grh.has_value());
  constexpr std::uint32_t kIpVersion = 6;
  constexpr std::uint8_t kNextHeader = 0x1b;
  constexpr std::uint32_t kLrhBytes = 8, kVcrcBytes = 2;
  const Grh& grh = *packet.grh;
  const auto put = [&](std::size_t at, std::uint32_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      to[at + i] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)));
    }
  };
  put(0, kIpVersion << 28 | std::uint32_t{grh.traffic_class} << 20 | (grh.flow_label & 0xfffff), 4);
  // IBA 8.3.3: bytes from the end of the GRH to the end of the ICRC.
  put(4, packet.wire_bytes() - kLrhBytes - kGrhBytes - kVcrcBytes, 2);
  put(6, kNextHeader, 1);
  put(7, grh.hop_limit, 1);
  std::memcpy(&to[8], grh.source.raw, sizeof(grh.source.raw));
  std::memcpy(&to[24], grh.destination.raw, sizeof(grh.destination.raw));
}

}  // namespace verbatim::ib
