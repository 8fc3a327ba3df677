// The hash by which a switch spreads flows over equally long paths (ECMP). It covers IP addresses and
// ports, except the destination port of RoCEv2, which is constant. A frame that is not IP has the hash of
// its MAC addresses. A flow has the same hash at all switches, and each switch mixes a salt into it. With
// equal salts, the flows that meet at a switch have similar hashes and all leave by the same port
// (polarisation).
#pragma once

#include <cstdint>

#include "sim/ib/packet.h"

namespace verbatim::fabric {

// `packet` must have `ethernet`.
std::uint64_t flow_hash(const ib::Packet& packet);

// Chooses one of `count` outputs, numbered from 0; count > 0.
constexpr std::uint32_t ecmp_index(std::uint64_t hash, std::uint64_t salt, std::uint32_t count) {
  // Finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): every bit of the sum affects every bit of
  // the result.
  std::uint64_t mixed = hash + salt;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
  mixed ^= mixed >> 31;
  return static_cast<std::uint32_t>((mixed >> 32) * count >> 32);
}

}  // namespace verbatim::fabric
