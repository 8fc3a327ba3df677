// The way of a datagram whose route is written in it (IBA 14.2.2): what a node does with one that it sends, and with one that
// has come. Both change the datagram's hop pointer and return path.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/ib/management.h"

namespace verbatim::management {

struct Hop {
  enum class Way : std::uint8_t { kDrop, kHere, kByPort, kByLid };
  Way way = Way::kDrop;
  std::uint8_t port = 0;  // kByPort
  ib::Lid lid;            // kByLid
};

// IBA 14.2.2.1, 14.2.2.3. `reply_to`: of an answer, where its request came from by LID.
Hop depart(ib::Mad& mad, ib::Lid reply_to);
// IBA 14.2.2.2, 14.2.2.4. `ports` of a switch, from 1; 0: the node is an adapter, which forwards nothing.
Hop arrive(ib::Mad& mad, std::uint8_t in_port, std::uint8_t ports);

}  // namespace verbatim::management
