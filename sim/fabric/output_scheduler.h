// The output queues of a port, one per lane, and the arbitration between lanes. It knows when packets are
// ready, how long the first packet of each lane has waited, and the arbitration tables; lines, credits and
// buffers belong to the port.
//  - Packets of a lane are ordered by ready time, and by arrival if the ready times are equal.
//  - The arbiter chooses among lanes whose first packet may start. Lanes without weight in the tables are
//    never served.
//  - A first packet expires after the head lifetime (IBA 18.2.5.4, HOQLife), counted from when it is first
//    and ready. After `stall_count` such drops in a row (VLStallCount) the lane stalls: for eight lifetimes
//    every packet that becomes first expires at once.
//  - A first packet also expires after the switch lifetime, counted from its arrival in the switch.
//  - A packet carries its queue state (`ib::ForwardingState`): when it is ready, when it expires, and its
//    claim on a buffer.
//
// There is a queue for each data lane that the link uses, and for VL15.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "sim/core/check.h"
#include "sim/core/prefetch.h"
#include "sim/core/time.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/switch_buffer.h"
#include "sim/fabric/vl_arbiter.h"
#include "sim/ib/packet.h"
#include "sim/ib/packet_queue.h"

namespace verbatim::fabric {

// The lowest of the lanes with a bit in `lanes`, which is not 0.
constexpr ib::VirtualLane lowest_of(std::uint32_t lanes) {
  return ib::VirtualLane{static_cast<std::uint8_t>(std::countr_zero(lanes))};
}

class OutputScheduler {
 public:
  struct Params {
    std::uint32_t data_lanes = 1;  // 1 … 15
    Duration head_lifetime{0};     // 0: no packet expires at the head
    std::uint32_t stall_count = 0; // 0: no lane stalls
    bool has_switch_lifetime = false;
  };

  // `shared`: tables shared by several ports, made of `arbitration` or its defaults; null: this makes its
  // own.
  OutputScheduler(const Params& params, const ArbitrationTables& arbitration, SharedArbiterTables shared = nullptr);

  // The next two must be called before the first packet.
  void set_data_lanes(std::uint32_t lanes);
  void set_head_lifetime(Duration lifetime);
  // Empty tables: the defaults. They apply from the next choice on and start with their first entries,
  // unless they equal the present ones. Packets of a lane that loses its weight stay in its queue.
  void set_arbitration(const ArbitrationTables& tables);

  std::uint32_t data_lanes() const { return data_lanes_; }
  bool has_lane(ib::VirtualLane lane) const { return lane.value < data_lanes_ || lane == kManagementLane; }

  // The packet must have its forwarding state and size. Returns whether it is the first of the lane's
  // queue.
  bool push(ib::PacketPtr&& packet, ib::VirtualLane lane, Instant now);
  // Puts the packet first in the lane's queue.
  void push_first(ib::PacketPtr&& packet, ib::VirtualLane lane, Instant now);
  // Bit n: lane n has a queued packet, and the arbiter serves it.
  std::uint32_t waiting() const { return waiting_; }
  bool is_empty(ib::VirtualLane lane) const { return at(lane).queue.empty(); }
  // Wire bytes in a lane's queue.
  std::uint32_t queued_bytes(ib::VirtualLane lane) const { return at(lane).queued_bytes; }
  // Maximum so far.
  std::uint32_t most_queued_bytes(ib::VirtualLane lane) const { return at(lane).most_queued_bytes; }
  // The lane must not be empty.
  const ib::Packet& first(ib::VirtualLane lane) const { return at(lane).queue.front(); }
  // Calls visit(const ib::Packet&) for each packet of a lane, in order.
  template <class Visit>
  void visit(ib::VirtualLane lane, Visit visit) const {
    at(lane).queue.visit(visit);
  }
  // First packet of the lowest waiting lane; null: none waits.
  const ib::Packet* first_waiting() const {
    return waiting_ == 0 ? nullptr : &first(lowest_of(waiting_));
  }
  // Time since which the first packet of a lane has been first and ready; the lane must not be empty.
  Instant head_since(ib::VirtualLane lane) const { return at(lane).head_since; }
  // Earliest such time of all waiting lanes; kNever: no lane waits.
  Instant waiting_since() const;

  // `eligible`: bit n is set if the first packet of lane n may start; not 0. charge() must follow with the
  // size of the packet.
  ib::VirtualLane pick(std::uint32_t eligible) {
    // A single data lane never competes, except with VL15, which precedes it.
    if (data_lanes_ == 1) [[likely]] return (eligible & bit(kManagementLane)) != 0 ? kManagementLane : ib::VirtualLane{0};
    return arbiter_.pick(eligible);
  }
  void charge(std::uint32_t wire_bytes) {
    if (data_lanes_ != 1) [[unlikely]] arbiter_.charge(wire_bytes);
  }
  // The line was idle for lack of packets.
  void pause() {
    if (data_lanes_ != 1) [[unlikely]] arbiter_.pause();
  }
  // Removes the first packet of a lane, which starts.
  ib::PacketPtr start_first(ib::VirtualLane lane, Instant now);
  // Removes the first packet of a lane, which does not start. Only expire() counts drops in a row.
  ib::PacketPtr take_first(ib::VirtualLane lane, Instant now);
  // Empties all queues: calls drop(ib::PacketPtr&&) for each packet, and drained(lane, earlier
  // queued_bytes()) after each lane.
  template <class Drop, class Drained>
  void drain(Drop drop, Drained drained);

  // Whether packets can expire.
  bool has_lifetime() const { return has_lifetime_; }
  // Whether the first packet of a lane must be dropped instead of started.
  bool is_blocked(ib::VirtualLane lane, Instant now) const {
    return is_stalled(at(lane)) || at(lane).queue.front().forwarding.end < now;
  }
  // Whether lanes other than data lane 0 have ever had a packet.
  bool has_other_lanes() const { return other_lanes_ != nullptr; }
  // Prefetches the queues of some lanes, bit n for lane n, that are not part of this object.
  void prefetch(std::uint32_t lanes) const {
    if (other_lanes_ == nullptr) return;
    for (std::uint32_t rest = lanes & ~1u; rest != 0; rest &= rest - 1)
      prefetch_lines(&other_lanes_[index(lowest_of(rest)) - 1], 0, 2);
  }
  // Expected time of the next expiry of a first packet.
  Instant next_expiry() const;
  // Passes each first packet that has expired by `now` to drop(const ib::Packet&, DropReason), after
  // before_drop(), which is called while the packet is in the queue. Returns whether there were any.
  template <class Before, class Drop>
  bool expire(Instant now, Before before_drop, Drop drop);

 private:
  struct Lane {
    ib::PacketQueue queue;  // by ready time, then by arrival
    std::uint32_t queued_bytes = 0, most_queued_bytes = 0;
    Instant head_since{};  // since when its first packet has been first and ready
    Instant stalled_until{};
    std::uint32_t expired = 0;  // first packets dropped in a row
  };

  static void add_bytes(Lane& lane, std::uint32_t bytes) {
    lane.queued_bytes += bytes;
    lane.most_queued_bytes = std::max(lane.most_queued_bytes, lane.queued_bytes);
  }
  Lane& numbered(std::size_t index) { return index == 0 ? first_lane_ : other(index); }
  const Lane& numbered(std::size_t index) const { return index == 0 ? first_lane_ : other(index); }
  // Lanes from 1 on; the first call allocates them.
  Lane& other(std::size_t index);
  const Lane& other(std::size_t index) const;
  std::size_t index(ib::VirtualLane lane) const { return std::min<std::uint32_t>(lane.value, data_lanes_); }
  Lane& at(ib::VirtualLane lane) { return lane.value == 0 ? first_lane_ : other(index(lane)); }
  const Lane& at(ib::VirtualLane lane) const { return lane.value == 0 ? first_lane_ : other(index(lane)); }
  static constexpr std::uint32_t bit(ib::VirtualLane lane) { return 1u << lane.value; }
  static std::uint32_t served_by(const ArbiterTables& tables) { return tables.served_lanes | bit(kManagementLane); }
  // Must be called when the first packet of the lane has changed.
  static void note_head(Lane& lane, Instant now) {
    if (!lane.queue.empty()) lane.head_since = std::max(now, lane.queue.front().forwarding.begin);
  }
  static bool is_stalled(const Lane& lane) { return lane.head_since < lane.stalled_until; }
  // When the first packet of a lane exceeds the head lifetime.
  Instant head_expiry(const Lane& lane) const {
    if (head_lifetime_ == Duration(0)) return kNever;
    return is_stalled(lane) ? lane.head_since : lane.head_since + head_lifetime_;
  }
  // When it exceeds the head lifetime or the switch lifetime.
  Instant expiry(const Lane& lane) const {
    const ib::ForwardingState& first = lane.queue.front().forwarding;
    return std::min(head_expiry(lane), std::max(first.end, first.begin));
  }
  void note_waiting(ib::VirtualLane lane) {
    if (at(lane).queue.empty()) waiting_ &= ~bit(lane);
  }

  std::uint32_t waiting_ = 0;
  std::uint32_t served_ = 0;
  Lane first_lane_;  // data lane 0: most links have no other
  std::uint8_t data_lanes_ = 0;
  const bool has_switch_lifetime_;
  bool has_lifetime_ = false;
  const std::uint32_t stall_count_;
  VlArbiter arbiter_;
  Duration head_lifetime_;
  std::unique_ptr<Lane[]> other_lanes_;  // data lanes from 1 on, then VL15; null: not used yet
};

template <class Drop, class Drained>
void OutputScheduler::drain(Drop drop, Drained drained) {
  waiting_ = 0;
  for (std::size_t i = 0; i <= data_lanes_; ++i) {
    Lane& lane = numbered(i);
    const std::uint32_t bytes = lane.queued_bytes;
    while (!lane.queue.empty()) drop(lane.queue.pop_front());
    lane.queued_bytes = 0;
    drained(i < data_lanes_ ? ib::VirtualLane{static_cast<std::uint8_t>(i)} : kManagementLane, bytes);
  }
}

template <class Before, class Drop>
bool OutputScheduler::expire(Instant now, Before before_drop, Drop drop) {
  bool any = false;
  for (std::uint32_t i = 0; i < data_lanes_; ++i) {
    const ib::VirtualLane number{static_cast<std::uint8_t>(i)};
    Lane& lane = at(number);
    while (!lane.queue.empty() && expiry(lane) <= now) {
      any = true;
      DropReason reason = DropReason::kSwitchLifetime;
      if (head_expiry(lane) <= now) {
        reason = DropReason::kHeadLifetime;
        if (!is_stalled(lane) && ++lane.expired == stall_count_) {
          lane.stalled_until = now + 8 * head_lifetime_;
          lane.expired = 0;
        }
      }
      before_drop();
      drop(*take_first(number, now), reason);
    }
    note_waiting(number);
  }
  return any;
}

}  // namespace verbatim::fabric
