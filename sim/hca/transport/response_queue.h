// Answers that a responder must send: responses to RDMA READs and atomics, and acknowledgements that must not
// overtake them, in the order of their PSNs (IBA 9.5: responses return in the order of the requests). A
// packet of a READ response is made only when the send pipeline has room for it, so the port paces them.
//
// A state machine like the responder: it returns actions for the data path to execute.
//
// Invariant: while a response waits here or is between this queue and the port, acknowledgements are queued
// here; otherwise they pass the acknowledge stage, and this queue is empty.
#pragma once

#include <cstdint>

#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/core/trail.h"
#include "sim/hca/slot.h"
#include "sim/hca/transport/actions.h"
#include "sim/hca/transport/connection.h"
#include "sim/hca/transport/outgoing.h"
#include "sim/hca/transport/responder_surroundings.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class ResponseQueue {
 public:
  ResponseQueue(const Connection& connection, ResponderSurroundings& surroundings)
      : connection_(connection), surroundings_(surroundings) {}

  // Whether no answer waits here or is between here and the port.
  bool is_idle() const { return owed_.empty() && on_the_way_ == 0; }
  // Responder resources in use: READs and atomics whose last response has not reached the port. A repeated
  // READ uses none, because its requester may have received the first response and sent the next READ.
  std::uint32_t resources_in_use() const { return resources_in_use_; }

  // Adds the response to a READ. `target`: of an XRC receiver, the queue whose owner's memory is read.
  void add_read(ib::Psn psn, const ib::Reth& reth, const ib::Aeth& aeth, const Ref<SharedReceiveQueue>& target,
                Actions& actions);
  // IBA 9.7.5.1.4: whether the range of a duplicate READ is within an executed READ that is remembered.
  bool has_executed(ib::Psn psn, const ib::Reth& reth) const;
  void repeat_read(ib::Psn psn, const ib::Reth& reth, const ib::Aeth& aeth, const Ref<SharedReceiveQueue>& target,
                   Actions& actions);
  // A delayed response may begin, unless a later duplicate of its READ has replaced it.
  void on_answer_due(ib::Psn psn, Actions& actions);
  // Adds the response to an atomic, which is sent after on_atomic_result().
  void add_atomic(ib::Psn psn, const ib::Aeth& aeth, Actions& actions);
  void on_atomic_result(ib::Psn psn, std::uint64_t original, const Trail& trail, Actions& actions);
  // IBA 9.7.5.1.4: answers a duplicate atomic with the saved result, once. False: none is saved.
  bool repeat_atomic(ib::Psn psn, const ib::Aeth& aeth, Actions& actions);
  void add_acknowledgement(ib::Psn psn, const ib::Aeth& aeth, Actions& actions);
  // A NAK with `psn` follows: answers from `psn` on are discarded.
  void discard_from(ib::Psn psn);
  // A NAK ends the queue: answers up to it are still sent, although the queue pair is in ERR.
  void close() { closed_ = true; }
  // The queue pair enters ERR: discards all answers, unless close() was called.
  void abandon();
  void reset();

  // For the send pipeline; see QueuePair.
  bool has_packet() const { return !owed_.empty() && owed_.front().ready; }
  std::uint32_t next_packet_bytes() const;
  Outgoing next_packet(Instant now, Actions& actions);
  bool is_current(const Outgoing& outgoing) const { return outgoing.epoch == epoch_; }
  void on_transmit(const Outgoing& outgoing);

 private:
  enum class Kind : std::uint8_t { kAcknowledgement, kRead, kAtomic };
  struct Response {
    Kind kind = Kind::kAcknowledgement;
    ib::Psn psn;  // PSN of its next packet
    ib::Aeth aeth;
    ib::Reth reth;             // range of a READ
    std::uint32_t offset = 0;  // bytes of it that are in packets already
    bool holds_resource = false;
    bool ready = true;               // false: the result of an atomic is unknown, or a repeated READ is delayed
    std::uint64_t result = 0;        // original value of an atomic
    Ref<SharedReceiveQueue> target;  // READ of an XRC receiver: the queue whose owner's memory is read
    Trail trail;                     // trail of the request
  };
  // A READ or atomic, as it was first received.
  struct Executed {
    Kind kind = Kind::kRead;
    ib::Psn psn;
    ib::Reth reth;
    bool known = false;  // the result of an atomic is
    std::uint64_t result = 0;
  };

  Outgoing make(ib::PacketPtr packet, const Response& response, Instant now);
  Outgoing next_read_packet(Instant now, Actions& actions);
  // Makes the NAK of a READ whose region has been deregistered or lost its access rights.
  Outgoing refuse_read(Instant now, Actions& actions);
  void add(Response response, Actions& actions);
  // Inserts before answers with the same or a later PSN.
  void insert(Response response, Actions& actions);
  void remember(const Executed& request);
  ib::Psn end_of(ib::Psn psn, const ib::Reth& reth) const;
  void discard_all();

  const Connection& connection_;
  ResponderSurroundings& surroundings_;
  Ring<Response> owed_;
  Ring<Executed> executed_;       // the newest, as many as there are responder resources
  std::uint32_t on_the_way_ = 0;  // packets between here and the port
  std::uint32_t resources_in_use_ = 0;
  std::uint32_t epoch_ = 0;
  bool closed_ = false;
};

}  // namespace verbatim::hca
