// The receiving half of a queue pair (IBA 9.7.4, 9.7.5): each request packet passes a row of checks, one
// function per step, in the order in which the specification gives precedence to their errors, and is then
// executed and acknowledged.
//
// A state machine: it knows neither engine nor memory. It returns actions for the data path to execute
// (actions.h), and a verdict that names what a packet needs before it can be executed. A packet that must
// wait for it waits at the driver (datapath/responder_driver.h), and all packets behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "sim/core/time.h"
#include "sim/core/trail.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/transport/actions.h"
#include "sim/hca/transport/connection.h"
#include "sim/hca/transport/psn_window.h"
#include "sim/hca/transport/responder_surroundings.h"
#include "sim/hca/transport/response_queue.h"
#include "sim/ib/aeth.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/opcode.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

using ib::DropReason;

class Responder {
 public:
  // Need of the packet, and the next call.
  enum class Need : std::uint8_t {
    kNothing,    // none: the packet is finished
    kReceive,    // a receive work request: on_receive(), on_no_receive() or on_failed_queue()
    kAtomics,    // earlier atomics must change memory first: receive() again
    kOthers,     // earlier packets are missing: it is kept; receive() again when expected() is its PSN
    kPlacement,  // its payload must be placed: execute(), or receive() again when it had to wait
  };
  // Memory that a packet writes, or an atomic changes. `length` is 0 when it writes nothing.
  struct Placement {
    const RecvWork* receive = nullptr;  // receive whose scatter list takes the bytes; null: `address` and `key` do
    host::ProgramAddress address = 0;
    std::uint32_t key = 0;     // R_Key
    std::uint64_t offset = 0;  // in the scatter list
    std::uint32_t skipped = 0;  // bytes at the packet's beginning that are not written
    std::uint32_t length = 0;   // bytes that are written
    bool is_atomic = false;     // the atomic unit changes them
  };
  struct Verdict {
    Need need = Need::kNothing;
    Placement placement;  // for kPlacement; valid until execute()
  };

  Responder(const Connection& connection, ResponseQueue& responses, ResponderSurroundings& surroundings)
      : connection_(connection), responses_(responses), surroundings_(surroundings) {}

  // From INIT to RTR: the first PSN expected.
  void start(ib::Psn expected);
  void reset();
  // To ERR: returns the receive of the message in progress, which is flushed.
  std::optional<RecvWork> abandon();
  ib::Psn expected() const { return expected_; }

  Verdict receive(ib::Packet& packet, Instant now, Actions& actions);
  // For a packet that needs a receive: `work` is the receive; there is none; the queue has failed.
  Verdict on_receive(RecvWork&& work, const ib::Packet& packet, Actions& actions);
  void on_no_receive(const ib::Packet& packet, Actions& actions);
  void on_failed_queue(const ib::Packet& packet, Actions& actions);
  // `allowed`: the payload has been placed; false: the keys of the receive do not allow it.
  void execute(const ib::Packet& packet, const Placement& placement, bool allowed, Actions& actions);

  // The NAK is due that was delayed when the request with PSN `seen` arrived behind a gap.
  void on_nak_due(ib::Psn seen, Actions& actions);

  // There are receives again: sends an acknowledgement to a peer whose newest answer granted no credits (IBA
  // 9.7.7.2.5).
  void on_receives(Actions& actions);

  // The write of the oldest atomic has been handed to the DMA engine, or there is none. True when it was the last.
  bool on_atomic_done() { return --atomics_ == 0; }

 private:
  enum class Step : std::uint8_t {
    kPsn,
    kTarget,
    kSequence,
    kRights,
    kResources,
    kLength,
    kRemoteKey,
    kDone,
    kWaitForReceive,
    kWaitForAtomics,
    kWaitForOthers,
    kExecute,
  };
  enum class Message : std::uint8_t { kNone, kSend, kWrite, kRead, kAtomic, kAtomicWrite };

  struct Request {
    const ib::Packet& packet;
    const ib::OpcodeInfo& operation;
    Actions& actions;
    Placement* placement;  // to fill for the verdict; null outside of receive() and on_receive()
  };

  static std::uint32_t right_of(Message kind);
  // Whether the queue pair gives its peer the right to such a request.
  bool has_right(Message kind) const;

  Need take_steps(const Request& request, Step step);
  Step check_psn(const Request& request);
  Step check_behind_gap(const Request& request);
  Step check_psn_unreliable(const Request& request);
  Step begin_datagram(const Request& request);
  Step check_target(const Request& request);
  Step check_sequence(const Request& request);
  Step check_rights(const Request& request);
  Step check_resources(const Request& request);
  Step check_length(const Request& request);
  Step check_remote_key(const Request& request);
  Step before_execution(const Request& request);
  void place_send(const Request& request);

  // responder_answers.cc
  void execute_message(const Request& request);
  void execute_read(const Request& request);
  void execute_atomic(const Request& request, host::ProgramAddress address);
  void execute_atomic_write(const Request& request);
  void execute_datagram(const Request& request);
  Step repeat(const Request& request);
  Step repeat_read(const Request& request);
  Step drop_message(const Request& request, DropReason reason);
  Step refuse(const Request& request, ib::NakCode code, const Refusal& why);
  Step fail_receive(const Request& request, ib::WcStatus status, ib::NakCode code, const Refusal& why);
  void send_ack(std::uint8_t syndrome, ib::Psn psn, Actions& actions);
  void send_answer(const ib::Aeth& aeth, ib::Psn psn, Actions& actions);
  bool repeats_selectively() const { return connection_.profile.loss_recovery.selective_repeat; }
  bool keeps_packets() const { return repeats_selectively() || connection_.address.takes_any_way; }
  void report_gap(ib::Psn seen, Actions& actions);
  void send_gap_nak(ib::Psn seen, Actions& actions);
  // AETH that acknowledges all executed requests and grants credits for the receives that are left.
  ib::Aeth acknowledgement(Actions& actions);
  void complete_receive(ib::WcStatus status, bool has_message, std::uint32_t bytes, Actions& actions);

  const Connection& connection_;
  ResponseQueue& responses_;
  ResponderSurroundings& surroundings_;
  ib::Psn expected_;
  std::uint32_t msn_ = 0;  // 24 bits: messages completed
  // A gap or a missing receive was answered: no further NAK until the expected PSN arrives. With selective
  // repeat this counts for a missing receive alone.
  bool nak_sent_ = false;
  PsnWindow kept_;  // requests that arrived behind a gap, when they are kept
  bool established_ = false;
  bool granted_none_ = false;  // the newest answer granted no end-to-end credits
  Message message_ = Message::kNone;  // kind of the message that is being received
  Message kind_ = Message::kNone;     // kind of the packet that is being handled
  std::uint32_t received_ = 0;        // bytes of the message
  std::uint32_t atomics_ = 0;         // atomics that are executed and have not changed memory yet
  ib::Reth reth_;                     // RETH of the WRITE that is being received
  std::optional<RecvWork> current_;   // receive work request of the message
};

}  // namespace verbatim::hca
