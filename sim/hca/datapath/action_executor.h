// The data path of one queue pair's requester: hands it what comes (doorbells, work requests, answers, the ends of timers)
// and executes the actions that it gives back, in their order.
//
// A response for whose memory the adapter lacks protection entries or translations waits here, and everything behind it.
#pragma once

#include <cstdint>

#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/core/trail.h"
#include "sim/hca/datapath/receive_pipeline.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/transport/actions.h"
#include "sim/hca/transport/outgoing.h"
#include "sim/hca/transport/requester.h"

namespace verbatim::hca {

class QueuePair;

class ActionExecutor {
 public:
  explicit ActionExecutor(QueuePair& qp);

  // The requester's steps; see there.
  void on_doorbell(std::uint32_t producer, bool has_work, Trail trail);
  void on_work(SendWork work);
  void wake();
  void flush_requests();
  Outgoing next_packet();
  void on_transmit(const Outgoing& outgoing);
  void receive(Incoming&& incoming);

  // From PlacementLookup.
  void on_looked_up(std::uint64_t number);
  void stop_timers();
  // What waits here is no longer for anyone.
  void drop_held();

 private:
  void execute(const Actions& actions, Incoming* incoming = nullptr);
  void complete(std::uint32_t count);
  void deal_with(Incoming&& incoming);
  // False: the packet must wait.
  bool place(Incoming& incoming, const Requester::Placement& placement);
  // What is wrong with what a request names: an address handle, memory. Turns the addresses of its scatter list into those
  // of the program.
  ib::WcStatus check_names(SendWork& work) const;
  void arm_ack_timer(Duration interval);
  void on_ack_timer();
  void on_rnr_timer();
  Instant now() const;

  QueuePair& qp_;
  Instant ack_deadline_ = kNever;  // may be later than the timer, which then only moves on
  Timer ack_timer_;
  Timer rnr_timer_;
  std::uint64_t lookup_ = 0;  // number of that for which the held packet waits; 0: none does
  bool looked_up_ = false;    // for the packet that is being dealt with
  Incoming held_;
  Ring<Incoming> behind_;  // and these wait behind it
};

}  // namespace verbatim::hca
