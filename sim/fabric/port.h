// One end of a link, as an adapter or a switch owns it: output queues per virtual lane, the credits that the
// far end has granted, and the size of the input buffer whose space is granted to the far end (IBA 7.9).
//
// A packet starts when the line is free, the packet is ready, the far end has buffer space for all of it, and
// the arbiter chooses its lane. Flow control packets go over the same lines (`flow_control.h`), but an event
// is spent on one only while a packet waits for its credits. So a packet mostly costs two events per link:
// start and arrival.
//
// The invariant: credits + blocks in flight or in the far end's buffer + credits on their way back = its
// size.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/core/trace.h"
#include "sim/fabric/channel.h"
#include "sim/fabric/flow_control.h"
#include "sim/fabric/lane_table.h"
#include "sim/fabric/packet_faults.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/vl_arbiter.h"
#include "sim/ib/packet.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

// Credits count blocks of 64 bytes (IBA 7.9.4.4); a packet takes whole blocks.
inline constexpr std::uint32_t kCreditBlockBytes = 64;
constexpr std::uint32_t blocks_of(std::uint32_t wire_bytes) {
  return (wire_bytes + kCreditBlockBytes - 1) / kCreditBlockBytes;
}

// An input buffer must hold the largest packet: 4096 bytes of payload and at the most 126 of headers and
// CRCs.
inline constexpr std::uint32_t kLeastInputBufferBytes = 66 * kCreditBlockBytes;
// FCCL grants no more than 2048 blocks (IBA 7.9.4.4).
inline constexpr std::uint32_t kMostInputBufferBytes = 2048 * kCreditBlockBytes;

struct PortParams {
  std::uint32_t virtual_lanes = 1;           // data lanes, 1 … 15
  std::uint32_t input_buffer_bytes = 65536;  // per lane, rounded down to blocks
  std::uint32_t vl15_buffer_bytes = 0;       // of VL15, likewise; what comes and does not fit is dropped; 0: all fits
  std::uint32_t output_queue_bytes = 16384;  // per lane; has_room() is false while as much is queued
  ArbitrationTables arbitration;             // of what leaves by this port
  std::vector<LevelMapping> sl_to_vl;        // likewise
  // Packets that leave the input buffer at one time, through a switch's crossbar; 0: any number.
  std::uint32_t crossbar_speedup = 0;
  // A packet that has been the first of its lane for so long is dropped (IBA 18.2.5.4, HOQLife); 0: never. After
  // `stall_count` such drops in a row (VLStallCount; 0: never) the lane stalls: for eight lifetimes every packet that
  // becomes its first is dropped at once.
  Duration head_lifetime{0};
  std::uint32_t stall_count = 0;
  // A packet that has not left a switch so long after its head came in is dropped when it is the first of its lane (IBA
  // 18.2.5.4, SwitchLifeTime); 0: never.
  Duration lifetime{0};
};

class Port {
 public:
  using RoomListener = void (*)(void* owner, ib::VirtualLane lane);

  // `id` is the port's own component ("server/mlx5_0/p1"); `owner` gets what arrives and outlives the port.
  Port(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, const PortParams& params,
       PacketSink& owner);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  ComponentId id() const { return id_; }
  PortNumber number() const { return number_; }
  bool connected() const { return channel_ != nullptr; }
  // Connected, and the cable carries packets.
  bool is_up() const { return up_; }
  // Whether packets of a lane may leave and come in: those of data lanes once the subnet manager has made the port active
  // (IBA 7.2.7), which it is unless somebody says otherwise.
  bool carries(ib::VirtualLane lane) const { return active_ || lane == kManagementLane; }
  // The table of service levels, as a subnet manager writes it (IBA 7.6.6).
  void set_lane_table(const std::vector<LevelMapping>& mappings) { sl_to_vl_ = LaneTable(mappings); }
  void set_active(bool active) { active_ = active; }
  // Parameters of the cable; the port must be connected.
  const LinkParams& link() const { return channel_->params(); }

  // Lanes that both ends have; those of this end while it is not connected.
  std::uint32_t operational_lanes() const { return operational_lanes_; }
  // The lane on which packets of a service level leave this port; kManagementLane: none, they are to be dropped.
  ib::VirtualLane lane_of(ib::ServiceLevel level) const { return sl_to_vl_.of(level, operational_lanes_); }

  // Queues a packet on its lane, lrh.lane, which must be operational or VL15. It may start at once. Never refused:
  // asking has_room() first is the sender's duty. Without a link the packet is dropped.
  void send(ib::PacketPtr packet);
  bool has_room(ib::VirtualLane lane) const {
    return lanes_[lane.value].queued_bytes < params_.output_queue_bytes;
  }
  // Called when a lane of which has_room() was false has room again, from an event of this port, never from
  // send().
  void set_room_listener(void* owner, RoomListener listener);

  // For switches: as send(), but the packet, whose head came in at `arrived`, does not start before `ready`, and
  // stays in the input buffer of `buffer`, where it came in on `buffer_lane`, until its last byte has left.
  // One of several copies names those that are still here; the last to leave frees the buffer.
  struct Copies {
    std::size_t left = 0;
    Instant latest;  // the end of those that have left
  };
  void forward(ib::PacketPtr packet, std::uint32_t wire_bytes, Instant arrived, Instant ready, Port& buffer,
               ib::VirtualLane buffer_lane, std::shared_ptr<Copies> copies = nullptr);

  // A packet that came in by this port leaves the input buffer now, or at `when`. Its lrh.lane and size must
  // be those with which it arrived. The credits travel back over the link.
  void release(const ib::Packet& packet);
  void release(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when);

  // VL15 has no flow control (IBA 7.6.4): whether a packet of it that comes in now finds room in the buffer, and
  // then takes it. Others always do: they had credits. What leaves at an instant makes room for what comes later.
  bool admit(const ib::Packet& packet) {
    return packet.lrh.lane != kManagementLane || params_.vl15_buffer_bytes == 0 || admit_management(packet);
  }

  // What has been counted up to now; whoever finds that something is wrong with a packet counts it here.
  ib::PortCounters& counters() {
    if (connected()) count_wait();
    return counters_;
  }
  // Flow control packets that have left by this port.
  std::uint64_t flow_control_packets() const { return flow_->sent(); }
  // Bytes waiting in the output queue of a lane; blocks the far end grants at this time.
  std::uint32_t queued_bytes(ib::VirtualLane lane) const { return lanes_[lane.value].queued_bytes; }
  std::uint32_t credits(ib::VirtualLane lane);

  // For credit_loop.h, at the end of a run. Whether the first packet of a data lane waits for space in the far end's input buffer
  // that the far end has not released.
  bool waits_for_credits(ib::VirtualLane lane);
  // visit(const Port& buffer, ib::VirtualLane) for each packet in a lane's queue that occupies an input buffer of its switch.
  template <class Visit>
  void visit_occupied_buffers(ib::VirtualLane lane, Visit visit) const {
    const Ring<Queued>& queue = lanes_[lane.value].queue;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (const Passage& passage = queue[i].passage; passage.buffer != nullptr) visit(*passage.buffer, passage.buffer_lane);
    }
  }
  bool has_queued(ib::VirtualLane lane) const { return !lanes_[lane.value].queue.empty(); }
  // Null: no cable.
  const Port* far_end() const { return peer_; }

  // Instead of the parameter, before the first packet.
  void set_head_lifetime(Duration lifetime) {
    head_lifetime_ = lifetime;
    has_lifetime_ = head_lifetime_ > Duration(0) || params_.lifetime > Duration(0);
  }

  // Asked about every packet that leaves by this port from now on; null: nobody.
  void set_faults(PacketFaults* faults) { faults_ = faults; }

 private:
  friend void connect(Port& a, Port& b, const LinkParams& params);
  friend void set_link(Port& end, bool up);

  // What is known of a packet on its way through here.
  struct Passage {
    Instant ready;
    Instant expires = kNever;  // the end of its lifetime
    std::uint32_t wire_bytes = 0;
    ib::VirtualLane buffer_lane;
    bool is_copy = false;    // made by a fault, and none of its victims
    Port* buffer = nullptr;  // null: not in an input buffer
  };
  struct Queued {
    ib::PacketPtr packet;
    Passage passage;
    std::shared_ptr<Copies> copies;
  };
  struct CreditReturn {
    Instant when;
    std::uint32_t blocks = 0;
  };
  struct Lane {
    Ring<Queued> queue;            // by ready time, then by arrival
    Ring<CreditReturn> returning;  // by time
    std::uint32_t queued_bytes = 0;
    std::uint32_t credits = 0;   // blocks, up to the returns already taken in
    std::uint32_t capacity = 0;  // blocks of the far end's input buffer
    Instant head_since{};        // its first packet is the first, and ready
    Instant stalled_until{};
    std::uint32_t expired = 0;   // first packets dropped in a row
  };

  void attach(Port& peer, const LinkParams& params);
  bool admit_management(const ib::Packet& packet);
  void enqueue(ib::PacketPtr&& packet, const Passage& passage, std::shared_ptr<Copies>&& copies, ib::VirtualLane lane);
  // The packet's last byte leaves the input buffer at `when`.
  static void leave_buffer(const Passage& passage, Copies* copies, Instant when);
  // When the crossbar can read one more packet out of this port's input buffer.
  Instant next_read();
  // Flow control packets that left before now, in the direction of the far end, are on the line.
  void advance_flow_control();
  void take_credits(Lane& lane);
  // When the first packet of a lane may start as far as it and its credits go; kNever: not known yet. Notes in
  // credit_starved_ that it waits for credits.
  Instant eligible_at(int number);
  // What the far end knew about credits to come may have changed.
  void tell_waiting_peer() {
    if (peer_->credit_starved_) peer_->set_wake();
  }
  // The lane has another first packet.
  void note_head(Lane& lane);
  bool is_stalled(const Lane& lane) const { return lane.head_since < lane.stalled_until; }
  // When the first packet of a lane has waited too long at the head.
  Instant expires_at(const Lane& lane) const;
  // Or has been here too long.
  static bool is_too_old(const Passage& passage, Instant now) { return passage.expires < now; }
  Instant drop_at(const Lane& lane) const {
    const Passage& first = lane.queue.front().passage;
    return std::min(expires_at(lane), std::max(first.expires, first.ready));
  }
  void drop_first(Lane& lane, DropReason reason);
  // When the next of the first packets has waited for too long.
  Instant next_expiry() const;
  // Whether packets are dropped at all for having waited too long.
  bool has_lifetime() const { return has_lifetime_; }
  // Drops the first packets that have waited too long; false if there are none.
  bool expire();
  void start(ib::VirtualLane lane);
  // A second one of a packet is the next to start on its lane.
  void queue_copy(const ib::Packet& packet, const Passage& passage, ib::VirtualLane lane);
  void drop(const ib::Packet& packet, DropReason reason);
  // Counts the time since which a packet could have been sent and none was.
  void count_wait();
  // What is queued here or on its way to the far end is lost.
  void lose_everything();
  void set_up(bool up);
  // Starts what can start now and sets the timer for what cannot yet.
  void pump();
  void set_wake();
  // There is nothing to wake for.
  void stop_waking() {
    credit_starved_ = false;
    wake_.cancel();
  }
  void on_wake();

  Engine& engine_;
  Tracer& tracer_;
  const ComponentId id_;
  const PortNumber number_;
  const PortParams params_;
  PacketSink& owner_;
  PacketFaults* faults_ = nullptr;
  std::unique_ptr<Channel> channel_;  // towards the far end
  bool up_ = false;
  bool active_ = true;
  Port* peer_ = nullptr;
  std::optional<FlowControl> flow_;  // of this end's input buffer
  std::uint32_t operational_lanes_;
  std::uint32_t waiting_ = 0;  // bit n: lane n has a packet queued, and the arbiter serves it
  bool credit_starved_ = false;  // and one of them waits for credits that have not left the far end
  const std::uint32_t served_;
  LaneTable sl_to_vl_;
  Duration head_lifetime_{0};
  bool has_lifetime_ = false;
  std::vector<Lane> lanes_;    // VL15 too
  VlArbiter arbiter_;
  std::uint32_t vl15_blocks_ = 0;     // in the buffer, with those that have left since it was last asked
  Ring<CreditReturn> vl15_releases_;  // by time
  std::vector<Instant> reads_;  // ends of the packets that are leaving the input buffer
  ib::PortCounters counters_;
  Instant waited_until_{};  // what was waited before is counted
  Instant last_period_{};  // the line's busy period of the last packet
  void* room_owner_ = nullptr;
  RoomListener room_listener_ = nullptr;
  Timer wake_;
};

// Joins two ports by a cable, once, before the first packet. Each end learns the other's input buffer.
void connect(Port& a, Port& b, const LinkParams& params);

// The cable in `end` stops carrying packets, in both directions, or does so again. Down, everything that is
// queued at its ends or on its way is lost, unless its head has arrived; up, the ends know each other's free
// buffer space, as link initialisation tells it (IBA 7.9.4).
void set_link(Port& end, bool up);

}  // namespace verbatim::fabric
