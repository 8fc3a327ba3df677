// The receiving half of a queue pair (IBA 9.7.4, 9.7.5): each request packet passes a series of checks, one
// function per step, in the specification's order of precedence of their errors, and is then executed and
// acknowledged.
//
// A state machine: it knows neither engine nor memory. It returns actions for the data path to execute
// (actions.h), and a verdict with the need of a packet that cannot be executed yet. Until the need is met,
// that packet and all later ones wait in the driver (datapath/responder_driver.h).
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
  // Need of the packet, and the call that must follow.
  enum class Need : std::uint8_t {
    kNothing,    // none: the packet is finished
    kReceive,    // a receive work request: on_receive(), on_no_receive() or on_failed_queue()
    kAtomics,    // earlier atomics must change memory first: receive() again after them
    kOthers,     // missing earlier packets: keep the packet; receive() again when expected() is its PSN
    kPlacement,  // placement of its payload: execute(), or receive() again if placement had to wait
  };
  // Memory that a packet writes, or an atomic changes. `length` is 0 when it writes nothing.
  struct Placement {
    const RecvWork* receive = nullptr;  // its scatter list is the destination; null: `address` and `key` are
    host::ProgramAddress address = 0;
    std::uint32_t key = 0;     // R_Key
    std::uint64_t offset = 0;  // in the scatter list
    std::uint32_t skipped = 0;  // bytes at the beginning of the payload that are not written
    std::uint32_t length = 0;   // bytes to write
    bool is_atomic = false;     // changed by the atomic unit
  };
  struct Verdict {
    Need need = Need::kNothing;
    Placement placement;  // for kPlacement; valid until execute()
  };

  Responder(const Connection& connection, ResponseQueue& responses, ResponderSurroundings& surroundings)
      : connection_(connection), responses_(responses), surroundings_(surroundings) {}

  // Transition from INIT to RTR; `expected`: the first expected PSN.
  void start(ib::Psn expected);
  void reset();
  // Transition to ERR: returns the receive of the message in progress, for the caller to flush; nullopt:
  // none.
  std::optional<RecvWork> abandon();
  ib::Psn expected() const { return expected_; }

  Verdict receive(ib::Packet& packet, Instant now, Actions& actions);
  // Answers to Need::kReceive: the receive is `work`; there is none; the receive queue has failed.
  Verdict on_receive(RecvWork&& work, const ib::Packet& packet, Actions& actions);
  void on_no_receive(const ib::Packet& packet, Actions& actions);
  void on_failed_queue(const ib::Packet& packet, Actions& actions);
  // Follows Need::kPlacement. `allowed`: the payload has been placed; false: the keys of the receive do not
  // allow it.
  void execute(const ib::Packet& packet, const Placement& placement, bool allowed, Actions& actions);

  // The delayed NAK is due for the gap before the request with PSN `seen`. `naks`: value of the delayed step.
  void on_nak_due(ib::Psn seen, std::uint32_t naks, Actions& actions);

  // Receives have been posted: sends an acknowledgement if the newest answer granted no credits (IBA
  // 9.7.7.2.5).
  void on_receives(Actions& actions);

  // The write of the oldest atomic, if it writes, has been handed to the DMA engine. True: no atomic is left.
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
  // Whether the queue pair's access flags permit the request.
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
  bool keeps_packets() const { return repeats_selectively() || connection_.address.accepts_any_path; }
  // The missing packet that a NAK names has arrived.
  void end_nak(Actions& actions);
  void report_gap(ib::Psn seen, Actions& actions);
  void send_gap_nak(ib::Psn seen, Actions& actions);
  // AETH that acknowledges all executed requests and grants credits for unused receives.
  ib::Aeth acknowledgement(Actions& actions);
  void complete_receive(ib::WcStatus status, bool has_message, std::uint32_t bytes, Actions& actions);

  const Connection& connection_;
  ResponseQueue& responses_;
  ResponderSurroundings& surroundings_;
  ib::Psn expected_;
  std::uint32_t msn_ = 0;  // 24 bits: messages completed
  // A NAK for a gap (except with selective repeat) or an RNR NAK was sent: no further one until the expected PSN
  // arrives. Until then requests behind it are dropped, except behind a gap where packets may overtake each
  // other: the requester sends them again on several paths, and some arrive before the missing one.
  bool gap_nak_sent_ = false, rnr_nak_sent_ = false;
  std::uint32_t gap_naks_ = 0;  // sent; a gap that a NAK's repetition covers is not reported for its earlier age
  PsnWindow kept_;  // PSNs of kept requests behind a gap
  bool established_ = false;
  bool granted_none_ = false;  // the newest answer granted no end-to-end credits
  Message message_ = Message::kNone;  // kind of the message that is being received
  Message kind_ = Message::kNone;     // kind of the packet that is being handled
  std::uint32_t received_ = 0;        // bytes of the message
  std::uint32_t atomics_ = 0;         // executed atomics whose write is not yet handed to the DMA engine
  ib::Reth reth_;                     // RETH of the WRITE that is being received
  std::optional<RecvWork> current_;   // receive work request of the message
};

}  // namespace verbatim::hca
