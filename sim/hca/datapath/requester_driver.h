// Calls the requester of a queue pair for work requests, packets and doorbells, and has its actions executed.
//
// A response waits here while the adapter lacks protection entries or translations for its memory, and all
// packets behind it. An answer after a missing response may be kept until that response has arrived.
#pragma once

#include <cstdint>

#include "sim/core/trail.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/stages/held_packets.h"
#include "sim/hca/stages/input_buffer.h"
#include "sim/hca/stages/kept_packets.h"
#include "sim/hca/transport/outgoing.h"
#include "sim/hca/transport/requester.h"

namespace verbatim::hca {

class QueuePair;

class RequesterDriver {
 public:
  explicit RequesterDriver(QueuePair& qp) : qp_(qp) {}

  // Steps of the requester; see requester.h.
  void on_doorbell(std::uint32_t producer, bool has_work, Trail trail);
  void on_work(SendWork&& work);
  void on_own_work(SendWork&& work);
  void wake();
  void on_migrated();
  // To ERR or SQE: stops timers, drops held packets, and flushes all posted requests.
  void flush();
  Outgoing next_packet();
  void on_transmit(const Outgoing& outgoing);
  void receive(Incoming&& incoming);

  // From PlacementLookup.
  void on_looked_up(std::uint64_t number);
  // Drops all waiting and kept packets.
  void drop_held();

 private:
  // `is_looked_up`: the lookups for the packet's memory are done.
  void deal_with(Incoming&& incoming, bool is_looked_up);
  // Processes kept answers that no missing response precedes any more.
  void process_kept();
  // Places the payload of a response. Returns the number of the lookup that it must wait for; 0: none.
  std::uint64_t place(Incoming& incoming, const Requester::Placement& placement, bool is_looked_up);
  // Checks the address handle and the memory that a request names; returns the error. Replaces the addresses
  // of its scatter list by addresses in the program.
  ib::WcStatus check_names(SendWork& work) const;
  Instant now() const;

  QueuePair& qp_;
  HeldPackets held_;
  KeptPackets<Incoming> kept_;
};

}  // namespace verbatim::hca
