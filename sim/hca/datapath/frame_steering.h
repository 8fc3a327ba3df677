// Where Ethernet frames of programs go: on arrival to the queue pairs of the flow rules that match, or to a work queue of
// theirs; on the way out a copy of what goes to a group is looked at by this adapter's own rules, too, as adapters with
// local loopback do. What no rule takes is dropped. Sniffers get what comes by the port and what leaves by it, packets of
// RoCE included.
//
// Rules are looked at when a frame has been checked and take no time: adapters do it in the stages before.
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
  // A frame is leaving: a rule of this adapter wants a copy of it.
  bool wants_copy(const ib::Packet& packet);
  // A packet of any kind has come by the port, or is leaving by it; there are sniffers.
  void sniff(const ib::Packet& packet);

  // The frame that the queue pair holds for want of a receive has waited long enough at `deadline`.
  void drop_later(const Ref<QueuePair>& qp, Instant deadline);

 private:
  // To all that the rules name.
  void give(const std::vector<const Flow*>& found, const ib::Frame& frame, Incoming&& incoming);
  void deliver(const Flow& flow, const ib::Frame& frame, Incoming&& incoming);
  void on_delay_over();

  AdapterBase& adapter_;
  InputBuffer& input_;
  std::vector<const Flow*> found_;  // for one frame
  std::map<std::pair<Instant, std::uint64_t>, Ref<QueuePair>> delayed_;  // by deadline, then in order
  std::uint64_t delayed_ever_ = 0;
  Timer delay_timer_;
};

}  // namespace verbatim::hca
