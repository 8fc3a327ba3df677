// Hands the responder of a queue pair its packets, gives it what it needs for each, and has the actions executed that it gives
// back.
//
// A packet that needs a receive work request that is still being fetched waits here, or one for whose memory the adapter lacks
// protection entries or translations, or a SEND or WRITE behind atomics that have not changed memory yet, and everything behind
// it; so does nothing of other queue pairs. A packet behind a gap may be kept until the gap has closed.
#pragma once

#include <cstdint>

#include "sim/core/trail.h"
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
  // To ERR: everything posted is flushed, now and later.
  void flush();
  void receive(Incoming&& incoming);
  // A packet of a response; see QueuePair.
  Outgoing next_packet();

  // From the receive queue: there is a receive; there was none when it was looked for; the queue pair is in
  // error.
  void on_receive();
  void on_no_receive(Instant sampled_at);
  void flush_receive(RecvWork&& work);
  // From PlacementLookup.
  void on_looked_up(std::uint64_t number);
  // From AtomicUnit: the result of an atomic, whose write has been handed to the DMA engine, or there is none.
  void on_atomic_done(ib::Psn psn, std::uint64_t original, const Trail& trail);
  // What waits here is no longer for anyone.
  void drop_held();
  // From the receive queue that is watched: there are receives.
  void on_receives();
  // From the receive queue of one that delays drops: the program has rung that it posted receives. From FrameSteering: a
  // frame may have waited long enough.
  void on_posted();
  void on_delay_over();

 private:
  // What the packet that is being dealt with has waited for, and needs no more.
  using Given = HeldPackets::Wait;

  void deal_with(Incoming&& incoming, Given given);
  void resume(Given given);
  // Those behind a gap that has closed.
  void deal_with_kept();
  // The next receive work request; the need is the same when the packet must wait for it.
  Responder::Verdict supply(const Incoming& incoming, Given given, Actions& actions);
  // Places what the packet brings and has it executed. The number of the lookup for which it must wait; 0: it need not.
  std::uint64_t place(Incoming& incoming, const Responder::Placement& placement, Given given);
  std::uint64_t look_up(const ib::Packet& packet, const Responder::Placement& placement);
  // Whether a frame without a receive is to wait for one that the program may post yet.
  bool delays_drop(const Incoming& incoming);
  // False: the keys of the receive do not allow it.
  bool write(Incoming& incoming, const Responder::Placement& placement);
  Instant now() const;

  QueuePair& qp_;
  HeldPackets held_;
  KeptPackets<Incoming> kept_;
  Instant started_{};
  bool delays_drop_ = false;  // of the held frame: the program rings when it posts a receive for it
};

}  // namespace verbatim::hca
