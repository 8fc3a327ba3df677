// What a responder owes its peer: the responses to RDMA READs and atomics, and the acknowledgements that must
// not pass them, in the order of their PSNs (IBA 9.5: responses return in the order of the requests). READ
// responses are cut into packets only when the send pipeline has room for one, so the port paces them.
//
// A state machine as the responder is: what is to be done is told by actions.
//
// Invariant: whenever a response waits here or is on its way to the port, acknowledgements queue behind it;
// otherwise they take the acknowledge stage and this queue stays empty.
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

  // Nothing waits, and nothing is on its way to the port.
  bool is_idle() const { return owed_.empty() && on_the_way_ == 0; }
  // READs and atomics whose last response has not reached the port: responder resources in use. A READ that
  // is executed again takes none: its requester may have got the first response meanwhile and asked for more.
  std::uint32_t resources_in_use() const { return resources_in_use_; }

  // From memory of `target`, on an XRC receiver.
  void add_read(ib::Psn psn, const ib::Reth& reth, const ib::Aeth& aeth, const Ref<SharedReceiveQueue>& target,
                Actions& actions);
  // IBA 9.7.5.1.4: what a READ that comes again asks for lies within one that was executed and is remembered.
  bool has_executed(ib::Psn psn, const ib::Reth& reth) const;
  void repeat_read(ib::Psn psn, const ib::Reth& reth, const ib::Aeth& aeth, const Ref<SharedReceiveQueue>& target,
                   Actions& actions);
  // A response that was put off may begin, unless its place has been taken by another.
  void on_answer_due(ib::Psn psn, Actions& actions);
  // The response follows when the result is known.
  void add_atomic(ib::Psn psn, const ib::Aeth& aeth, Actions& actions);
  void on_atomic_result(ib::Psn psn, std::uint64_t original, const Trail& trail, Actions& actions);
  // IBA 9.7.5.1.4: an atomic asked for again is answered with the saved result, once; false when none is saved.
  bool repeat_atomic(ib::Psn psn, const ib::Aeth& aeth, Actions& actions);
  void add_acknowledgement(ib::Psn psn, const ib::Aeth& aeth, Actions& actions);
  // The peer is about to be refused with `psn`: nothing behind it is answered.
  void discard_from(ib::Psn psn);
  // The peer has been refused: what is owed up to the refusal is still sent, although the queue pair is in
  // error.
  void close() { closed_ = true; }
  // The queue pair is in error: nothing more is sent, unless the error is the answer's own.
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
    ib::Psn psn;  // of its next packet
    ib::Aeth aeth;
    ib::Reth reth;             // what a READ asks for
    std::uint32_t offset = 0;  // bytes of it already made into packets
    bool holds_resource = false;
    bool ready = true;               // an atomic's result is not there at once, nor what is read again
    std::uint64_t result = 0;        // of an atomic
    Ref<SharedReceiveQueue> target;  // of a READ: whose memory, on an XRC receiver
    Trail trail;                     // of the request
  };
  // A READ or an atomic, as it came first.
  struct Executed {
    Kind kind = Kind::kRead;
    ib::Psn psn;
    ib::Reth reth;
    bool known = false;  // an atomic's result is
    std::uint64_t result = 0;
  };

  Outgoing make(ib::PacketPtr packet, const Response& response, Instant now);
  Outgoing next_read_packet(Instant now, Actions& actions);
  // The region of the READ is gone, or its rights.
  Outgoing refuse_read(Instant now, Actions& actions);
  void add(Response response, Actions& actions);
  // Ahead of what is owed with its PSN or a later one.
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
