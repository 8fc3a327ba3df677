#include "sim/fabric/link_end.h"

#include <utility>

#include "sim/core/check.h"
#include "sim/fabric/switch_buffer.h"

namespace verbatim::fabric {

LinkEnd::LinkEnd(Engine& engine, Tracer& tracer, const SharedLinkParams& params, const LinkSide& near, const LinkSide& far)
    : engine_(engine),
      user_(near.user),
      channel_(params, far.id),
      flow_(*params, std::min(near.data_lanes, far.data_lanes), far.input_buffer_bytes / kCreditBlockBytes),
      arrivals_(engine, tracer, near.id, near.number, near.sink, near.counters),
      counters_(near.counters) {}

void LinkEnd::connect(LinkEnd& far, CableKind kind) {
  far_ = &far;
  if (kind == CableKind::kWithinPart) return;
  CHECK(params().propagation > Duration(0));
  inbox_ = std::make_unique<LinkInbox>();
}

void LinkEnd::send_due_frames(Instant now) {
  flow_.advance(channel_.line(), now, [this](std::size_t lane, const CreditGrant& grant) {
    if (LinkInbox* const inbox = far_->inbox_.get(); inbox != nullptr) [[unlikely]] {
      inbox->grants.push_back({lane, grant});
    } else {
      far_->flow_.add_grant(lane, grant);
    }
  });
}

Instant LinkEnd::transmit_lost(ib::Packet& packet, ib::VirtualLane lane, std::uint32_t wire_bytes) {
  const PassageTimes times = channel_.transmit(engine_.now(), wire_bytes, packet.trail);
  const LinkInbox::Loss loss{lane, blocks_of(wire_bytes), times.arrival.tail};
  if (far_->inbox_ != nullptr) {
    far_->inbox_->losses.push_back(loss);
  } else {
    far_->on_loss(loss);
    notify_far_end();
  }
  return times.leaves;
}

void LinkEnd::on_loss(const LinkInbox::Loss& loss) {
  ++counters_.rcv_errors;
  if (loss.lane == kManagementLane) return;
  on_release(loss.lane.value, loss.blocks, loss.when);
  user_.on_grants_changed();  // its flow control packet may go before this end's data
}

Instant LinkEnd::await_grants(std::size_t lane, std::uint32_t blocks, Instant at) {
  awaits_grants_ = true;
  if (inbox_ != nullptr) return kNever;
  return std::max(at, far_->flow_.next_grant_arrival(far_->channel_.line(), lane, flow_.missing(lane, blocks)));
}

void LinkEnd::finish_window(Instant end) { advance_to(end); }

void LinkEnd::take_inbox() {
  const bool has_news = !inbox_->grants.empty() || !inbox_->losses.empty();
  for (LinkInbox::Packet& packet : inbox_->packets) arrivals_.expect(std::move(packet.packet), packet.wire_bytes, packet.times);
  for (const LinkInbox::Grant& grant : inbox_->grants) flow_.add_grant(grant.lane, grant.grant);
  for (const LinkInbox::Loss& loss : inbox_->losses) on_loss(loss);
  inbox_->packets.clear();
  inbox_->grants.clear();
  inbox_->losses.clear();
  if (has_news) user_.on_grants_changed();
}

}  // namespace verbatim::fabric
