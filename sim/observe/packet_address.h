// Source and destination of a packet as a number: its LIDs, or a fold of its GIDs.
#pragma once

#include <cstdint>
#include <cstring>

#include "sim/ib/packet.h"

namespace verbatim::observe {

inline std::uint64_t number_of(const ib::Gid& gid) {
  std::uint64_t half[2];
  std::memcpy(half, gid.raw, sizeof half);
  return half[0] ^ (half[1] << 1);
}

inline std::uint64_t destination_of(const ib::Packet& packet) {
  return packet.ethernet ? number_of(packet.grh->destination) : packet.lrh.destination.value;
}

inline std::uint64_t source_of(const ib::Packet& packet) {
  return packet.ethernet ? number_of(packet.grh->source) : packet.lrh.source.value;
}

}  // namespace verbatim::observe
