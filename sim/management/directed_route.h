// Directed-route SMPs (IBA 14.2.2): processing by the sending node, and by a node that receives one. Both
// update the datagram's hop pointer and return path.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/ib/management.h"

namespace verbatim::management {

struct Hop {
  enum class Action : std::uint8_t { kDrop, kHere, kByPort, kByLid };
  Action action = Action::kDrop;
  std::uint8_t port = 0;  // kByPort
  ib::Lid lid;            // kByLid
};

// IBA 14.2.2.1, 14.2.2.3. `reply_to`: for a response, the LID that its request came from.
Hop depart(ib::Mad& mad, ib::Lid reply_to);
// IBA 14.2.2.2, 14.2.2.4. `ports`: of a switch, numbered from 1; 0: an adapter, which does not forward.
Hop arrive(ib::Mad& mad, std::uint8_t in_port, std::uint8_t ports);

}  // namespace verbatim::management
