// From queue pairs with something to send to the port: a scheduler that lets them take turns packet by
// packet, the gather of payload from program memory, the packetize stage, and the wait for room in the port.
//
// Packets of a lane leave in the order in which their gathers were issued. A packet holds its share of its lane's gather
// buffer from then until the port has it, so the buffer's size over the time a gather takes bounds the rate. A lane that the
// port has no room for holds up no other (IBA 7.6): each has a gather buffer and rows of its own for what waits, and a queue
// pair whose lane has no room in its gather buffer keeps its turn while others take theirs.
// Acknowledgements pass their own stage, need no gather, and go to the port before waiting packets. Responses
// to READs, and what must not pass them, go the way of requests.
//
// A queue pair whose next packet is early for its rate (`sim/hca/congestion/pacer.h`) has no turn: it waits in a calendar.
//
// Behind either stage is one that computes the ICRC (profile: icrc). What stays in this adapter has none, takes no time
// there and keeps its place in the row; copies of multicast datagrams for this adapter are made behind it. An
// acknowledgement that is left out for a later one has passed it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/fabric/port.h"
#include "sim/hca/congestion/pacing_calendar.h"
#include "sim/hca/congestion/rate.h"
#include "sim/hca/context.h"
#include "sim/hca/stages/adapter_cache.h"
#include "sim/hca/stages/pipeline.h"
#include "sim/hca/transport/outgoing.h"
#include "sim/host/dma_engine.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

struct AdapterBase;
class FrameSteering;
class MemoryCaches;
class MulticastTable;
class PayloadWriter;
class ReceivePipeline;

class SendPipeline final : public host::DmaClient, public CacheClient {
 public:
  SendPipeline(AdapterBase& adapter, host::DmaEngine& dma, MemoryCaches& caches, PayloadWriter& payloads,
               ReceivePipeline& receiver, FrameSteering& steering, const MulticastTable& multicast);

  void attach(fabric::Port& port);

  // The queue pair may have a packet to send now.
  void activate(QueuePair& qp);
  // An acknowledgement decided now.
  void acknowledge(ib::PacketPtr packet, const Ref<QueuePair>& qp);
  // A congestion notification decided now: ahead of packets, as acknowledgements are, and none of them.
  void notify(ib::PacketPtr packet, const Ref<QueuePair>& qp);
  // Time of a byte on the port's link; nothing without a cable.
  std::optional<ByteTime> line() const;
  // A management datagram, whole in the adapter at that time, which is not before that of the one before it.
  void send_datagram(ib::PacketPtr packet, Instant at_adapter);

 private:
  struct Gathered {
    Outgoing outgoing;
    Instant at_adapter;
    bool complete = false;
    std::uint32_t missing = 0;           // protection entries or translations that are still to come
    bool lacks_protection = false;       // the former
    GatherPiece piece;                   // to be read; of no bytes when there is nothing to read
    std::vector<GatherPiece> several;    // all of them when there are more than one

    // In a place that was used before.
    void begin(Outgoing&& next, Instant now) {
      outgoing = std::move(next);
      at_adapter = now;
      complete = !outgoing.needs_gather;
      missing = 0;
      lacks_protection = false;
      piece = {};
      several.clear();
    }
    std::span<const GatherPiece> pieces() const {
      return several.empty() ? std::span(&piece, piece.length > 0 ? 1 : 0) : std::span(several);
    }
  };
  // Or a congestion notification.
  struct Acknowledgement {
    ib::PacketPtr packet;
    Ref<QueuePair> qp;

    bool is_notification() const { return ib::is_notification(packet->bth.opcode); }
  };

  // Of a queue pair in the list of those that have something to send.
  struct Turn {
    Ref<QueuePair> qp;
    std::uint64_t number = 0;  // in the order of the whole list
  };
  struct Lane {
    Ring<Turn> active;  // whose next packet leaves by it; each queue pair once, in one lane
    std::uint32_t buffered = 0;  // bytes of its gather buffer in use
    Ring<Outgoing> waiting;      // for room in the port
    Ring<Acknowledgement> waiting_acknowledgements;
    Ring<ib::PacketPtr> waiting_datagrams;
  };

  struct IcrcStage {
    Pipeline stage;
    Instant left{};  // by the last packet
  };

  // Gather buffer space a payload takes: whole units, one at the least.
  static std::uint32_t buffer_bytes(std::uint32_t payload) {
    return payload == 0 ? 64 : (payload + 63) & ~63u;
  }

  // The queue pair is the last in the list, on the lane of its next packet.
  void enlist(QueuePair& qp);
  std::uint32_t lane_of_next(const QueuePair& qp) const;
  // The lane whose turn is the first of the list, of those that are not among `excluded` (bit n: lane n); null: none has one.
  Lane* first_lane(std::uint32_t excluded);
  Turn take_turn(Lane& lane);
  // The first of the lane has had its turn; it is the last in the list now, or leaves it.
  void end_turn(Lane& lane, QueuePair& qp, bool has_another);
  void pump();
  void on_pause_over();
  // The first of the lane waits for its rate: it leaves the list, and comes back from the calendar.
  void put_off(Lane& lane, QueuePair& qp);
  void on_paced();
  // Into the stage of acknowledgements.
  void stage(Acknowledgement&& acknowledgement, Instant decided);
  void issue(Outgoing&& outgoing);
  // Looks up the protection entries of what a packet gathers, then the translations, then reads it.
  void look_up(std::uint64_t number);
  void translate(std::uint64_t number);
  void read(std::uint64_t number);
  // The same of payload without bytes; false: it has to wait as others do.
  bool read_length(std::uint64_t number, Trail& trail);
  void release_writes_before(const Gathered& gathered);
  // Whether the pieces of its payload are still to be read: it will be sent, and no earlier sending of it has been acknowledged.
  bool needs_bytes(const Outgoing& outgoing) const;
  void release_what_is_acknowledged(const QueuePair& qp);
  void on_cached(std::uint64_t number) override;
  void advance();
  void on_packetized(Outgoing&& outgoing);
  void on_acknowledged(Acknowledgement&& acknowledgement);
  void on_datagram(ib::PacketPtr&& packet);
  // An acknowledgement that says nothing but what a later one behind it says, too.
  bool is_left_out(const Acknowledgement& acknowledgement);
  host::Touch touch_of(std::uint64_t cookie, std::vector<host::TouchedBytes>& bytes) const override;
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t) override {}
  static void on_room(void* self, ib::VirtualLane lane);
  void drain(Lane& lane);

  // For which the packet occupies the bus behind the packetize stage; 0 when there is no limit.
  std::uint32_t bus_cycles(const ib::Packet& packet) const;
  // When a packet that has left the stage before at `ready` has its ICRC.
  Instant add_icrc(IcrcStage& icrc, Instant ready, ib::Packet& packet);
  bool is_current(const Outgoing& outgoing) const;
  TrailPart waits_for_port() const;
  void transmit(Outgoing&& outgoing);
  void transmit(Acknowledgement&& acknowledgement);
  void record_acknowledgement(const QueuePair& qp, const ib::Packet& packet);
  // To the port, or straight to the receive stage when the packet is addressed to this adapter.
  void hand_over(ib::PacketPtr packet);
  bool is_own(const ib::Packet& packet) const;
  bool has_room(const ib::Packet& packet) const;

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  MemoryCaches& caches_;
  PayloadWriter& payloads_;
  ReceivePipeline& receiver_;
  FrameSteering& steering_;
  const MulticastTable& multicast_;
  const bool looks_up_;  // misses are possible
  fabric::Port* port_ = nullptr;
  Pipeline packetize_;
  Pipeline acknowledge_;
  IcrcStage icrc_, acknowledgement_icrc_;
  std::array<Lane, fabric::kManagementLane.value + 1> lanes_;
  std::uint32_t active_lanes_ = 0;     // bit n: lane n has a turn
  std::uint32_t turns_ = 0;            // in the list
  std::uint64_t turns_ever_ = 0;
  Ring<Gathered> gathering_;           // in order of issue
  std::uint64_t first_gathering_ = 0;  // number of its front
  std::vector<host::DmaPiece> reading_;  // scratch: the pieces of one read
  DelayLine<Outgoing> packetized_;
  DelayLine<Acknowledgement> acknowledged_;
  DelayLine<ib::PacketPtr> datagrams_;
  PacingCalendar<Ref<QueuePair>> paced_;
  bool pumping_ = false;
  Timer pause_timer_;        // runs while the next packet is put off (freedom.h)
  bool was_paused_ = false;  // and is over for the packet that is next
};

}  // namespace verbatim::hca
