// One end of a cable: the outgoing line, the arrivals, and the flow control between them. It belongs to a
// port, which decides which packets start.
//
// The far end learns of this end's actions a propagation time later. Ends in the same part of the fabric
// call each other directly: the far end's flow control frames are computed on demand, and an end that waits
// for grants learns their arrival times before they have left, for setting its timer only. An end in
// another part gets everything by its inbox (`link_inbox.h`), at the same times.
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

// Owner of an end of a cable, which sends by it.
class LinkUser : public LossListener {
 public:
  // The expected arrival of grants that a lane waits for has changed or become known.
  virtual void on_grants_changed() = 0;
  // The far end was disabled or enabled a propagation ago.
  virtual void on_far_end_enabled(bool is_enabled) = 0;

 protected:
  ~LinkUser() = default;
};

// The port of an end, as the end needs it.
struct LinkSide {
  ComponentId id;
  PortNumber number;
  PacketSink& sink;
  ib::PortCounters& counters;
  LinkUser& user;
  std::uint32_t data_lanes = 1;
  std::uint32_t input_buffer_bytes = 0;  // per lane
};

// Whether both ends of a cable are in the same part of the fabric.
enum class CableKind : std::uint8_t { kWithinPart, kBetweenParts };

class LinkEnd {
 public:
  LinkEnd(Engine& engine, Tracer& tracer, const SharedLinkParams& params, const LinkSide& near, const LinkSide& far);
  // Both ends must exist.
  void connect(LinkEnd& far, CableKind kind);

  const LinkParams& params() const { return channel_.params(); }
  const LineClock& line() const { return channel_.line(); }
  const LinkFlowControl& flow_control() const { return flow_; }

  // `now` is the engine's time, here and below: the caller has it at hand.
  // Puts the flow control frames that have left for the far end before now on the line.
  void advance(Instant now) {
    if (flow_.is_due(channel_.line(), now)) send_due_frames(now);
  }
  // Takes account of the grants that the far end has sent by now.
  void take_grants(std::size_t lane, Instant now) {
    if (inbox_ == nullptr) [[likely]] far_->advance(now);
    flow_.take_grants(lane, now);
  }
  // With pauses: as PriorityFlowControl::take_frames(), for frames that have taken effect by now.
  template <class Visit>
  void take_frames(Instant now, Visit visit) {
    if (inbox_ == nullptr) far_->advance(now);
    flow_.pauses()->take_frames(now, visit);
  }
  // When a packet of `blocks` may start on a data lane that is otherwise ready at `at`; kNever: not known
  // yet. If the known grants do not suffice, this end waits for grants: it is notified of changes, and the
  // expected arrival of the missing grants counts.
  Instant may_start(std::size_t lane, std::uint32_t blocks, Instant at) {
    const Instant granted = flow_.may_start(lane, blocks, at);
    return granted != kNever ? granted : await_grants(lane, blocks, at);
  }
  // On a link with credits: earliest start of the next flow control packet; kNever: none is due.
  Instant next_frame() const { return flow_.next_frame(); }
  // Expected start of a data packet that may start at `at`, given the line and its flow control frames.
  Instant data_start(Instant at) const { return flow_.data_start(channel_.line(), at); }
  void stop_awaiting_grants() { flow_.awaits_grants = false; }

  // Starts a packet and returns when its last byte leaves. A faulty one never arrives; the far end counts
  // an error.
  Instant transmit(ib::PacketPtr&& packet, Instant now, Duration delay, bool is_faulty) {
    const TransmitTimes times = channel_.transmit(now, packet->sent_bytes, packet->trail, delay);
    ib::ForwardingState& forwarding = packet->forwarding;  // by member: a copy of all would wait for these stores
    forwarding.begin = times.arrival.head;
    forwarding.end = times.arrival.tail;
    forwarding.failures = is_faulty ? kFaultyPacket : arrivals_.failures();
    forwarding.input = forwarding.input_lane = 0;
    if (LinkInbox* const inbox = far_->inbox_.get(); inbox != nullptr) [[unlikely]] {
      inbox->packets.push_back(std::move(packet));
    } else {
      far_->arrivals_.expect(std::move(packet));
      notify_far_end();
    }
    return times.leaves;
  }
  // A started data packet consumes credits.
  void on_start(std::size_t lane, std::uint32_t blocks) { flow_.on_start(lane, blocks); }
  std::uint32_t credits(std::size_t lane) const { return flow_.credits(lane); }
  // Whether the link has credits, and data lane 0 at least `blocks`.
  bool has_credits(std::uint32_t blocks) const { return flow_.has_credits(blocks); }

  // Space of this end's input buffer becomes free at `when`.
  void on_release(std::size_t lane, std::uint32_t blocks, Instant when) {
    flow_.on_release(lane, blocks, when);
    notify_far_end();
  }

  // Sends a frame that carries the pauses and resumes requested of the policy; the line must be free.
  PauseFrame send_pause_frame();
  PriorityFlowControl* pauses() { return flow_.pauses(); }
  const PriorityFlowControl* pauses() const { return flow_.pauses(); }

  // As LossListener. Flow control counts what was sent, not what arrived (IBA 7.9.4.4): the space of a lost
  // packet is granted again.
  void on_loss(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant tail);
  // The link fails at this end: packets whose heads have not arrived are lost at their receivers
  // (`arrivals.h`). Must be called once for each failure at both ends.
  void fail();
  // Notifies the far end, a propagation later, that this end has been disabled or enabled.
  void announce(bool is_enabled);

  // Prefetches the far end for a packet that starts here; the next function prefetches the flow control of
  // both ends.
  void prefetch_far_end() const { prefetch_lines(far_, 0, kUsedLines); }
  void prefetch_flow_control() const {
    flow_.prefetch();
    far_->flow_.prefetch();
  }
  // Prefetches and returns whether the far end waits for grants.
  void prefetch_far_waiting() const { prefetch_lines(&far_->flow_.awaits_grants, 0, 1); }
  bool is_far_waiting() const { return far_->flow_.awaits_grants; }

  // For a cable between parts, after a window that ends at `end` (link_inbox.h).
  void finish_window(Instant end);
  void take_inbox();
  const LinkInbox* inbox() const { return inbox_.get(); }
  // Lower bound of the time at which the next grant leaves, unless a release or start happens before;
  // kNever: no grant is due.
  Instant next_grant_departure() const {
    const Instant next = flow_.next_grant_departure();
    return next == kNever ? kNever : std::max(next, line().busy_until());
  }

 private:
  // Lines of memory that a packet needs; the last members are for rarer work.
  static constexpr std::size_t kUsedLines = 7;

  LinkUser& user() { return static_cast<LinkUser&>(arrivals_.listener()); }  // as passed to the constructor
  void send_due_frames(Instant now);
  void expect_pause_frame(const PauseFrame& frame);
  Instant await_grants(std::size_t lane, std::uint32_t blocks, Instant at);
  void expect_enabled_change(const LinkInbox::EnabledChange& change);
  void on_enabled_change();
  // The far end's expected grants may have changed.
  void notify_far_end() {
    if (far_->flow_.awaits_grants && far_->inbox_ == nullptr) far_->user().on_grants_changed();
  }

  // Announcements by the far end that it is about to be disabled or enabled.
  struct Announced {
    Ring<LinkInbox::EnabledChange> enabled_changes;  // by time
    Timer timer;                            // for the first one
  };

  LinkEnd* far_ = nullptr;
  std::unique_ptr<LinkInbox> inbox_;  // null: the far end is in this part
  Channel channel_;
  LinkFlowControl flow_;
  Arrivals arrivals_;
  Engine& engine_;
  std::unique_ptr<Announced> announced_;  // null: no announcement yet
};

}  // namespace verbatim::fabric
