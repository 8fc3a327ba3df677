#include "sim/cm/private_header.h"

#include <algorithm>

namespace verbatim::cm {

namespace {

constexpr std::size_t kVersionAt = 0, kIpVersionAt = 1, kPortAt = 2, kSourceAt = 4, kDestinationAt = 20;

// IPv4 addresses are in the last four bytes.
void put(const Address& address, std::span<std::byte> to) {
  const std::size_t skipped = address.family == Family::kIpv4 ? 12 : 0;
  for (std::size_t i = skipped; i < 16; ++i) to[i] = std::byte{address.ip.raw[i]};
}

Address get(std::span<const std::byte> from, Family family) {
  Address address;
  address.family = family;
  const std::size_t skipped = family == Family::kIpv4 ? 12 : 0;
  for (std::size_t i = skipped; i < 16; ++i) address.ip.raw[i] = std::to_integer<std::uint8_t>(from[i]);
  if (family == Family::kIpv4) address.ip.raw[10] = address.ip.raw[11] = 0xff;
  return address;
}

}  // namespace

PrivateData PrivateHeader::encode() const {
  PrivateData bytes(kBytes);
  bytes[kIpVersionAt] = source.family == Family::kIpv4 ? std::byte{0x40} : std::byte{0x60};
  bytes[kPortAt] = static_cast<std::byte>(source.port >> 8);
  bytes[kPortAt + 1] = static_cast<std::byte>(source.port);
  put(source, std::span(bytes).subspan(kSourceAt, 16));
  put(destination, std::span(bytes).subspan(kDestinationAt, 16));
  return bytes;
}

std::optional<PrivateHeader> PrivateHeader::decode(std::span<const std::byte> private_data) {
  if (private_data.size() < kBytes || private_data[kVersionAt] != std::byte{0}) return std::nullopt;
  const auto version = std::to_integer<unsigned>(private_data[kIpVersionAt]) >> 4;
  if (version != 4 && version != 6) return std::nullopt;
  const Family family = version == 4 ? Family::kIpv4 : Family::kIpv6;
  PrivateHeader header{get(private_data.subspan(kSourceAt, 16), family), get(private_data.subspan(kDestinationAt, 16), family)};
  header.source.port = static_cast<std::uint16_t>(std::to_integer<unsigned>(private_data[kPortAt]) << 8 |
                                                  std::to_integer<unsigned>(private_data[kPortAt + 1]));
  return header;
}

}  // namespace verbatim::cm
