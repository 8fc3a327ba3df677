// Hands the requester of a queue pair what comes, and has the actions executed that it gives back.
//
// A response for whose memory the adapter lacks protection entries or translations waits here, and everything behind it.
#pragma once

#include <cstdint>

#include "sim/core/trail.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/stages/held_packets.h"
#include "sim/hca/transport/outgoing.h"
#include "sim/hca/transport/requester.h"

namespace verbatim::hca {

class QueuePair;

class RequesterDriver {
 public:
  explicit RequesterDriver(QueuePair& qp) : qp_(qp) {}

  // Steps of the requester; see there.
  void on_doorbell(std::uint32_t producer, bool has_work, Trail trail);
  void on_work(SendWork&& work);
  void on_own_work(SendWork&& work);
  void wake();
  void on_migrated();
  // Nothing more is sent; what is posted is flushed.
  void flush();
  Outgoing next_packet();
  void on_transmit(const Outgoing& outgoing);
  void receive(Incoming&& incoming);

  // From PlacementLookup.
  void on_looked_up(std::uint64_t number);
  // What waits here is no longer for anyone.
  void drop_held();

 private:
  // All that the adapter needs for the packet is there when it `is_looked_up`.
  void deal_with(Incoming&& incoming, bool is_looked_up);
  // Places what a response brings. The number of the lookup for which it must wait; 0: it need not.
  std::uint64_t place(Incoming& incoming, const Requester::Placement& placement, bool is_looked_up);
  // What is wrong with what a request names: an address handle, memory. Turns the addresses of its scatter list into those
  // of the program.
  ib::WcStatus check_names(SendWork& work) const;
  Instant now() const;

  QueuePair& qp_;
  HeldPackets held_;
};

}  // namespace verbatim::hca
