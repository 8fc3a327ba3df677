// Calls the responder of a queue pair for its packets, gives it the receives that they need, and has its
// actions executed.
//
// A packet waits here, and all packets of the queue pair behind it, when it needs a receive that is still
// being fetched, when the adapter lacks protection entries or translations for its memory, or when it is a
// SEND or WRITE behind atomics that have not changed memory yet. Packets of other queue pairs pass. A packet
// behind a gap may be kept until the gap has closed.
#pragma once

#include <cstdint>

#include "sim/core/trail.h"
#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/stages/held_packets.h"
#include "sim/hca/stages/kept_packets.h"
#include "sim/hca/transport/outgoing.h"
#include "sim/hca/transport/responder.h"

namespace verbatim::hca {

class QueuePair;

class ResponderDriver {
 public:
  explicit ResponderDriver(QueuePair& qp) : qp_(qp) {}

  // From INIT to RTR; receive work requests are fetched ahead.
  void start(ib::Psn expected);
  Instant started() const { return started_; }
  // To ERR: flushes all receives, those posted later as well.
  void flush();
  void receive(Incoming&& incoming);
  // A packet of a response; see QueuePair.
  Outgoing next_packet();

  // Called by the receive queue: there is a receive; there was none at `sampled_at`; a receive to flush in
  // ERR.
  void on_receive();
  void on_no_receive(Instant sampled_at);
  void flush_receive(RecvWork&& work);
  // Called by PlacementLookup.
  void on_looked_up(std::uint64_t number);
  // Called by AtomicUnit with the result of an atomic. Its write, if any, has been handed to the DMA engine.
  void on_atomic_done(ib::Psn psn, std::uint64_t original, const Trail& trail);
  // Drops the packets that wait or are kept here.
  void drop_held();
  // Called by a watched receive queue: there are receives.
  void on_receives();
  // For frames whose drop is delayed: the program rings for new receives; FrameSteering reports that a delay
  // may be over.
  void on_posted();
  void on_delay_over();

 private:
  // Need of the packet that has been met.
  using Resolved = HeldPackets::Wait;

  void deal_with(Incoming&& incoming, Resolved resolved);
  void resume(Resolved resolved);
  // Handles kept packets behind a gap that has closed.
  void deal_with_kept();
  // Gives the responder the next receive. The verdict has the same need when the packet must wait for the
  // receive.
  Responder::Verdict supply(const Incoming& incoming, Resolved resolved, Actions& actions);
  // Places the payload and has the packet executed. Returns the number of the lookup that it must wait for;
  // 0: none.
  std::uint64_t place(Incoming& incoming, const Responder::Placement& placement, Resolved resolved);
  std::uint64_t look_up(const ib::Packet& packet, const Responder::Placement& placement);
  // Whether a frame waits for a receive that the program may still post.
  bool delays_drop(const Incoming& incoming);
  // Writes the payload; false: the keys of the receive do not allow it.
  bool write(Incoming& incoming, const Responder::Placement& placement);
  // Order of WRITEs through this key.
  WriteOrder order_of(std::uint32_t key) const;
  Instant now() const;

  QueuePair& qp_;
  HeldPackets held_;
  KeptPackets<Incoming> kept_;
  Instant started_{};
  bool delays_drop_ = false;  // the held frame waits for a receive; the program rings when it posts one
};

}  // namespace verbatim::hca
