// Check of the first receive of a connection that was posted late: an adapter asks a judge, which follows the
// communication between hosts.
#pragma once

#include <cstdint>

#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

// A message takes the first receive of a connection, which was posted after the queue pair could receive
// messages.
struct LateReceive {
  ComponentId adapter;   // adapter of the receive
  const Packet& packet;  // first packet of the message
  std::uint32_t sender;  // number of the sending queue pair
  Instant posted;        // time of the post
  bool found_none_before;  // an earlier transmission of the message found no receive
};

class LateReceiveJudge {
 public:
  virtual ~LateReceiveJudge() = default;
  // Whether the receive was posted in time only by chance: an earlier transmission found none, or the sender
  // could not know of the post, and the sender does not retry without limit. The answer is in no trace
  // record.
  virtual bool is_mistake(const LateReceive& receive) = 0;
};

}  // namespace verbatim::ib
