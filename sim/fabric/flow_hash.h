// The hash by which a switch spreads flows over equally long ways (ECMP). It is made of IP addresses and ports; the destination
// port of RoCEv2 is always the same and left out. A frame that is not IP has the hash of its stations' addresses. A flow has
// one hash at all switches, and each switch mixes a salt into it. If all salts are the same, the flows that meet at a switch
// are those whose hash has taken them there, and it sends them all by the same port (polarisation).
#pragma once

#include <cstdint>

#include "sim/ib/packet.h"

namespace verbatim::fabric {

// `packet` has `ethernet`.
std::uint64_t flow_hash(const ib::Packet& packet);

// One of `count` ways, from 0; count > 0.
constexpr std::uint32_t way_of(std::uint64_t hash, std::uint64_t salt, std::uint32_t count) {
  // Finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): every bit of the sum changes every bit of the result.
  std::uint64_t mixed = hash + salt;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
  mixed ^= mixed >> 31;
  return static_cast<std::uint32_t>((mixed >> 32) * count >> 32);
}

}  // namespace verbatim::fabric
