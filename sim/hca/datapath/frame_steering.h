// Delivery of Ethernet frames to programs. An arriving frame is given to the queue pairs of the flow rules
// that match, or to work queues of theirs; a frame that no rule takes is dropped. A copy of a frame that is
// sent to a group is matched by this adapter's own rules as well, as adapters with local loopback do.
// Sniffers get all packets that arrive at the port or leave it, those of RoCE included.
//
// Rules are matched when a frame has been checked, and take no time: adapters match them in the stages
// before.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/core/engine.h"
#include "sim/hca/flow_table.h"
#include "sim/hca/stages/input_buffer.h"

namespace verbatim::hca {

struct AdapterBase;

class FrameSteering {
 public:
  FrameSteering(AdapterBase& adapter, InputBuffer& input);

  FlowTable flows;

  // A frame that has passed the checks.
  void receive(Incoming&& incoming);
  // Whether a rule of this adapter takes a copy of a frame that is being sent.
  bool wants_copy(const ib::Packet& packet);
  // Gives a copy of a packet that arrives at the port, or leaves it, to the sniffers; there are some.
  void sniff(const ib::Packet& packet);

  // Calls ResponderDriver::on_delay_over() at `deadline`, for a frame that waits for a receive.
  void drop_later(const Ref<QueuePair>& qp, Instant deadline);

 private:
  // Delivers a frame to all queue pairs of the rules that were found.
  void give(const std::vector<const Flow*>& found, const ib::Frame& frame, Incoming&& incoming);
  void deliver(const Flow& flow, const ib::Frame& frame, Incoming&& incoming);
  void on_delay_over();

  AdapterBase& adapter_;
  InputBuffer& input_;
  std::vector<const Flow*> found_;  // scratch: rules for one frame
  std::map<std::pair<Instant, std::uint64_t>, Ref<QueuePair>> delayed_;  // by deadline, then in order
  std::uint64_t delayed_ever_ = 0;
  Timer delay_timer_;
};

}  // namespace verbatim::hca
