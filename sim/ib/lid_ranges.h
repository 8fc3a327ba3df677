// Ranges of LIDs (IBA 4.1.3): 0 is reserved, 0xC000 and above are multicast, except 0xFFFF, which is
// permissive.
#pragma once

#include "sim/ib/packet.h"

namespace verbatim::ib {

inline constexpr Lid kFirstMulticastLid{0xc000};
inline constexpr Lid kPermissiveLid{0xffff};

constexpr bool is_unicast(Lid lid) { return lid.value != 0 && lid.value < kFirstMulticastLid.value; }
constexpr bool is_multicast(Lid lid) {
  return lid.value >= kFirstMulticastLid.value && lid.value < kPermissiveLid.value;
}

}  // namespace verbatim::ib
