// Flow control of a link at one of its ends: a policy that the port consults before a packet starts
// (`may_start`), and notifies of starts (`on_start`) and of space released in this end's input buffer
// (`on_release`).
//  - `CreditFlowControl`: IBA 7.9 credits, both halves: grants of the far end for outgoing data, and flow
//    control packets that grant the space of this end's buffer (`flow_control_packets.h`).
//  - `PriorityFlowControl`: Ethernet pauses per priority (`priority_flow_control.h`).
//  - `NoFlowControl`: any packet may start; a full buffer drops (`PerPortBuffer::bound_lanes`).
//
// `LinkFlowControl` holds one of them. It branches on the policy and has no virtual functions, as it is
// called several times per packet. Flow control frames occupy this end's line: `advance` and `data_start`
// account for them on demand, and the frames cost no event.
//
// Invariant of credits: granted + blocks in flight or in the far end's buffer + grants in flight = size of
// the buffer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "sim/core/check.h"
#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/fabric/channel.h"
#include "sim/fabric/flow_control_packets.h"
#include "sim/fabric/priority_flow_control.h"
#include "sim/fabric/without_credits.h"

namespace verbatim::fabric {

// Blocks granted by the far end, usable from `when` on.
struct CreditGrant {
  Instant when;
  std::uint32_t blocks = 0;
};

class CreditFlowControl {
 public:
  CreditFlowControl(const CreditFlowControl&) = delete;
  CreditFlowControl& operator=(const CreditFlowControl&) = delete;
  // `link` must outlive this. `far_blocks`: size of the far end's input buffer, per lane.
  CreditFlowControl(const LinkParams& link, std::size_t lanes, std::uint32_t far_blocks)
      : capacity_(far_blocks),
        packets_(link, lanes),
        others_(lanes > 1 ? std::make_unique<Outgoing[]>(lanes - 1) : nullptr) {
    for (std::size_t i = 0; i < lanes; ++i) outgoing(i).credits = far_blocks;
  }

  // When a packet of `blocks` may start on a lane that is otherwise ready at `at`, by the known grants;
  // kNever: they do not suffice.
  Instant may_start(std::size_t lane, std::uint32_t blocks, Instant at) const {
    const Outgoing& from = outgoing(lane);
    std::uint32_t credits = from.credits;
    for (std::size_t i = 0; credits < blocks; ++i) {
      if (i == from.granted.size()) return kNever;
      credits += from.granted[i].blocks;
      at = std::max(at, from.granted[i].when);
    }
    return at;
  }
  // Blocks that a lane lacks beyond its known grants.
  std::uint32_t missing(std::size_t lane, std::uint32_t blocks) const {
    const Outgoing& from = outgoing(lane);
    std::uint32_t known = from.credits;
    for (std::size_t i = 0; i < from.granted.size(); ++i) known += from.granted[i].blocks;
    return known < blocks ? blocks - known : 0;
  }
  void on_start(std::size_t lane, std::uint32_t blocks) { outgoing(lane).credits -= blocks; }
  // A lane of this end's input buffer gets `blocks` free at `when`, not earlier than now.
  void on_release(std::size_t lane, std::uint32_t blocks, Instant when) { packets_.release(lane, blocks, when); }

  // A flow control packet has arrived, or its arrival is known. Grants of a lane are added in order of
  // time.
  void add_grant(std::size_t lane, const CreditGrant& grant) { outgoing(lane).granted.push_back(grant); }
  // Converts the grants of a lane that have arrived by `now` to credits.
  void take_grants(std::size_t number, Instant now) {
    Outgoing& lane = outgoing(number);
    while (!lane.granted.empty() && lane.granted.front().when <= now) {
      lane.credits += lane.granted.front().blocks;
      lane.granted.drop_front();
      CHECK(lane.credits <= capacity_);
    }
  }
  std::uint32_t credits(std::size_t lane) const { return outgoing(lane).credits; }
  std::uint32_t capacity() const { return capacity_; }

  // Prefetches the first lane's grants and releases.
  void prefetch() const {
    first_.granted.prefetch_front();
    packets_.prefetch();
  }
  // Whether flow control packets leave `line` before `now`.
  bool is_due(const LineClock& line, Instant now) const { return packets_.is_due(line, now); }
  Instant next_frame() const { return packets_.next_packet(); }
  // Puts the flow control packets that leave before `now` on `line` and calls grant(lane, const
  // CreditGrant&) for each that grants something.
  template <class Grant>
  void advance(LineClock& line, Instant now, Grant grant) {
    packets_.advance(line, now, [&](const FlowControlPackets::CreditUpdate& update) {
      if (update.blocks > 0) grant(update.lane, CreditGrant{update.arrival, update.blocks});
    });
  }
  // Expected start of a data packet that is ready at `at`.
  Instant data_start(const LineClock& line, Instant at) const { return packets_.data_start(line, at); }
  // Expected time at which `blocks` more blocks of a lane are granted at the far end; kNever: not known.
  Instant next_grant_arrival(const LineClock& line, std::size_t lane, std::uint32_t blocks) const {
    return packets_.next_credit_arrival(line, lane, blocks);
  }
  // Lower bound of the time at which the next flow control packet with a grant leaves; kNever: nothing is
  // released.
  Instant next_grant_departure() const { return packets_.next_report(); }
  std::uint64_t frames_sent() const { return packets_.sent(); }

 private:
  struct Outgoing {
    Outgoing() = default;
    template <std::size_t kCount>
    explicit Outgoing(std::array<CreditGrant, kCount>& lent) : granted(lent) {}

    [[no_unique_address]] Ring<CreditGrant> granted;  // by time; not converted to credits yet
    std::uint32_t credits = 0;   // blocks
  };
  Outgoing& outgoing(std::size_t lane) { return lane == 0 ? first_ : others_[lane - 1]; }
  const Outgoing& outgoing(std::size_t lane) const { return lane == 0 ? first_ : others_[lane - 1]; }

  std::array<CreditGrant, 2> first_grants_{};
  Outgoing first_{first_grants_};  // data lane 0: most links have no other
  const std::uint32_t capacity_;
  FlowControlPackets packets_;
  std::unique_ptr<Outgoing[]> others_;
};

class NoFlowControl : public WithoutCredits {
 public:
  Instant may_start(std::size_t, std::uint32_t, Instant at) const { return at; }
  void take_grants(std::size_t, Instant) {}
  bool is_due(const LineClock&, Instant) const { return false; }
  template <class Grant>
  void advance(LineClock&, Instant, Grant) {}
  Instant data_start(const LineClock& line, Instant at) const { return std::max(at, line.busy_until()); }
  std::uint64_t frames_sent() const { return 0; }
};

// One of the policies; its functions call theirs.
class LinkFlowControl {
  template <class Use>
  decltype(auto) with(Use use) {
    if (kind_ == FlowControlKind::kCredits) [[likely]] return use(policy_.credits);
    if (kind_ == FlowControlKind::kPause) return use(policy_.pauses);
    return use(policy_.none);
  }
  template <class Use>
  decltype(auto) with(Use use) const {
    if (kind_ == FlowControlKind::kCredits) [[likely]] return use(policy_.credits);
    if (kind_ == FlowControlKind::kPause) return use(policy_.pauses);
    return use(policy_.none);
  }

 public:
  LinkFlowControl(const LinkParams& link, std::size_t lanes, std::uint32_t far_blocks) : kind_(link.flow_control) {
    switch (kind_) {
      case FlowControlKind::kCredits: std::construct_at(&policy_.credits, link, lanes, far_blocks); break;
      case FlowControlKind::kPause: std::construct_at(&policy_.pauses, link); break;
      case FlowControlKind::kNone: std::construct_at(&policy_.none); break;
    }
  }
  ~LinkFlowControl() {
    with([](auto& policy) { std::destroy_at(&policy); });
  }
  LinkFlowControl(const LinkFlowControl&) = delete;
  LinkFlowControl& operator=(const LinkFlowControl&) = delete;

  Instant may_start(std::size_t lane, std::uint32_t blocks, Instant at) const {
    return with([&](const auto& policy) { return policy.may_start(lane, blocks, at); });
  }
  std::uint32_t missing(std::size_t lane, std::uint32_t blocks) const {
    return with([&](const auto& policy) { return policy.missing(lane, blocks); });
  }
  void on_start(std::size_t lane, std::uint32_t blocks) {
    with([&](auto& policy) { policy.on_start(lane, blocks); });
  }
  void on_release(std::size_t lane, std::uint32_t blocks, Instant when) {
    with([&](auto& policy) { policy.on_release(lane, blocks, when); });
  }
  void add_grant(std::size_t lane, const CreditGrant& grant) {
    with([&](auto& policy) { policy.add_grant(lane, grant); });
  }
  void take_grants(std::size_t lane, Instant now) {
    with([&](auto& policy) { policy.take_grants(lane, now); });
  }
  std::uint32_t credits(std::size_t lane) const {
    return with([&](const auto& policy) { return policy.credits(lane); });
  }
  std::uint32_t capacity() const {
    return with([](const auto& policy) { return policy.capacity(); });
  }
  bool is_due(const LineClock& line, Instant now) const {
    return with([&](const auto& policy) { return policy.is_due(line, now); });
  }
  // On a link with credits.
  Instant next_frame() const { return policy_.credits.next_frame(); }
  template <class Grant>
  void advance(LineClock& line, Instant now, Grant grant) {
    with([&](auto& policy) { policy.advance(line, now, grant); });
  }
  Instant data_start(const LineClock& line, Instant at) const {
    return with([&](const auto& policy) { return policy.data_start(line, at); });
  }
  Instant next_grant_arrival(const LineClock& line, std::size_t lane, std::uint32_t blocks) const {
    return with([&](const auto& policy) { return policy.next_grant_arrival(line, lane, blocks); });
  }
  Instant next_grant_departure() const {
    return with([](const auto& policy) { return policy.next_grant_departure(); });
  }
  std::uint64_t frames_sent() const {
    return with([](const auto& policy) { return policy.frames_sent(); });
  }
  void prefetch() const {
    if (has_credits()) policy_.credits.prefetch();
  }
  // Whether the policy is credits, and data lane 0 has at least `blocks`.
  bool has_credits(std::uint32_t blocks) const { return has_credits() && policy_.credits.credits(0) >= blocks; }
  bool has_credits() const { return kind_ == FlowControlKind::kCredits; }
  // Null: the link has no pauses.
  PriorityFlowControl* pauses() { return kind_ == FlowControlKind::kPause ? &policy_.pauses : nullptr; }
  const PriorityFlowControl* pauses() const { return kind_ == FlowControlKind::kPause ? &policy_.pauses : nullptr; }

  // A lane of this end waits for grants that have not left the far end.
  bool awaits_grants = false;

 private:
  // Not std::variant, whose index would lie behind the policy in another cache line.
  union Policy {
    Policy() {}
    ~Policy() {}
    NoFlowControl none;
    CreditFlowControl credits;
    PriorityFlowControl pauses;
  };

  const FlowControlKind kind_;
  Policy policy_;
};

}  // namespace verbatim::fabric
