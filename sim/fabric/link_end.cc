#include "sim/fabric/link_end.h"

#include <utility>

#include "sim/core/check.h"
#include "sim/fabric/switch_buffer.h"

namespace verbatim::fabric {

LinkEnd::LinkEnd(Engine& engine, Tracer& tracer, const SharedLinkParams& params, const LinkSide& near, const LinkSide& far)
    : channel_(params, far.id),
      flow_(*params, std::min(near.data_lanes, far.data_lanes), far.input_buffer_bytes / kCreditBlockBytes),
      arrivals_(engine, tracer, near.id, near.number, near.sink, near.counters, near.user),
      engine_(engine) {}

void LinkEnd::connect(LinkEnd& far, CableKind kind) {
  far_ = &far;
  if (kind == CableKind::kWithinPart) return;
  CHECK(params().propagation > Duration(0));
  inbox_ = std::make_unique<LinkInbox>();
}

void LinkEnd::send_due_frames(Instant now) {
  const PriorityFlowControl* const pauses = flow_.pauses();
  const std::uint64_t before = pauses != nullptr ? pauses->frames_sent() : 0;
  flow_.advance(channel_.line(), now, [this](std::size_t lane, const CreditGrant& grant) {
    if (LinkInbox* const inbox = far_->inbox_.get(); inbox != nullptr) [[unlikely]] {
      inbox->grants.push_back({lane, grant});
    } else {
      far_->flow_.add_grant(lane, grant);
    }
  });
  if (pauses == nullptr) return;
  const std::uint64_t repeats = pauses->frames_sent() - before;
  count_repeats(arrivals_.counters().priorities, &ib::PriorityCounts::xmit_pauses, pauses->reported(), repeats);
  if (LinkInbox* const inbox = far_->inbox_.get(); inbox != nullptr) {
    inbox->repeats.push_back({pauses->reported(), repeats});
  } else {
    count_repeats(far_->arrivals_.counters().priorities, &ib::PriorityCounts::rcv_pauses, pauses->reported(), repeats);
  }
}

void LinkEnd::fail() {
  arrivals_.fail();
  PriorityFlowControl* const pauses = flow_.pauses();
  if (pauses == nullptr) return;
  pauses->fail();
  for (const PauseDirection direction : {&ib::PriorityCounts::xmit_pauses, &ib::PriorityCounts::rcv_pauses})
    count_pauses(arrivals_.counters().priorities, direction, 0, 0, engine_.now());
}

PauseFrame LinkEnd::send_pause_frame() {
  PauseFrame frame = flow_.pauses()->send_frame(channel_.line(), engine_.now());
  frame.failures = arrivals_.failures();
  count_pauses(arrivals_.counters().priorities, &ib::PriorityCounts::xmit_pauses, frame.paused | frame.changed, frame.paused,
               frame.effective);
  if (LinkInbox* const inbox = far_->inbox_.get(); inbox != nullptr) {
    inbox->pauses.push_back(frame);
  } else {
    far_->expect_pause_frame(frame);
  }
  return frame;
}

// A frame on a failing link is lost, as a packet is (`arrivals.h`).
void LinkEnd::expect_pause_frame(const PauseFrame& frame) {
  // This end may not support pauses.
  if (frame.failures != arrivals_.failures() || flow_.pauses() == nullptr) return;
  flow_.pauses()->add_frame(frame);
  count_pauses(arrivals_.counters().priorities, &ib::PriorityCounts::rcv_pauses, frame.paused | frame.changed, frame.paused,
               frame.effective);
  if (flow_.awaits_grants) user().on_grants_changed();
}

void LinkEnd::on_loss(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant tail) {
  if (lane == kManagementLane) return;
  on_release(lane.value, blocks_of(wire_bytes), tail);
  user().on_grants_changed();  // the lost packet's flow control packet may precede this end's data
}

void LinkEnd::announce(bool is_enabled) {
  const LinkInbox::EnabledChange change{engine_.now() + params().propagation, is_enabled};
  if (far_->inbox_ != nullptr) {
    far_->inbox_->enabled_changes.push_back(change);
  } else {
    far_->expect_enabled_change(change);
  }
}

void LinkEnd::expect_enabled_change(const LinkInbox::EnabledChange& change) {
  if (announced_ == nullptr) {
    // After the arrivals of its instant, as scripted failures are.
    announced_.reset(
        new Announced{{}, Timer::of<&LinkEnd::on_enabled_change>(engine_, arrivals_.id(), EventClass::kTimeout, this)});
  }
  announced_->enabled_changes.push_back(change);
  if (!announced_->timer.scheduled()) announced_->timer.schedule_at(change.when);
}

void LinkEnd::on_enabled_change() {
  Ring<LinkInbox::EnabledChange>& enabled_changes = announced_->enabled_changes;
  while (!enabled_changes.empty() && enabled_changes.front().when == engine_.now()) {
    user().on_far_end_enabled(enabled_changes.pop_front().is_enabled);
  }
  if (!enabled_changes.empty()) announced_->timer.schedule_at(enabled_changes.front().when);
}

Instant LinkEnd::await_grants(std::size_t lane, std::uint32_t blocks, Instant at) {
  flow_.awaits_grants = true;
  if (inbox_ != nullptr) return kNever;
  return std::max(at, far_->flow_.next_grant_arrival(far_->channel_.line(), lane, flow_.missing(lane, blocks)));
}

void LinkEnd::finish_window(Instant end) { advance(end); }

void LinkEnd::take_inbox() {
  const bool has_news = !inbox_->grants.empty();
  for (const PauseFrame& frame : inbox_->pauses) expect_pause_frame(frame);
  for (const LinkInbox::Repeats& repeats : inbox_->repeats)
    count_repeats(arrivals_.counters().priorities, &ib::PriorityCounts::rcv_pauses, repeats.priorities, repeats.frames);
  for (ib::PacketPtr& packet : inbox_->packets) arrivals_.expect(std::move(packet));
  for (const LinkInbox::Grant& grant : inbox_->grants) flow_.add_grant(grant.lane, grant.grant);
  for (const LinkInbox::EnabledChange& change : inbox_->enabled_changes) expect_enabled_change(change);
  inbox_->packets.clear();
  inbox_->grants.clear();
  inbox_->pauses.clear();
  inbox_->repeats.clear();
  inbox_->enabled_changes.clear();
  if (has_news) user().on_grants_changed();
}

}  // namespace verbatim::fabric
