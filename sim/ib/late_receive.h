// The question whether the first receive of a connection was posted too late to be sure of. An adapter asks it of whoever knows
// what hosts have heard of each other.
#pragma once

#include <cstdint>

#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

// A message takes the first receive of a connection, which was posted when the queue pair could already take messages.
struct LateReceive {
  ComponentId adapter;   // at which the receive was posted
  const Packet& packet;  // the first of the message
  std::uint32_t sender;  // number of the queue pair that sends it
  Instant posted;
  bool came_before;      // an earlier sending of the message found no receive
};

class LateReceiveJudge {
 public:
  virtual ~LateReceiveJudge() = default;
  // Whether nothing had the receive posted in time but luck. The answer is in no record.
  virtual bool is_mistake(const LateReceive& receive) = 0;
};

}  // namespace verbatim::ib
