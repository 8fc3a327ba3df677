// Path of packets from queue pairs to the port: round-robin scheduling of queue pairs packet by packet, the
// gather of payload from program memory, the packetize stage, and queues that wait for room in the port.
//
// Packets of a lane leave in the order in which their gathers were issued. From the gather until the port
// takes it, a packet occupies part of its lane's gather buffer; buffer size divided by gather latency limits
// the rate. A lane without room in the port blocks no other (IBA 7.6): each lane has its own gather buffer
// and queues. A queue pair whose lane has no room in its gather buffer keeps its turn while others take
// theirs. Acknowledgements pass the acknowledge stage, need no gather, and enter the port before waiting
// packets. Responses to READs, and answers that must not overtake them, take the path of requests.
//
// A queue pair whose pacer (`sim/hca/congestion/pacer.h`) delays its next packet has no turn: it waits in a
// calendar.
//
// An ICRC stage (profile: icrc) follows each of the two stages. A packet to this adapter itself has no ICRC,
// takes no time there and keeps its position; this adapter's copies of multicast datagrams are made after it.
// A coalesced acknowledgement, which is not sent, has passed the ICRC stage.
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
  // Sends an acknowledgement.
  void acknowledge(ib::PacketPtr packet, const Ref<QueuePair>& qp);
  // Sends a congestion notification: before waiting packets, like an acknowledgement, but it is never
  // coalesced.
  void notify(ib::PacketPtr packet, const Ref<QueuePair>& qp);
  // Time of a byte on the port's link; nullopt: no cable.
  std::optional<ByteTime> line() const;
  // Sends a management datagram whose last byte is in the adapter at `at_adapter`; calls are in the order of
  // this time.
  void send_datagram(ib::PacketPtr packet, Instant at_adapter);

 private:
  struct Gathered {
    Outgoing outgoing;
    Instant at_adapter;
    bool complete = false;
    std::uint32_t missing = 0;           // protection entries or translations that are being read
    bool lacks_protection = false;       // protection entries
    GatherPiece piece;                   // the bytes to read; none when its length is 0
    std::vector<GatherPiece> several;    // all pieces when there are more than one

    // Sets all members; the ring element may have old content.
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
  // An acknowledgement, or a congestion notification.
  struct Acknowledgement {
    ib::PacketPtr packet;
    Ref<QueuePair> qp;

    bool is_notification() const { return ib::is_notification(packet->bth.opcode); }
  };

  // Entry of a queue pair in the round-robin list.
  struct Turn {
    Ref<QueuePair> qp;
    std::uint64_t number = 0;  // position in the list of all lanes
  };
  struct Lane {
    Ring<Turn> active;  // queue pairs whose next packet is of this lane; each is in one lane, once
    std::uint32_t buffered = 0;  // bytes of its gather buffer in use
    Ring<Outgoing> waiting;      // packets that wait for room in the port
    Ring<Acknowledgement> waiting_acknowledgements;
    Ring<ib::PacketPtr> waiting_datagrams;
  };

  struct IcrcStage {
    Pipeline stage;
    Instant left{};  // time at which the last packet left
  };

  // Gather buffer space of a payload: whole units of 64 bytes, at least one.
  static std::uint32_t buffer_bytes(std::uint32_t payload) {
    return payload == 0 ? 64 : (payload + 63) & ~63u;
  }

  // Appends the queue pair to the list, on the lane of its next packet.
  void enlist(QueuePair& qp);
  std::uint32_t lane_of_next(const QueuePair& qp) const;
  // The lane, not in `excluded` (bit n: lane n), whose turn is first in the list; null: no lane has a turn.
  Lane* first_lane(std::uint32_t excluded);
  Turn take_turn(Lane& lane);
  // The first queue pair of the lane has had its turn: moves it to the end of the list, or removes it.
  void end_turn(Lane& lane, QueuePair& qp, bool has_another);
  void pump();
  // A chosen delay of the next packet (freedom.h) is over.
  void on_pause_over();
  // The pacer of the lane's first queue pair delays its packet: moves the queue pair from the list to the
  // calendar.
  void put_off(Lane& lane, QueuePair& qp);
  void on_paced();
  // Puts an acknowledgement, decided at that time, into the acknowledge stage.
  void stage(Acknowledgement&& acknowledgement, Instant decided);
  void issue(Outgoing&& outgoing);
  // Looks up the protection entries of the pieces of a packet, then their translations, then reads them.
  void look_up(std::uint64_t number);
  void translate(std::uint64_t number);
  void read(std::uint64_t number);
  // Computes the times of the gather of a work source's payload, without an event. False: use read() instead.
  bool read_length(std::uint64_t number, Trail& trail);
  // Releases held writes that the gather of this packet must not overtake.
  void release_writes_before(const Gathered& gathered);
  // Whether the payload must be read: the packet will be sent, and no earlier transmission was acknowledged.
  bool needs_bytes(const Outgoing& outgoing) const;
  // Releases held writes of the requests that an acknowledgement of the queue pair is about to acknowledge.
  void release_acknowledged_writes(const QueuePair& qp);
  void on_cached(std::uint64_t number) override;
  void advance();
  void on_packetized(Outgoing&& outgoing);
  void on_acknowledged(Acknowledgement&& acknowledgement);
  void on_datagram(ib::PacketPtr&& packet);
  // Decides, by profile or by choice, whether an acknowledgement is coalesced: a later answer in the stage
  // acknowledges the same requests.
  bool is_left_out(const Acknowledgement& acknowledgement);
  host::Touch touch_of(std::uint64_t cookie, std::vector<host::TouchedBytes>& bytes) const override;
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t) override {}
  static void on_room(void* self, ib::VirtualLane lane);
  void drain(Lane& lane);

  // Cycles for which the packet occupies the bus behind the packetize stage; 0: no limit.
  std::uint32_t bus_cycles(const ib::Packet& packet) const;
  // Time at which a packet leaves the ICRC stage; `ready`: when it left the previous stage.
  Instant add_icrc(IcrcStage& icrc, Instant ready, ib::Packet& packet);
  bool is_current(const Outgoing& outgoing) const;
  TrailPart waits_for_port() const;
  void transmit(Outgoing&& outgoing);
  void transmit(Acknowledgement&& acknowledgement);
  void record_acknowledgement(const QueuePair& qp, const ib::Packet& packet);
  // Passes the packet to the port, or to the receive pipeline if it is addressed to this adapter.
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
  std::uint32_t turns_ = 0;            // turns in the list
  std::uint64_t turns_ever_ = 0;
  Ring<Gathered> gathering_;           // in order of issue
  std::uint64_t first_gathering_ = 0;  // number of its front
  std::vector<host::DmaPiece> reading_;  // scratch: the pieces of one read
  DelayLine<Outgoing> packetized_;
  DelayLine<Acknowledgement> acknowledged_;
  DelayLine<ib::PacketPtr> datagrams_;
  PacingCalendar<Ref<QueuePair>> paced_;
  bool pumping_ = false;
  Timer pause_timer_;        // runs while the next packet is delayed (freedom.h)
  bool was_paused_ = false;  // the delay of the next packet is over
};

}  // namespace verbatim::hca
