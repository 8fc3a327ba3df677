// What acknowledgements and responses do to the requester's work (IBA 9.7.7.2): requests complete in order up
// to the acknowledged PSN; NAKs and silence become retries and, in the end, a completion in error, after
// which everything is flushed. A response for whose memory the adapter lacks protection entries or translations waits,
// and everything behind it.
#pragma once

#include "sim/core/ring.h"
#include "sim/core/trail.h"
#include "sim/hca/datapath/receive_pipeline.h"
#include "sim/hca/queues/work_request.h"
#include "sim/ib/opcode.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

class QueuePair;

class Completer {
 public:
  explicit Completer(QueuePair& qp) : qp_(qp) {}

  void receive(Incoming&& incoming, const ib::OpcodeInfo& operation);

  // A packet of an unreliable queue pair has been handed to the port.
  void on_sent(const ib::Packet& packet);

  // The oldest request completes in error and the queue pair with it.
  void fail(ib::WcStatus status);
  // A request that cannot be executed fails when everything before it is complete.
  void fail_front_if_faulty();
  // The oldest request has been executed here and is complete.
  void retire_local_front();
  // Completes a request as flushed; it is the next in order.
  void flush(const SendWork& work);
  void flush_all();
  // What waits here is no longer for anyone.
  void drop_held();
  // From PlacementLookup.
  void on_looked_up(std::uint64_t number);

 private:
  void deal_with(Incoming&& incoming, const ib::OpcodeInfo& operation);
  // Leaves it to its caller when the packet must wait.
  void take_in(Incoming& incoming, const ib::OpcodeInfo& operation);
  // Whether what the adapter needs to place so many bytes of a response is still to come.
  bool must_wait(const ScatterList& list, std::uint64_t offset, std::uint32_t length, const ib::Packet& packet);
  void on_acknowledgement(const ib::Packet& packet);
  void on_read_response(Incoming& incoming, const ib::OpcodeInfo& operation);
  void on_atomic_response(Incoming& incoming);
  // The response with this PSN has been placed.
  void on_response_placed(ib::Psn psn, bool ends_message);
  void on_ack(ib::Psn psn);
  // The responder has executed everything up to `psn`: those requests are complete. False when the response
  // of a READ among them is missing; it is asked for again.
  bool retire_through(ib::Psn psn);
  // Nothing before `psn` is outstanding any more.
  void advance_to(ib::Psn psn);
  void ask_again();
  void on_nak(std::uint8_t syndrome, ib::Psn psn);
  void on_rnr_nak(std::uint8_t timer_code, ib::Psn psn);
  void complete(const SendWork& work, ib::WcStatus status);
  void retire_front();
  // Of a request that ends now, because of what has come or left.
  Trail trail_of(const SendWork& work) const;

  QueuePair& qp_;
  Trail cause_;  // of the packet that is being dealt with
  std::uint64_t lookup_ = 0;  // number of that for which the held packet waits; 0: none does
  bool looked_up_ = false;    // for the packet that is being dealt with
  Incoming held_;
  Ring<Incoming> behind_;  // and these wait behind it
};

}  // namespace verbatim::hca
