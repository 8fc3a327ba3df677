// Headers as bytes on the wire, for those who need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/ib/packet.h"

namespace verbatim::ib {

// Room for a global route header, also at the head of every buffer that receives datagrams.
inline constexpr std::uint32_t kGrhBytes = 40;

// The global route header of a packet that has one (IBA 8.3): version 6, next header 0x1b.
void write_grh(const Packet& packet, std::span<std::byte, kGrhBytes> to);

}  // namespace verbatim::ib
