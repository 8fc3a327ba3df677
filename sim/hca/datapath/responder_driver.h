// Passes the packets of a queue pair to its responder, with the receives that they need, and executes the
// responder's actions.
//
// A packet waits here, together with all later ones of the queue pair, if the receive that it needs is still
// being fetched, if protection entries or translations for its memory are not in the adapter's caches, or if
// it is a SEND or WRITE after atomics that have not changed memory yet. Packets of other queue pairs are not
// affected. A packet after a gap may be kept until the gap has closed.
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

  // Transition from INIT to RTR: starts to prefetch receives.
  void start(ib::Psn expected);
  Instant started() const { return started_; }
  // Transition to ERR: flushes all receives, including later ones.
  void flush();
  void receive(Incoming&& incoming);
  // A packet of a response; see QueuePair.
  Outgoing next_packet();

  // Called by the receive queue: a receive has been fetched; there was none at `sampled_at`; a receive to
  // flush, in ERR.
  void on_receive();
  void on_no_receive(Instant sampled_at);
  void flush_receive(RecvWork&& work);
  // Called by PlacementLookup.
  void on_looked_up(std::uint64_t number);
  // Called by AtomicUnit with the original value. The atomic's write, if any, has been handed to the DMA
  // engine.
  void on_atomic_done(ib::Psn psn, std::uint64_t original, const Trail& trail);
  // Drops all waiting and kept packets.
  void drop_held();
  // Called by a watched receive queue when there are receives.
  void on_receives();
  // For a frame whose drop is delayed: the program has rung a doorbell for a new receive; the maximum delay
  // may have passed.
  void on_posted();
  void on_delay_over();

 private:
  // Need of the packet that has been met.
  using Resolved = HeldPackets::Wait;

  void process(Incoming&& incoming, Resolved resolved);
  void resume(Resolved resolved);
  // Processes kept packets after a gap that has closed.
  void process_kept();
  // Passes the next receive to the responder. If the packet must wait for it, the verdict still has this
  // need.
  Responder::Verdict supply(const Incoming& incoming, Resolved resolved, Actions& actions);
  // Places the payload and executes the packet. Returns 0, or the number of the lookup that the packet must
  // wait for.
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
