// One end of a link, owned by an adapter or a switch. It joins these parts and decides when a packet
// starts:
//  - `OutputScheduler`: queues per virtual lane, arbitration, lifetimes;
//  - `LinkEnd`: the line, arrivals, and the flow control policy;
//  - `PerPortBuffer`: space for arriving packets; an adapter's port has its own, a switch's ports share the
//    switch's.
//
// A packet starts when the line is free, the packet is ready, the crossbar can read it, flow control
// permits it, and the arbiter chooses its lane. Flow control frames use the same lines
// (`flow_control_packets.h`), but cost an event only while a packet waits for their credits. A packet
// therefore mostly costs two events per link: start and arrival.
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

// An input buffer must hold the largest packet: 4096 bytes of payload and at most 126 bytes of headers and
// CRCs.
inline constexpr std::uint32_t kLeastInputBufferBytes = 66 * kCreditBlockBytes;
// FCCL grants at most 2048 blocks (IBA 7.9.4.4).
inline constexpr std::uint32_t kMostInputBufferBytes = 2048 * kCreditBlockBytes;

struct PortParams {
  std::uint32_t virtual_lanes = 1;           // data lanes, 1 … 15
  std::uint32_t input_buffer_bytes = 65536;  // per lane, rounded down to blocks
  std::uint32_t vl15_buffer_bytes = 0;       // VL15, at a port with a buffer of its own; 0: unlimited
  std::uint32_t output_queue_bytes = 16384;  // per lane; has_room() is false if as much is queued
  ArbitrationTables arbitration;             // for the output of this port
  // The same, shared by several ports; null: the port makes its own.
  SharedArbiterTables shared_arbitration;
  std::vector<LevelMapping> sl_to_vl;        // for the output of this port
  // A packet that has been the first of its lane for this time is dropped (IBA 18.2.5.4, HOQLife); 0:
  // never. After `stall_count` such drops in a row (VLStallCount; 0: never) the lane stalls: for eight
  // lifetimes every packet that becomes its first is dropped at once.
  Duration head_lifetime{0};
  std::uint32_t stall_count = 0;
  // A packet that is the first of its lane and has not left the switch this time after its head arrived is
  // dropped (IBA 18.2.5.4, SwitchLifeTime); 0: never.
  Duration lifetime{0};
};

class alignas(64) Port final : private LinkUser, private SpaceListener {
 public:
  using RoomListener = void (*)(void* owner, ib::VirtualLane lane);

  // `id` is the port's own component ("server/mlx5_0/p1"); `owner` receives arriving packets and must
  // outlive the port. `buffer`: the switch's, which must outlive the port too; null: the port has its own.
  Port(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, const PortParams& params, PacketSink& owner,
       PerPortBuffer* buffer = nullptr);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  ComponentId id() const { return id_; }
  PortNumber number() const { return number_; }
  bool connected() const { return connected_; }
  // Connected, and the link carries packets: as far as this end knows, the cable is intact and both ends
  // are enabled.
  bool is_up() const { return up_; }

  // The cable breaks or is repaired. Must be called for both ends at one instant, for each in an event of
  // its own or outside of events (`set_link`).
  void set_cable(bool is_intact) { set_down(DownCause::kBrokenCable, !is_intact); }
  // Disables or enables this end. The far end learns of it a propagation later.
  void set_enabled(bool is_enabled);
  // Whether packets of a lane may leave and arrive. Data lanes need an active port (IBA 7.2.7); a port is
  // active unless set_active(false) was called.
  bool carries(ib::VirtualLane lane) const { return active_ || lane == kManagementLane; }
  // SLtoVLMappingTable, written by a subnet manager (IBA 7.6.6).
  void set_lane_table(const std::vector<LevelMapping>& mappings) { sl_to_vl_ = LaneTable(mappings); }
  // VLArbitrationTable (IBA 7.6.9), for packets that start later. Equal tables change nothing.
  void set_arbitration(const ArbitrationTables& tables) {
    out_.set_arbitration(tables);
    if (up_ && out_.waiting() != 0) set_wake();
  }
  void set_active(bool active) { active_ = active; }
  // Parameters of the cable; the port must be connected.
  const LinkParams& link() const { return link_->params(); }

  // Whether the link has credits.
  bool has_credits() const { return has_credits_; }
  // Number of data lanes that both ends have; of this end while it is not connected.
  std::uint32_t operational_lanes() const { return out_.data_lanes(); }
  // Lane on which packets of a service level leave this port; kManagementLane: none, the packets must be
  // dropped.
  ib::VirtualLane lane_of(ib::ServiceLevel level) const { return sl_to_vl_.of(level, out_.data_lanes()); }

  // Queues a packet on its lane, lrh.lane, which must be operational or VL15. It may start at once. The
  // packet is never refused: the sender must call has_room() first. Without a link it is dropped.
  void send(ib::PacketPtr packet) { send(std::move(packet), engine_.now()); }
  // The same for a packet that must not start before `ready`; packets that are ready earlier overtake it.
  void send(ib::PacketPtr packet, Instant ready);
  bool has_room(ib::VirtualLane lane) const { return out_.queued_bytes(lane) < output_queue_bytes_; }
  // Called when a lane for which has_room() was false has room again: from an event of this port, never
  // from send().
  void set_room_listener(void* owner, RoomListener listener);

  // For switches: as send(), for a packet that arrived at `times`. It does not start before `ready`, and
  // keeps its claim until its last byte has left.
  void forward(ib::PacketPtr packet, ArrivalTimes times, Instant ready, const BufferClaim& claim);

  // A packet that arrived by this port leaves the input buffer now, or at `when`. Its lrh.lane and size
  // must be those of its arrival. Flow control informs the far end.
  void release(const ib::Packet& packet);
  void release(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) {
    // Credits are not counted in the buffer.
    if (lane != kManagementLane && has_credits_) return on_space_released(lane, wire_bytes, when);
    buffer_->release(number_, lane, wire_bytes, when);
  }

  // Takes buffer space for an arriving packet; false: there is too little. VL15 has no flow control (IBA
  // 7.6.4), nor have lossy links; other packets had credits. Space that is released at an instant is
  // available to later arrivals only.
  bool admit(const ib::Packet& packet) {
    const bool is_admitted = (packet.lrh.lane != kManagementLane && has_credits_) || admit_counted(packet);
    if constexpr (kChecksConservation) {
      if (is_admitted && own_buffer_ == nullptr) buffer_->bytes_of(number_).space.enter(packet.wire_bytes());
    }
    return is_admitted;
  }

  // Counters up to now. Devices that detect an error in a packet count it here.
  ib::PortCounters& counters() {
    if (connected()) count_wait();
    if (counters_.priorities != nullptr && has_pauses_) [[unlikely]] link_->take_grants(0, engine_.now());
    return counters_;
  }
  // Enables counters per priority, at an Ethernet port, before the first packet.
  void count_priorities() {
    extras().priorities = std::make_unique<ib::PriorityCounters>();
    counters_.priorities = extras().priorities.get();
  }
  // Bit n: the far end pauses priority n at present; the far end has been asked to pause it.
  std::uint8_t paused_lanes();
  std::uint8_t asked_pauses() const { return has_pauses_ ? link_->pauses()->asked() : std::uint8_t{0}; }
  // Whether the far end has been asked to pause a priority, until a packet of that group leaves this device.
  bool resumes_at_departure(ib::VirtualLane lane) const {
    return has_pauses_ && ((asked_pauses() & ~extras_->pause_storm) >> lane.value & 1) != 0;
  }
  // Simulates a broken device: from now on it requests pauses of these priorities (bit n: priority n),
  // regardless of free space; 0: ends it. The link must have pauses at both ends.
  void set_pause_storm(std::uint8_t priorities);
  // The link must have pauses; before the first packet.
  void set_watchdog(const WatchdogParams& params);
  // Flow control packets sent by this port.
  std::uint64_t flow_control_packets() const { return link_->flow_control().frames_sent(); }
  // Bytes in the output queue of a lane, and their maximum so far; blocks that the far end grants at
  // present.
  std::uint32_t queued_bytes(ib::VirtualLane lane) const { return out_.queued_bytes(lane); }
  std::uint32_t most_queued_bytes(ib::VirtualLane lane) const { return out_.most_queued_bytes(lane); }
  std::uint32_t credits(ib::VirtualLane lane);

  // For credit_loop.h: whether the first packet of a data lane waits for space in the far end's input
  // buffer that has not been released.
  bool waits_for_credits(ib::VirtualLane lane);
  // Whether a lifetime or watchdog ends such a wait, with loss of packets.
  bool limits_waits(ib::VirtualLane lane) const;
  // Calls visit(const BufferClaim&, wire bytes) for each packet in a lane's queue that occupies space in
  // input_buffer().
  template <class Visit>
  void visit_claims(ib::VirtualLane lane, Visit visit) const {
    out_.visit(lane, [&](const ib::Packet& queued) {
      if (const BufferClaim claim = claim_of(queued); claim.in.value != 0) visit(claim, queued.sent_bytes);
    });
  }
  bool has_queued(ib::VirtualLane lane) const { return !out_.is_empty(lane); }
  // Size of the first packet of a lane in blocks, and of the far end's input buffer, on a link with
  // credits; the lane must not be empty.
  std::uint32_t first_blocks(ib::VirtualLane lane) const { return blocks_of(out_.first(lane).sent_bytes); }
  std::uint32_t far_blocks() const { return link_->flow_control().capacity(); }
  // Buffer for packets that arrive by this port, and by the other ports of its switch.
  const PerPortBuffer& input_buffer() const { return *buffer_; }
  // In debug builds: whether a packet waits here.
  bool has_any_queued() const { return queued_.held() > 0; }
  // Null: no cable.
  Port* far_end() const { return peer_; }

  // For a cable between parts, after a window that ends at `end` (`link_inbox.h`): finish_window() for all
  // ports, then take_inbox() for all.
  void finish_window(Instant end) { link_->finish_window(end); }
  void take_inbox() { link_->take_inbox(); }
  // Null: the far end is in this part.
  const LinkInbox* inbox() const { return link_->inbox(); }
  // Latest start of the next window: grants may leave at this time; kNever: no grant is due.
  Instant next_grant_departure() const { return link_->next_grant_departure(); }

  // Prefetches this port for a packet that will be forwarded to it; then, if no packet waits here, the far
  // end; then the flow control of both.
  void prefetch() const {
    prefetch_lines(this, 0, kQueueLines);
    prefetch_lines(this, kFlowControlLine, kDepartureLines - kFlowControlLine);
  }
  // The same for state outside the port: the queue of the packet's lane, unless it is data lane 0, and ECN marking.
  void prefetch_lane(ib::VirtualLane lane) const { prefetch_lanes(1u << lane.value); }
  void prefetch_far_end() const {
    if (connected() && out_.waiting() == 0) link_->prefetch_far_end();
  }
  void prefetch_flow_control() const {
    if (connected() && out_.waiting() == 0) link_->prefetch_flow_control();
  }

  // Overrides the parameter; before the first packet.
  void set_head_lifetime(Duration lifetime) { out_.set_head_lifetime(lifetime); }

  // Consulted about each packet that leaves by this port; null: no faults.
  void set_faults(PacketFaults* faults) { extras().faults = faults; }
  // Enables ECN marking of packets that leave by this port; before the first one.
  void set_marking(std::shared_ptr<const MarkingParams> params, const Rng& random) {
    extras().marking.emplace(std::move(params), random);
  }
  // Adds an INT record to packets that have room for one (`sim/ib/telemetry.h`) and leave by this port;
  // before the first packet.
  void set_telemetry() { extras().adds_telemetry = true; }
  // FECN marking on an InfiniBand link, with a setting that may change at any time (`ForwardMarking::set`).
  // The first call creates it, disabled; `log` must outlive the port.
  ForwardMarking& forward_marking(const Rng& random, ib::MarkingLog& log) {
    auto& marking = extras().forward_marking;
    if (marking == nullptr) marking = std::make_unique<ForwardMarking>(random, input_buffer_bytes_, log);
    return *marking;
  }

 private:
  friend void connect(Port& a, Port& b, const SharedLinkParams& of_a, const SharedLinkParams& of_b, CableKind kind);

  enum class DownCause : std::uint8_t { kBrokenCable = 1, kDisabled = 2, kFarEndDisabled = 4 };

  // State that few ports need; each packet reads the first line.
  struct alignas(kCacheLineBytes) Extras {
    PacketFaults* faults = nullptr;
    std::optional<Marking> marking;  // nullopt: no ECN marking
    std::unique_ptr<ForwardMarking> forward_marking;  // null: no FECN marking
    bool adds_telemetry = false;
    std::uint8_t pause_storm = 0;  // bit n: priority n is paused regardless of space
    bool has_stormed = false;      // there has been a pause storm
    // For pause decisions and due frames; null: the link has no pauses.
    std::unique_ptr<Timer> pause_timer;
    std::unique_ptr<PauseWatchdog> watchdog;  // null: none
    std::unique_ptr<ib::PriorityCounters> priorities;  // null: not counted
    std::uint64_t telemetry_sent = 0;  // bytes sent since telemetry was enabled
  };

  // Name of a message's time spent waiting because this end had paused its far end.
  const char* pause_name() const;

  Extras& extras() {
    if (extras_ == nullptr) extras_ = std::make_unique<Extras>();
    return *extras_;
  }
  LinkSide side();
  void attach(Port& peer, const SharedLinkParams& params);
  bool admit_counted(const ib::Packet& packet);
  // Reports the changed output queue of a lane to observers.
  void show_queue(ib::VirtualLane lane) {
    if (tracer_.wants_facts()) [[unlikely]] tracer_.report_output_queue(id_, lane.value, out_.queued_bytes(lane));
  }
  // Asks the far end to pause the lane if the lane has become full.
  void pause_if_full(ib::VirtualLane lane);
  // Resumes lanes that a packet leaves now if they have room again, and sends a due frame.
  void on_pause_timer();
  void schedule_pause_timer(Instant when);
  void schedule_resumes();
  void send_pause_frame();
  // Takes account of grants of a lane, and of pauses, that have arrived by now.
  void take_grants(ib::VirtualLane lane) {
    if (has_watchdog_) [[unlikely]] note_pauses();
    link_->take_grants(lane.value, engine_.now());
  }
  // Passes the pauses up to now to the watchdog and ends storms that are over.
  void note_pauses();
  // Expected start of the next storm.
  Instant next_storm() const;
  // Begins the storms that are due; false: none.
  bool begin_storms();
  // Whether the watchdog drops packets of a lane at present.
  bool is_stormed(ib::VirtualLane lane);
  // Marks the packet if the lane's queue demands it; the port must have ECN marking.
  void mark(ib::Packet& packet, ib::VirtualLane lane);
  // The same for FECN and a packet that has left its queue and starts now.
  void mark_forward(ib::Packet& packet, ib::VirtualLane lane);
  // For a packet that starts, at a port with telemetry.
  void add_telemetry(ib::Packet& packet, std::uint32_t wire_bytes);
  bool owes_pause_frame() const { return has_pauses_ && link_->pauses()->frame_due() != kNever; }
  // Whether data that could start at `at` must follow a pause frame that has been due since before. The
  // pause timer sends the frame, after all departures of the instant.
  bool is_behind_pause_frame(Instant at) const { return has_pauses_ && link_->pauses()->frame_due() < at; }
  // The packet must have its forwarding state.
  void enqueue(ib::PacketPtr&& packet, ib::VirtualLane lane);
  // When the first packet of a lane may start according to its ready time, the crossbar and flow control;
  // kNever: not known yet.
  Instant eligible_at(ib::VirtualLane lane);
  // The same, if something but the ready time may delay it.
  Instant constrained_start(ib::VirtualLane lane);
  // Drops the first packets that have expired; false: none.
  bool expire();
  void start(ib::VirtualLane lane);
  // Puts a copy of a packet first in its lane's queue.
  void queue_copy(const ib::Packet& packet, ib::VirtualLane lane);
  void drop(const ib::Packet& packet, DropReason reason);
  // The same for a packet that was in a queue; releases its space.
  void lose(const ib::Packet& lost, DropReason reason);
  // Adds the time during which a packet was ready and the line was free to PortXmitWait.
  void count_wait();
  // Begins or ends one cause of the link being down; false: unchanged.
  bool set_down(DownCause cause, bool is_down);
  void set_up(bool up);
  void lose_queued();
  // In debug builds: every packet that entered an output queue is there, has started or has been dropped.
  void check_queued() const;
  // Starts a packet if one can start now, and sets the timer for the next.
  void pump();
  void set_wake();
  void stop_waking();
  void on_wake();
  void prefetch_wake(int step);
  // Prefetches the queues of some lanes (bit n: lane n) that are not part of the port, and the extras.
  void prefetch_lanes(std::uint32_t lanes) const {
    out_.prefetch(lanes);
    if (extras_ != nullptr) prefetch_lines(extras_.get(), 0, 1);
  }
  void on_grants_changed() override {
    if (out_.waiting() != 0) set_wake();
  }
  void on_loss(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant tail) override { link_->on_loss(lane, wire_bytes, tail); }
  void on_far_end_enabled(bool is_enabled) override { set_down(DownCause::kFarEndDisabled, !is_enabled); }
  void on_space_released(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) override;
  ComponentId input_id() const override { return id_; }

  // Lines of memory, for prefetching: identity, timer and queue come first; a packet that departs needs the
  // lines before the arrivals of link_; the far end's release of space needs the first two and those from
  // kLinkLine on.
  static constexpr std::size_t kQueueLines = 4, kLinkLine = 6, kFlowControlLine = 7, kDepartureLines = 11;

  // Ordered by use: members up to the beginning of link_ are those that a departing packet needs.
  Engine& engine_;
  Tracer& tracer_;
  const ComponentId id_;
  const PortNumber number_;
  bool up_ = false;
  bool connected_ : 1 = false;
  bool active_ : 1 = true;
  bool has_credits_ : 1 = true;  // the link has credits
  bool has_pauses_ : 1 = false;  // this end has pauses
  bool has_watchdog_ : 1 = false;
  std::uint8_t down_causes_ = 0;  // of the link
  std::uint8_t ignored_pauses_ = 0;  // bit n: the watchdog ignores pauses of priority n
  const std::uint32_t output_queue_bytes_;
  const Duration lifetime_;
  PerPortBuffer* buffer_;
  Timer wake_;
  std::unique_ptr<Extras> extras_;  // null: none are needed
  LaneTable sl_to_vl_;
  OutputScheduler out_;
  [[no_unique_address]] Bytes queued_;
  RoomListener room_listener_ = nullptr;
  Instant waited_until_{};  // waiting before it has been counted
  Instant last_period_{};   // the line's busy period of the last packet
  ib::PortCounters counters_;
  Port* peer_ = nullptr;
  std::optional<LinkEnd> link_;
  std::unique_ptr<PerPortBuffer> own_buffer_;
  PacketSink& owner_;
  void* room_owner_ = nullptr;
  const std::uint32_t input_buffer_bytes_;
};

static_assert(kChecksConservation || sizeof(Port) <= 896);

// Joins two ports by a cable, once, before the first packet. Each end learns the size of the other's input
// buffer. A cable between parts needs a propagation above zero.
void connect(Port& a, Port& b, const SharedLinkParams& params, CableKind kind = CableKind::kWithinPart);
// The same, with separate parameters for an end that pauses and is paused and a misconfigured end that
// drops what does not fit and ignores pauses. They may differ in flow_control only.
void connect(Port& a, Port& b, const SharedLinkParams& of_a, const SharedLinkParams& of_b, CableKind kind);
inline void connect(Port& a, Port& b, const LinkParams& params, CableKind kind = CableKind::kWithinPart) {
  connect(a, b, std::make_shared<const LinkParams>(params), kind);
}

// The cable at `end` breaks or is repaired, at both ends. Must be called outside of events, or with both
// ends in one part of the fabric.
//
// When a link fails, packets queued at its ends are dropped, and packets on it are lost at the receiver,
// unless their heads have arrived. Flow control continues: space that lost packets would have occupied is
// granted again at the time of their arrival, and the ends of a link that comes up know each other's free
// space as of a propagation ago (IBA 7.9.4).
void set_link(Port& end, bool up);

}  // namespace verbatim::fabric
