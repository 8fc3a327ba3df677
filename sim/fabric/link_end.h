// One end of a cable: the line of what leaves, the arrivals of what comes, and the flow control between them. A port owns it,
// and decides what starts.
//
// The far end knows a propagation time later what an end sends. Ends in one part of the fabric reach into each other: the
// far end's frames of flow control are worked out when somebody asks, and an end that waits for grants learns when they will
// arrive, before they have left; that is for setting timers alone. An end in another part gets everything by its inbox
// (`link_inbox.h`), with the same times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/core/trace.h"
#include "sim/fabric/arrivals.h"
#include "sim/fabric/channel.h"
#include "sim/fabric/link_flow_control.h"
#include "sim/fabric/link_inbox.h"
#include "sim/fabric/pause_counts.h"
#include "sim/ib/packet.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

// The owner of an end of a cable, who sends by it.
class LinkUser : public LossListener {
 public:
  // Grants for which a lane waits may arrive at another time than was known, or have become known.
  virtual void on_grants_changed() = 0;
  // The far end was disabled or enabled a propagation ago.
  virtual void on_far_end_enabled(bool is_enabled) = 0;

 protected:
  ~LinkUser() = default;
};

// The port that an end belongs to, as the end knows it.
struct LinkSide {
  ComponentId id;
  PortNumber number;
  PacketSink& sink;
  ib::PortCounters& counters;
  LinkUser& user;
  std::uint32_t data_lanes = 1;
  std::uint32_t input_buffer_bytes = 0;  // per lane
};

// Where the ends of a cable are.
enum class CableKind : std::uint8_t { kWithinPart, kBetweenParts };

class LinkEnd {
 public:
  LinkEnd(Engine& engine, Tracer& tracer, const SharedLinkParams& params, const LinkSide& near, const LinkSide& far);
  // Both ends exist.
  void connect(LinkEnd& far, CableKind kind);

  const LinkParams& params() const { return channel_.params(); }
  const LineClock& line() const { return channel_.line(); }
  const LinkFlowControl& flow_control() const { return flow_; }

  // Frames of flow control that have left before now, towards the far end, are on the line.
  void advance() { advance_to(engine_.now()); }
  // Grants that the far end has sent up to now are known.
  void take_grants(std::size_t lane) {
    if (inbox_ == nullptr) [[likely]] far_->advance();
    flow_.take_grants(lane, engine_.now());
  }
  // With pauses: frames that have effect by now, as PriorityFlowControl::take_frames().
  template <class Visit>
  void take_frames(Visit visit) {
    if (inbox_ == nullptr) far_->advance();
    flow_.pauses()->take_frames(engine_.now(), visit);
  }
  // When a packet of so many blocks may start on a data lane that is otherwise ready at `at`; kNever: not known yet. Notes that
  // the lane waits for grants that have not left the far end.
  Instant may_start(std::size_t lane, std::uint32_t blocks, Instant at) {
    const Instant granted = flow_.may_start(lane, blocks, at);
    return granted != kNever ? granted : await_grants(lane, blocks, at);
  }
  // When a data packet that may start at `at` can, as far as the line and its frames of flow control are known.
  Instant data_start(Instant at) const { return flow_.data_start(channel_.line(), at); }
  void stop_awaiting_grants() { awaits_grants_ = false; }

  // A packet starts. Returns when its last byte leaves. A faulty one never arrives; the far end counts an error.
  Instant transmit(ib::PacketPtr&& packet, Duration delay, bool is_faulty) {
    const PassageTimes times = channel_.transmit(engine_.now(), packet->sent_bytes, packet->trail, delay);
    packet->forwarding = {times.arrival.head, times.arrival.tail, is_faulty ? kFaultyPacket : arrivals_.failures()};
    if (LinkInbox* const inbox = far_->inbox_.get(); inbox != nullptr) [[unlikely]] {
      inbox->packets.push_back(std::move(packet));
    } else {
      far_->arrivals_.expect(std::move(packet));
      notify_far_end();
    }
    return times.leaves;
  }
  // Data of this end takes credits.
  void on_start(std::size_t lane, std::uint32_t blocks) { flow_.on_start(lane, blocks); }
  std::uint32_t credits(std::size_t lane) const { return flow_.credits(lane); }

  // Space of this end's input buffer is free at `when`.
  void on_release(std::size_t lane, std::uint32_t blocks, Instant when) {
    flow_.on_release(lane, blocks, when);
    notify_far_end();
  }

  // A frame leaves now that asks the far end to pause, and to resume, as the policy has been asked; the line is free.
  PauseFrame send_pause_frame();
  PriorityFlowControl* pauses() { return flow_.pauses(); }
  const PriorityFlowControl* pauses() const { return flow_.pauses(); }

  // As LossListener. Flow control counts what was sent, not what came (IBA 7.9.4.4): the space of what is lost is granted again.
  void on_loss(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant tail);
  // The link fails at this end: packets whose heads have not arrived are lost at their receivers (`arrivals.h`). Each failure is
  // one at both ends.
  void fail();
  // The far end learns a propagation later that this end has been disabled or enabled.
  void announce(bool is_enabled);

  // Asks for the far end's memory that a packet uses which starts here; then for what that names, at both ends.
  void prefetch_far_end() const { prefetch_lines(far_, 0, sizeof(LinkEnd) / kCacheLineBytes); }
  void prefetch_flow_control() const {
    flow_.prefetch();
    far_->flow_.prefetch();
  }

  // For a cable between parts, after a window that ends at `end`, as link_inbox.h says.
  void finish_window(Instant end);
  void take_inbox();
  const LinkInbox* inbox() const { return inbox_.get(); }
  // Grants leave for the far end then or later, unless something is released or starts before; kNever: no grant is due.
  Instant next_grant_departure() const {
    const Instant next = flow_.next_grant_departure();
    return next == kNever ? kNever : std::max(next, line().busy_until());
  }

 private:
  LinkUser& user() { return static_cast<LinkUser&>(arrivals_.listener()); }  // as the constructor has given it
  void advance_to(Instant now) {
    if (flow_.is_due(channel_.line(), now)) send_due_frames(now);
  }
  void send_due_frames(Instant now);
  void expect_pause_frame(const PauseFrame& frame);
  Instant await_grants(std::size_t lane, std::uint32_t blocks, Instant at);
  void expect_switching(const LinkInbox::Switching& switching);
  void on_switching();
  // The far end's knowledge of grants to come may have changed.
  void notify_far_end() {
    if (far_->awaits_grants_ && far_->inbox_ == nullptr) far_->user().on_grants_changed();
  }

  // The far end is about to be disabled or enabled, as it has announced.
  struct Announced {
    Ring<LinkInbox::Switching> switchings;  // by time
    Timer timer;                            // the first one
  };

  LinkEnd* far_ = nullptr;
  std::unique_ptr<LinkInbox> inbox_;  // null: the far end is in this part
  bool awaits_grants_ = false;        // a lane waits for grants that have not left the far end
  Channel channel_;
  LinkFlowControl flow_;
  Arrivals arrivals_;
  Engine& engine_;
  std::unique_ptr<Announced> announced_;  // null: nothing ever
};

}  // namespace verbatim::fabric
