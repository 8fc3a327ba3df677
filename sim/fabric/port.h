// One end of a link, as an adapter or a switch owns it. It joins the parts and decides when a packet starts:
//
//  - `OutputScheduler`: queues per virtual lane, arbitration, lifetimes;
//  - `LinkEnd`: the line, arrivals, and the policy of flow control;
//  - `PerPortBuffer`: space for what comes in; an adapter's port has one of its own, those of a switch share the switch's.
//
// A packet starts when the line is free, the packet is ready, the crossbar can read it, flow control allows it, and the arbiter
// chooses its lane. Frames of flow control use the same lines (`flow_control_packets.h`), but an event is spent on one only while
// a packet waits for its credits. So a packet mostly costs two events per link: start and arrival.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/conservation.h"
#include "sim/fabric/forward_marking.h"
#include "sim/fabric/lane_table.h"
#include "sim/fabric/link_end.h"
#include "sim/fabric/marking.h"
#include "sim/fabric/output_scheduler.h"
#include "sim/fabric/packet_faults.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/pause_watchdog.h"
#include "sim/fabric/switch_buffer.h"
#include "sim/fabric/vl_arbiter.h"
#include "sim/ib/packet.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

// An input buffer must hold the largest packet: 4096 bytes of payload and at the most 126 of headers and
// CRCs.
inline constexpr std::uint32_t kLeastInputBufferBytes = 66 * kCreditBlockBytes;
// FCCL grants no more than 2048 blocks (IBA 7.9.4.4).
inline constexpr std::uint32_t kMostInputBufferBytes = 2048 * kCreditBlockBytes;

struct PortParams {
  std::uint32_t virtual_lanes = 1;           // data lanes, 1 … 15
  std::uint32_t input_buffer_bytes = 65536;  // per lane, rounded down to blocks
  std::uint32_t vl15_buffer_bytes = 0;       // of VL15 at a port with a buffer of its own; 0: everything fits
  std::uint32_t output_queue_bytes = 16384;  // per lane; has_room() is false while as much is queued
  ArbitrationTables arbitration;             // of what leaves by this port
  SharedArbiterTables shared_arbitration;    // the same, for ports that share it; null: the port makes its own
  std::vector<LevelMapping> sl_to_vl;        // likewise
  // A packet that has been the first of its lane for so long is dropped (IBA 18.2.5.4, HOQLife); 0: never. After
  // `stall_count` such drops in a row (VLStallCount; 0: never) the lane stalls: for eight lifetimes every packet that
  // becomes its first is dropped at once.
  Duration head_lifetime{0};
  std::uint32_t stall_count = 0;
  // A packet that has not left a switch so long after its head came in is dropped when it is the first of its lane (IBA
  // 18.2.5.4, SwitchLifeTime); 0: never.
  Duration lifetime{0};
};

class alignas(64) Port final : private LinkUser, private SpaceListener {
 public:
  using RoomListener = void (*)(void* owner, ib::VirtualLane lane);

  // `id` is the port's own component ("server/mlx5_0/p1"); `owner` gets what arrives and outlives the port. `buffer`: the
  // switch's, which outlives the port as well; null: the port has one of its own.
  Port(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, const PortParams& params, PacketSink& owner,
       PerPortBuffer* buffer = nullptr);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  ComponentId id() const { return id_; }
  PortNumber number() const { return number_; }
  bool connected() const { return link_.has_value(); }
  // Connected, and the link carries packets: the cable is intact and both ends are enabled, as far as this end knows.
  bool is_up() const { return up_; }

  // The cable breaks or is repaired. To be called for both ends at one instant, for each in an event of its own or outside of
  // events (`set_link`).
  void set_cable(bool is_intact) { set_down(DownCause::kBrokenCable, !is_intact); }
  // This end is disabled or enabled. The far end knows a propagation later.
  void set_enabled(bool is_enabled);
  // Whether packets of a lane may leave and come in: those of data lanes once the subnet manager has made the port active
  // (IBA 7.2.7), which it is unless somebody says otherwise.
  bool carries(ib::VirtualLane lane) const { return active_ || lane == kManagementLane; }
  // The table of service levels, as a subnet manager writes it (IBA 7.6.6).
  void set_lane_table(const std::vector<LevelMapping>& mappings) { sl_to_vl_ = LaneTable(mappings); }
  // The tables of arbitration (IBA 7.6.9), for packets that start from now on; the same as before: nothing changes.
  void set_arbitration(const ArbitrationTables& tables) {
    out_.set_arbitration(tables);
    if (up_ && out_.waiting() != 0) set_wake();
  }
  void set_active(bool active) { active_ = active; }
  // Parameters of the cable; the port must be connected.
  const LinkParams& link() const { return link_->params(); }

  // Whether the far end sends by credits.
  bool has_credits() const { return has_credits_; }
  // Lanes that both ends have; those of this end while it is not connected.
  std::uint32_t operational_lanes() const { return out_.data_lanes(); }
  // The lane on which packets of a service level leave this port; kManagementLane: none, they are to be dropped.
  ib::VirtualLane lane_of(ib::ServiceLevel level) const { return sl_to_vl_.of(level, out_.data_lanes()); }

  // Queues a packet on its lane, lrh.lane, which must be operational or VL15. It may start at once. Never refused:
  // asking has_room() first is the sender's duty. Without a link the packet is dropped.
  void send(ib::PacketPtr packet) { send(std::move(packet), engine_.now()); }
  // The same, and it does not start before `ready`; those that are ready sooner pass it.
  void send(ib::PacketPtr packet, Instant ready);
  bool has_room(ib::VirtualLane lane) const { return out_.queued_bytes(lane) < output_queue_bytes_; }
  // Called when a lane of which has_room() was false has room again, from an event of this port, never from
  // send().
  void set_room_listener(void* owner, RoomListener listener);

  // For switches: as send(), but the packet, which came in at `times`, does not start before `ready`, and keeps its claim
  // until its last byte has left.
  void forward(ib::PacketPtr packet, ArrivalTimes times, Instant ready, const BufferClaim& claim);

  // A packet that came in by this port leaves the input buffer now, or at `when`. Its lrh.lane and size must
  // be those with which it arrived. Flow control informs the far end.
  void release(const ib::Packet& packet);
  void release(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) {
    if (lane != kManagementLane && has_credits_) return on_space_released(lane, wire_bytes, when);  // such space is not counted
    buffer_->release(number_, lane, wire_bytes, when);
  }

  // Whether a packet that comes in now finds room in the buffer, and then takes it. VL15 has no flow control (IBA 7.6.4), nor
  // have lossy links; other packets had credits. What leaves at an instant makes room for what comes later.
  bool admit(const ib::Packet& packet) {
    const bool is_admitted = (packet.lrh.lane != kManagementLane && has_credits_) || admit_counted(packet);
    if constexpr (kChecksConservation) {
      if (is_admitted && own_buffer_ == nullptr) buffer_->bytes_of(number_).space.enter(packet.wire_bytes());
    }
    return is_admitted;
  }

  // What has been counted up to now; whoever finds that something is wrong with a packet counts it here.
  ib::PortCounters& counters() {
    if (connected()) count_wait();
    if (counters_.priorities != nullptr && has_pauses_) [[unlikely]] link_->take_grants(0);
    return counters_;
  }
  // By priority, too, from now on; at a port on Ethernet, before the first packet.
  void count_priorities() {
    extras().priorities = std::make_unique<ib::PriorityCounters>();
    counters_.priorities = extras().priorities.get();
  }
  // Bit n: the far end pauses priority n at this time; it is asked to pause it.
  std::uint8_t paused_lanes();
  std::uint8_t asked_pauses() const { return has_pauses_ ? link_->pauses()->asked() : std::uint8_t{0}; }
  // The device is broken: it asks the far end to pause these priorities (bit n: priority n) from now on, whatever room there is;
  // 0: no longer. The link has pauses at both ends.
  void set_pause_storm(std::uint8_t priorities);
  // The same; before the first packet.
  void set_watchdog(const WatchdogParams& params);
  // Flow control packets that have left by this port.
  std::uint64_t flow_control_packets() const { return link_->flow_control().frames_sent(); }
  // Bytes waiting in the output queue of a lane, and the most that there have been; blocks the far end grants at this time.
  std::uint32_t queued_bytes(ib::VirtualLane lane) const { return out_.queued_bytes(lane); }
  std::uint32_t most_queued_bytes(ib::VirtualLane lane) const { return out_.most_queued_bytes(lane); }
  std::uint32_t credits(ib::VirtualLane lane);

  // For credit_loop.h. Whether the first packet of a data lane waits for space in the far end's input buffer that the far end has
  // not released.
  bool waits_for_credits(ib::VirtualLane lane);
  // Whether such a wait ends by itself, with the loss of packets: by a lifetime, or a watchdog.
  bool limits_waits(ib::VirtualLane lane) const;
  // visit(const BufferClaim&, wire bytes) for each packet in a lane's queue that occupies space in input_buffer().
  template <class Visit>
  void visit_claims(ib::VirtualLane lane, Visit visit) const {
    out_.visit(lane, [&](const ib::Packet& queued) {
      if (const BufferClaim claim = claim_of(queued); claim.in.value != 0) visit(claim, queued.sent_bytes);
    });
  }
  bool has_queued(ib::VirtualLane lane) const { return !out_.is_empty(lane); }
  // The first packet of a lane, which has one, in blocks; how many the far end's input buffer has, on a link with credits.
  std::uint32_t first_blocks(ib::VirtualLane lane) const { return blocks_of(out_.first(lane).sent_bytes); }
  std::uint32_t far_blocks() const { return link_->flow_control().capacity(); }
  // Where packets wait that come in by this port, and by the others of its switch.
  const PerPortBuffer& input_buffer() const { return *buffer_; }
  // In debug builds: a packet waits here.
  bool has_any_queued() const { return queued_.held() > 0; }
  // Null: no cable.
  Port* far_end() const { return peer_; }

  // For a cable between parts, after a window that ends at `end` (`link_inbox.h`): first for all ports, then the second for all.
  void finish_window(Instant end) { link_->finish_window(end); }
  void take_inbox() { link_->take_inbox(); }
  // Null: the far end is in this part.
  const LinkInbox* inbox() const { return link_->inbox(); }
  // The next window must not begin after this time, at which grants may leave; kNever: no grant is due.
  Instant next_grant_departure() const { return link_->next_grant_departure(); }

  // A packet will be forwarded to this port: asks for its memory, then for that of the far end, and for what both name.
  void prefetch() const { prefetch_lines(this, 0, sizeof(Port) / kCacheLineBytes); }
  void prefetch_far_end() const {
    if (connected()) link_->prefetch_far_end();
  }
  void prefetch_flow_control() const {
    if (connected()) link_->prefetch_flow_control();
  }

  // Instead of the parameter, before the first packet.
  void set_head_lifetime(Duration lifetime) { out_.set_head_lifetime(lifetime); }

  // Asked about every packet that leaves by this port from now on; null: nobody.
  void set_faults(PacketFaults* faults) { extras().faults = faults; }
  // Marks packets that leave by this port; before the first one.
  void set_marking(std::shared_ptr<const MarkingParams> params, const Rng& random) {
    extras().marking = std::make_unique<Marking>(std::move(params), random);
  }
  // Adds its record to packets that have room for one (`sim/ib/telemetry.h`) and leave by this port; before the first packet.
  void set_telemetry() { extras().adds_telemetry = true; }
  // Marks with FECN, on a link of InfiniBand, by a setting that may change at any time (`ForwardMarking::set`). The first call
  // makes it, off; `log` outlives the port.
  ForwardMarking& forward_marking(const Rng& random, ib::MarkingLog& log) {
    auto& marking = extras().forward_marking;
    if (marking == nullptr) marking = std::make_unique<ForwardMarking>(random, input_buffer_bytes_, log);
    return *marking;
  }

 private:
  friend void connect(Port& a, Port& b, const SharedLinkParams& of_a, const SharedLinkParams& of_b, CableKind kind);

  enum class DownCause : std::uint8_t { kBrokenCable = 1, kDisabled = 2, kFarEndDisabled = 4 };

  // For what few ports have.
  struct Extras {
    PacketFaults* faults = nullptr;
    std::unique_ptr<Marking> marking;      // null: nothing is marked
    std::unique_ptr<ForwardMarking> forward_marking;  // likewise
    std::unique_ptr<ib::PriorityCounters> priorities;  // null: they are not counted
    std::unique_ptr<Timer> pause_timer;    // null: no priority is paused; a decision, or a frame that is due
    std::unique_ptr<PauseWatchdog> watchdog;  // null: none
    std::uint8_t pause_storm = 0;             // bit n: priority n is to be paused without need
    bool has_stormed = false;                 // some priority has been so
    bool adds_telemetry = false;
    std::uint64_t telemetry_sent = 0;         // bytes that have left since it does
  };

  // Why the far end has waited that this end paused, as a part of a message's time.
  const char* pause_name() const;

  Extras& extras() {
    if (extras_ == nullptr) extras_ = std::make_unique<Extras>();
    return *extras_;
  }
  LinkSide side();
  void attach(Port& peer, const SharedLinkParams& params);
  bool admit_counted(const ib::Packet& packet);
  // The far end is asked to pause a lane that has become full.
  void judge_pause(ib::VirtualLane lane);
  // Lanes that a packet leaves now are resumed if they have room again, and a frame leaves that is due.
  void on_pause_timer();
  void schedule_pause_timer(Instant when);
  void schedule_resumes();
  void send_pause_frame();
  // Grants of a lane and pauses that have arrived by now.
  void take_grants(ib::VirtualLane lane) {
    if (has_watchdog_) [[unlikely]] note_pauses();
    link_->take_grants(lane.value);
  }
  // The watchdog learns of the pauses up to now; storms that are over end.
  void note_pauses();
  // When the watchdog finds the next storm, if nothing changes.
  Instant next_storm() const;
  // Storms begin that are due; false: there are none.
  bool begin_storms();
  // Whether the watchdog drops what comes to a lane now.
  bool is_stormed(ib::VirtualLane lane);
  // The port has extras: marks a packet, if that is done there.
  void mark(MarkingParams::Where where, ib::Packet& packet, ib::VirtualLane lane);
  // The same with FECN, of a packet of a data lane that has left its queue and starts now.
  void mark_forward(ib::Packet& packet, ib::VirtualLane lane);
  // The port adds telemetry, and has; a packet starts.
  void add_telemetry(ib::Packet& packet, std::uint32_t wire_bytes);
  bool owes_pause_frame() const { return has_pauses_ && link_->pauses()->frame_due() != kNever; }
  // Data that could start at `at` goes behind a frame that has been due since before. The pause timer sends the frame, when all
  // departures of the instant are known.
  bool is_behind_pause_frame(Instant at) const { return has_pauses_ && link_->pauses()->frame_due() < at; }
  // The packet has its forwarding state.
  void enqueue(ib::PacketPtr&& packet, ib::VirtualLane lane);
  // When the first packet of a lane may start as far as it, the crossbar and flow control permit; kNever: not known yet.
  Instant eligible_at(ib::VirtualLane lane);
  // Drops the first packets that have expired; false if there are none.
  bool expire();
  void start(ib::VirtualLane lane);
  // A second one of a packet is the next to start on its lane.
  void queue_copy(const ib::Packet& packet, ib::VirtualLane lane);
  void drop(const ib::Packet& packet, DropReason reason);
  // The same with one that was in a queue; its space is free.
  void lose(const ib::Packet& lost, DropReason reason);
  // Counts the time since which a packet could have been sent and none was.
  void count_wait();
  // One of the causes for which the link is down begins or ends; false: it had already.
  bool set_down(DownCause cause, bool is_down);
  void set_up(bool up);
  void lose_queued();
  // In debug builds: what came into the output queues is there, or has started or been dropped.
  void check_queued() const;
  // Starts what can start now and sets the timer for what cannot yet.
  void pump();
  void set_wake();
  void stop_waking();
  void on_wake();
  void prefetch_wake(int step);
  void on_grants_changed() override {
    if (out_.waiting() != 0) set_wake();
  }
  void on_loss(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant tail) override { link_->on_loss(lane, wire_bytes, tail); }
  void on_far_end_enabled(bool is_enabled) override { set_down(DownCause::kFarEndDisabled, !is_enabled); }
  void on_space_released(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) override;
  ComponentId input_id() const override { return id_; }

  // In the order in which packets need it: the members before link_ and the beginning of it for what leaves.
  Engine& engine_;
  Tracer& tracer_;
  const ComponentId id_;
  const PortNumber number_;
  bool up_ = false;
  std::uint8_t down_causes_ = 0;  // of the link
  bool active_ = true;
  bool has_credits_ = true;  // the link's flow control
  bool has_pauses_ = false;  // likewise, at this end
  bool has_watchdog_ = false;
  std::uint8_t ignored_pauses_ = 0;  // bit n: of priority n, by a watchdog
  const std::uint32_t output_queue_bytes_;
  std::unique_ptr<PerPortBuffer> own_buffer_;
  PerPortBuffer* const buffer_;
  Timer wake_;
  std::unique_ptr<Extras> extras_;  // null: nothing of it
  LaneTable sl_to_vl_;
  OutputScheduler out_;
  [[no_unique_address]] Bytes queued_;
  RoomListener room_listener_ = nullptr;
  Instant waited_until_{};  // what was waited before is counted
  Instant last_period_{};   // the line's busy period of the last packet
  ib::PortCounters counters_;
  std::optional<LinkEnd> link_;
  const Duration lifetime_;
  Port* peer_ = nullptr;
  PacketSink& owner_;
  void* room_owner_ = nullptr;
  const std::uint32_t input_buffer_bytes_;
};

static_assert(kChecksConservation || sizeof(Port) <= 896);

// Joins two ports by a cable, once, before the first packet. Each end learns the other's input buffer. A cable between parts
// needs a propagation above zero.
void connect(Port& a, Port& b, const SharedLinkParams& params, CableKind kind = CableKind::kWithinPart);
// The same; where one end pauses and is paused, and the other, by mistake, drops what finds no space and knows no pauses, they
// differ in flow_control alone.
void connect(Port& a, Port& b, const SharedLinkParams& of_a, const SharedLinkParams& of_b, CableKind kind);
inline void connect(Port& a, Port& b, const LinkParams& params, CableKind kind = CableKind::kWithinPart) {
  connect(a, b, std::make_shared<const LinkParams>(params), kind);
}

// The cable in `end` breaks or is repaired, at both ends. For callers at rest: no event is being executed, or both ends are in
// one part of the fabric.
//
// When a link fails, packets queued at its ends are dropped, and those on it are lost at the receiver, unless their heads have
// arrived. Flow control goes on: space that lost packets would have taken is granted again when they would have arrived, and
// the ends of a link that comes up know each other's free space as of a propagation ago (IBA 7.9.4).
void set_link(Port& end, bool up);

}  // namespace verbatim::fabric
