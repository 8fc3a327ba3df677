// Sizes in bytes of the parts of packets and frames (IBA 5.2, 9.2; annex A17).
#pragma once

#include <cstdint>

namespace verbatim::ib {

inline constexpr std::uint32_t kLrhBytes = 8;
inline constexpr std::uint32_t kGrhBytes = 40;
inline constexpr std::uint32_t kBthBytes = 12;
// Bits of the byte after the P_Key in the BTH; the other six are reserved.
inline constexpr std::uint32_t kFecn = 0x80;
inline constexpr std::uint32_t kBecn = 0x40;
inline constexpr std::uint32_t kIcrcBytes = 4;
inline constexpr std::uint32_t kVcrcBytes = 2;
inline constexpr std::uint32_t kEthernetBytes = 14;
inline constexpr std::uint32_t kVlanTagBytes = 4;
inline constexpr std::uint16_t kTypeVlan = 0x8100;
inline constexpr std::uint32_t kIpv4Bytes = 20;
inline constexpr std::uint32_t kIpv6Bytes = 40;
inline constexpr std::uint32_t kUdpBytes = 8;
inline constexpr std::uint32_t kFrameCheckBytes = 4;
inline constexpr std::uint32_t kLargestPayload = 4096;

}  // namespace verbatim::ib
