#include "sim/fabric/link_end.h"

#include "sim/fabric/switch_buffer.h"

namespace verbatim::fabric {

LinkEnd::LinkEnd(Engine& engine, Tracer& tracer, const LinkParams& params, const LinkSide& near, const LinkSide& far)
    : engine_(engine),
      user_(near.user),
      counters_(near.counters),
      channel_(params, far.id),
      flow_(params, std::min(near.data_lanes, far.data_lanes), far.input_buffer_bytes / kCreditBlockBytes),
      arrivals_(engine, tracer, near.id, near.number, near.sink, near.counters) {}

void LinkEnd::send_due_frames() {
  flow_.advance(channel_.line(), engine_.now(),
                [this](std::size_t lane, const CreditGrant& grant) { far_->flow_.add_grant(lane, grant); });
}

Instant LinkEnd::transmit_lost(ib::Packet& packet, ib::VirtualLane lane, std::uint32_t wire_bytes) {
  const PassageTimes times = channel_.transmit(engine_.now(), wire_bytes, packet.trail);
  if (lane != kManagementLane) {
    far_->flow_.on_release(lane.value, blocks_of(wire_bytes), times.arrival.tail);
    if (awaits_grants_) user_.on_grants_changed();
    far_->user_.on_grants_changed();
  }
  notify_far_end();
  return times.leaves;
}

Instant LinkEnd::await_grants(std::size_t lane, std::uint32_t blocks, Instant at) {
  awaits_grants_ = true;
  return std::max(at, far_->flow_.next_grant_arrival(far_->channel_.line(), lane, flow_.missing(lane, blocks)));
}

}  // namespace verbatim::fabric
