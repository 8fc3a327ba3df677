#include "sim/ib/packet.h"

namespace verbatim::ib {

namespace {
constexpr std::uint32_t kLrhBytes = 8;
constexpr std::uint32_t kGrhBytes = 40;
constexpr std::uint32_t kBthBytes = 12;
constexpr std::uint32_t kIcrcBytes = 4;
constexpr std::uint32_t kVcrcBytes = 2;
}  // namespace

std::uint32_t Packet::wire_bytes() const {
  const std::uint32_t padded = (payload.length + 3) & ~3u;
  return kLrhBytes + (grh ? kGrhBytes : 0) + kBthBytes + info(bth.opcode).extended_header_bytes + padded +
         kIcrcBytes + kVcrcBytes;
}

}  // namespace verbatim::ib
