// The receiving half of a queue pair (IBA 9.7.4, 9.7.5): each request packet passes a row of checks, one
// function per step, in the order in which the specification gives precedence to their errors, and is then
// executed and acknowledged. A packet that needs a receive work request that is still being fetched waits, or one for
// whose memory the adapter lacks protection entries or translations, or a SEND or WRITE behind atomics that have not
// changed memory yet, and everything behind it; so does nothing of other queue pairs.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/ring.h"
#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/datapath/receive_pipeline.h"
#include "sim/hca/queues/work_request.h"
#include "sim/ib/aeth.h"
#include "sim/ib/opcode.h"
#include "sim/ib/psn.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

class QueuePair;
class SharedReceiveQueue;

class Responder {
 public:
  explicit Responder(QueuePair& qp) : qp_(qp) {}

  // From INIT to RTR: the first PSN expected; receive work requests are fetched ahead.
  void start(ib::Psn expected);
  void reset();
  // To ERR: everything posted is flushed, now and later.
  void flush();

  void receive(Incoming&& incoming, const ib::OpcodeInfo& operation);
  ib::Psn expected() const { return expected_; }

  // From the receive queue: there is a receive; there was none when it was looked for; the queue pair is in
  // error.
  void on_receive() {
    if (lookup_ == 0 && !awaits_atomics_) resume();
  }
  void on_no_receive(Instant sampled_at);
  void flush_receive(const RecvWork& work);
  // From PlacementLookup.
  void on_looked_up(std::uint64_t number);
  // From AtomicUnit: the write of the oldest atomic has been handed to the DMA engine, or there is none.
  void on_atomic_done();

  // Trail of the request that is being answered; empty at other times.
  const Trail& cause() const { return cause_; }

 private:
  enum class Step : std::uint8_t {
    kPsn,
    kTarget,
    kSequence,
    kRights,
    kResources,
    kLength,
    kRemoteKey,
    kLookUp,
    kExecute,
    kAcknowledge,
    kDone,
    kWait,
  };
  enum class Message : std::uint8_t { kNone, kSend, kWrite, kRead, kAtomic };

  struct Request {
    Incoming& incoming;
    const ib::Packet& packet;
    const ib::OpcodeInfo& operation;
    Message kind = Message::kNone;
    host::ProgramAddress address = 0;  // of a WRITE's payload, or of what an atomic changes
  };

  static std::uint32_t right_of(Message kind);
  // The queue pair gives it to its peer.
  bool has_right(Message kind) const;

  // True when the packet must wait.
  bool process(Incoming& incoming, const ib::OpcodeInfo& operation);
  bool take_steps(Request& request);
  Step check_psn(Request& request);
  Step check_psn_unreliable(Request& request);
  Step begin_datagram(Request& request);
  Step check_target(Request& request);
  // XRC: the shared receive queue that a packet names, in the queue pair's domain; none if there is no such.
  Ref<SharedReceiveQueue> named_queue(const ib::Packet& packet) const;
  Step check_sequence(Request& request);
  Step check_rights(Request& request);
  Step check_resources(Request& request);
  Step check_length(Request& request);
  Step check_remote_key(Request& request);
  // Only where the adapter may lack something.
  Step look_up(Request& request);
  Step execute(Request& request);
  Step acknowledge(Request& request);
  void place_write(Request& request);
  Step before_execution(const Request& request);
  MessageStream stream() const;
  void hold(Incoming&& incoming);
  void resume();
  void drop_held();

  // responder_answers.cc
  Step execute_read(Request& request);
  Step execute_atomic(Request& request);
  Step execute_datagram(Request& request);
  Step repeat(Request& request);
  Step repeat_read(Request& request);
  Step drop_message(Request& request, DropReason reason);
  Step refuse(Request& request, ib::NakCode code);
  Step fail_receive(Request& request, ib::WcStatus status, ib::NakCode code);
  // The shared queue that the request needs a receive of has failed.
  Step fail_with_queue(Request& request);
  void send_ack(std::uint8_t syndrome, ib::Psn psn);
  // That everything so far is executed, and how many receives are there for what follows.
  ib::Aeth acknowledgement() const;
  void complete_receive(const RecvWork& work, ib::WcStatus status, const ib::Packet* packet,
                        std::uint32_t bytes);

  QueuePair& qp_;
  Trail cause_;
  ib::Psn expected_;
  std::uint32_t msn_ = 0;  // 24 bits: messages completed
  bool nak_sent_ = false;  // a gap or a missing receive was answered; silence until the PSN comes
  bool established_ = false;
  Message message_ = Message::kNone;  // being received
  std::uint32_t received_ = 0;        // bytes of it
  ib::Reth reth_;                     // of the WRITE being received
  std::optional<RecvWork> current_;   // receive work request of the message

  bool no_receive_ = false;  // the record was read after the held packet came, and there was nothing
  std::uint64_t lookup_ = 0;  // number of that for which the held packet waits; 0: none
  bool looked_up_ = false;    // for the packet that is being dealt with
  std::uint32_t atomics_ = 0;    // executed, and have not changed memory yet
  bool awaits_atomics_ = false;  // the held packet
  bool holding_ = false;
  Incoming held_;          // waits for a receive work request or a lookup
  Ring<Incoming> behind_;  // and these wait behind it
};

}  // namespace verbatim::hca
