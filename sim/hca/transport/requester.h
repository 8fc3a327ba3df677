// The sending half of a queue pair (IBA 9.7.2, 9.7.7): takes work requests in order, cuts them into packets
// with ascending PSNs, and resends from the oldest unacknowledged packet after a loss. Requests complete in
// order up to the acknowledged PSN. NAKs and timeouts cause retries and, when these are used up, a completion
// in error; then all requests are flushed.
//
// A state machine: it knows neither engine nor memory, and returns actions for the data path to execute
// (actions.h).
//
// Invariants: works_ contains the requests from the oldest incomplete to the newest decoded one. Those before
// the cursor, and the one at the cursor if it has begun, have PSNs. unacknowledged <= next <= highest in
// serial order: `next` is the PSN of the packet at the cursor, `highest` one past the highest PSN ever made.
// A READ occupies the PSNs of its response, of which the arrived ones count as acknowledged.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/core/trail.h"
#include "sim/hca/queues/work_queue.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/retry_cause.h"
#include "sim/hca/transport/actions.h"
#include "sim/hca/transport/connection.h"
#include "sim/hca/transport/end_to_end_credits.h"
#include "sim/hca/transport/local_operations.h"
#include "sim/hca/transport/outgoing.h"
#include "sim/hca/transport/psn_window.h"
#include "sim/hca/transport/selective_repeat.h"
#include "sim/hca/transport/transmission_count.h"
#include "sim/ib/opcode.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

// Trail mark of a request packet at its hand-over to the port.
inline constexpr char kHandedOver[] = "handed to the port";
// Value of rnr_retry: no limit.
inline constexpr std::uint8_t kEndlessRnrRetry = 7;

class Requester {
 public:
  // The memory that the payload of a response is written to.
  struct Placement {
    const ScatterList* list = nullptr;  // null: the packet has no payload to place
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    bool is_own = false;  // for a READ of on_own_work(): its keys are of the protection domain of receives
    // The packet follows a missing response: keep it, and call receive() again when next_kept() is its PSN.
    bool is_early = false;
  };

  Requester(const Connection& connection, WorkQueue& queue, LocalOperations& local)
      : connection_(connection), queue_(queue), local_(local) {}

  // A doorbell leaves the processor; `inline_bytes` of data are in the newest ring entry, if its data is inline. Returns the
  // bytes of the one work request that the processor pushes with the doorbell; 0: it rings the doorbell alone.
  std::uint32_t on_ring(std::uint32_t producer, std::optional<std::uint32_t> inline_bytes);
  // The doorbell arrives in the adapter; `has_work`: together with the work request (BlueFlame). `trail`: of
  // the work requests that it announces.
  void on_doorbell(std::uint32_t producer, bool has_work, Trail trail, Actions& actions);
  // The trail of a work request that is about to be decoded. Called for ascending numbers.
  Trail trail_of(std::uint32_t number);
  // kSuccess, or the transport's reason to fail a request before its first packet.
  ib::WcStatus check(const SendWork& work) const;
  // A request has been decoded. One with a fault fails after all earlier ones are complete.
  void on_work(SendWork&& work, Instant now, Actions& actions);
  // Appends a request of the adapter itself: for a rendezvous (tag_match.h), a READ and then a SEND.
  void on_own_work(SendWork&& work, Instant now, Actions& actions);
  // Whether requests that are decoded in this state are flushed.
  bool is_flushing() const {
    return connection_.state() == ib::QpState::kErr || connection_.state() == ib::QpState::kSqe;
  }
  // Adds the action that fetches as many entries as there is room for.
  void fetch_more(Actions& actions);
  // The queue pair has become able to send: fetches and sends posted requests.
  void wake(Instant now, Actions& actions);
  // To ERR or SQE: nothing more is sent, no timer runs, and all requests are flushed.
  void flush_all(Instant now, Actions& actions);
  // The queue pair is reset.
  void reset();
  // Transition from RTR to RTS; `first`: PSN of the first packet.
  void start(ib::Psn first);
  // PSN of the first packet that has never been sent.
  ib::Psn next_new_psn() const { return highest_psn_; }
  // The oldest PSN that is not acknowledged; the PSN of the next packet unless is_repeating().
  ib::Psn unacknowledged() const { return unacknowledged_; }
  ib::Psn next_psn() const { return next_psn_; }
  // Whether the next packet resends a missing one, or asks for missing responses (selective repeat).
  bool is_repeating() const { return repeats_.has_next() || missing_responses_.has_next(); }
  // Sets the retry counters to the attributes' values.
  void reload_retries();
  // Whether no begun request is outstanding.
  bool is_drained() const { return works_.empty() || !works_.front().begun; }
  // For inspection: whether the RNR timer runs; RNR NAKs received; timeouts since the last answer.
  bool waits_for_receive() const { return rnr_waiting_; }
  std::uint64_t rnr_naks() const { return rnr_naks_; }
  std::uint32_t timeouts() const { return timeouts_; }
  // Increases when the requester goes back; packets of an earlier epoch are not sent.
  std::uint32_t epoch() const { return epoch_; }

  // Packets to send; see QueuePair.
  bool has_packet() const;
  std::uint32_t next_packet_bytes() const;
  ib::ServiceLevel next_service_level() const {
    const auto& path = works_[cursor_].path;  // a datagram's own
    return path == nullptr ? connection_.service_level() : connection_.service_level_of(*path);
  }
  Outgoing next_packet(Instant now, Actions& actions);
  bool is_current(const Outgoing& outgoing) const { return outgoing.epoch == epoch_; }
  // The request of the packet; null if an earlier transmission of the packet has been acknowledged since.
  const SendWork* work_of(const Outgoing& outgoing) const {
    const std::uint32_t index = index_of(outgoing);
    return index < works_.size() ? &works_[index] : nullptr;
  }
  // The packet has been handed to the port.
  void on_transmit(const Outgoing& outgoing, Instant now, Actions& actions);

  // Processes an answer (requester_answers.cc). If the result has payload to place, the next call is
  // on_placed(), or receive() with the same packet if placement had to wait.
  Placement receive(const ib::Packet& packet, Instant now, Actions& actions);
  // `allowed`: the payload has been placed; false: the keys of the request do not allow it now.
  void on_placed(const ib::Packet& packet, bool allowed, Instant now, Actions& actions);
  // All actions that followed from the packet have been executed.
  void on_packet_done() { cause_ = {}; }
  // PSN of a kept answer that no missing response precedes; nullopt: none. The caller processes it now.
  std::optional<ib::Psn> next_kept() const;

  // The connection has migrated to another path: restarts the transport timer with that path's timeout.
  void on_migrated(Actions& actions) {
    if (connection_.is_reliable()) restart_ack_timer(actions);
  }

  // A recovery step that was delayed in `epoch` is due: the reaction to a NAK that reported `seen` (selective
  // repeat), or the repeated request for a missing response, after which the answer `seen` arrived.
  void on_repeat_due(ib::Psn seen, std::uint32_t epoch, Instant now, Actions& actions);
  void on_ask_again_due(ib::Psn seen, std::uint32_t epoch, Instant now, Actions& actions);

  // The timer that was armed last has expired.
  void on_ack_timeout(Instant now, Actions& actions);
  void on_rnr_timeout(Instant now, Actions& actions);

 private:
  struct Post {
    std::uint32_t producer = 0;
    Trail trail;
  };

  // Index into works_; beyond its end when the request is complete.
  std::uint32_t index_of(const Outgoing& outgoing) const { return outgoing.work - first_sequence_; }
  // Whether a request that arrived with its doorbell is used: no entry before it remains to be fetched.
  bool takes_pushed() const;
  TrailPart turn_of(std::uint32_t offset) const;
  void begin(SendWork& work);
  // The request packet of a READ, atomic or ATOMIC WRITE at the cursor. A READ requests all bytes from the
  // cursor on: first all of them, later those that have not arrived.
  Outgoing next_response_request(const SendWork& work, Instant now, Actions& actions);
  // The same for `length` bytes of a READ from `offset` on, which have the PSNs from `psn` on. The cursor stays.
  Outgoing response_request(const SendWork& work, ib::Psn psn, std::uint32_t offset, std::uint32_t length, Instant now);
  // Number of PSNs of the next packet if it is a request with a response.
  std::uint32_t response_psns(const SendWork& work) const;
  void take_psns(std::uint32_t count);
  // Executes local requests at the cursor. A local request has the PSN of the next packet and takes none; at
  // the front of works_ it is complete at once.
  void run_local(Instant now, Actions& actions);
  void push(SendWork&& work);
  void drop_front();
  void finish_work(Instant now, Actions& actions);
  // Position of the packet with a PSN that has been made, or is the next.
  struct Place {
    std::uint32_t work = 0;       // index into works_
    std::uint32_t offset = 0;     // bytes of the request before the packet
    std::uint32_t responses = 0;  // READs and atomics before it
  };
  Place place_of(ib::Psn psn) const;
  // Moves the cursor to the packet with this PSN.
  void seek(ib::Psn psn);
  // The packet at the cursor.
  Outgoing make_packet(Instant now, Actions& actions);
  // The next missing packet (selective repeat). The cursor stays.
  Outgoing make_repeated(Instant now, Actions& actions);
  // The request for the next missing responses (selective repeat). The cursor stays.
  Outgoing make_request_for_missing(Instant now);
  // Consumes one retry. If none is left and the connection is armed, the caller's next go_back() migrates to
  // the alternate path with all retries (IBA 17.2.8). False: no retry and no alternate path; the request has
  // failed.
  bool take_retry(Instant now, Actions& actions);
  // Resends all packets from `psn` on.
  void go_back(ib::Psn psn, RetryCause cause, std::uint32_t tries_left, Instant now, Actions& actions);
  // The transport timer has expired: resends the packets that count as lost, of the others the first missing one alone
  // (selective repeat).
  void repeat_after_timeout(Instant now, Actions& actions);
  // Resends the oldest PSN without an acknowledgement, or asks for it if it is a response.
  void repeat_oldest(Actions& actions);
  // Adds the time since their last step to the trails of begun requests from index `first` of works_ on, as lost.
  // `name` names it; null: the cause does.
  void add_to_trails(std::size_t first, RetryCause cause, const char* name, Instant now);
  // Restarts the transport timer, or stops it when nothing is outstanding.
  void restart_ack_timer(Actions& actions);
  Duration ack_interval() const;

  // requester_answers.cc
  // Whether an acknowledgement, which acknowledges no outstanding request, grants more credits.
  bool brings_credits(const ib::Packet& packet);
  Placement on_acknowledgement(const ib::Packet& packet, Instant now, Actions& actions);
  Placement on_read_response(const ib::Packet& packet, const ib::OpcodeInfo& operation, Instant now, Actions& actions);
  Placement on_atomic_response(const ib::Packet& packet, Instant now, Actions& actions);
  Placement on_ack(const ib::Packet& packet, Instant now, Actions& actions);
  void on_nak(const ib::Aeth& aeth, ib::Psn psn, Instant now, Actions& actions);
  // The responder lacks the oldest packet that is not acknowledged, and has the one with PSN `seen`
  // (selective repeat).
  void on_gap(ib::Psn seen, Instant now, Actions& actions);
  void repeat_missing(ib::Psn seen, Instant now, Actions& actions);
  // After a timeout: if all that was sent again is acknowledged and something from before the timeout is not, the oldest
  // of this is missing as well, and is sent again.
  void repeat_next_after_timeout(Actions& actions);
  void on_rnr_nak(std::uint8_t timer_code, ib::Psn psn, Instant now, Actions& actions);
  // A packet of an unreliable queue pair has been handed to the port.
  void on_sent(const ib::Packet& packet, Instant now, Actions& actions);
  // The responder has executed all requests up to `psn`: completes them. False: the response of a READ or
  // atomic among them is missing, and must be requested again.
  bool retire_through(ib::Psn psn, Instant now, Actions& actions);
  // A response before this answer is missing. It is kept with selective repeat.
  Placement on_early_answer(const ib::Packet& packet, Instant now, Actions& actions);
  // Asks for the responses that are missing before the kept answer `seen` (selective repeat).
  void ask_for_missing(ib::Psn seen, Instant now, Actions& actions);
  // All PSNs before `psn` are acknowledged.
  void advance_to(ib::Psn psn, Actions& actions);
  void ask_again(Instant now, Actions& actions);
  void ask_again_now(Instant now, Actions& actions);
  // After an acknowledgement: sends further packets, and executes local requests that waited for it.
  void on_progress(Instant now, Actions& actions);
  void retire_front(Instant now, Actions& actions);
  // Completes the oldest request, which is local.
  void retire_local_front(Instant now, Actions& actions);
  void complete(const SendWork& work, ib::WcStatus status, Instant now, Actions& actions);
  // Completes the oldest request in error; the queue pair enters an error state.
  void fail(ib::WcStatus status, Instant now, Actions& actions);
  // Completes the oldest request in error when it has a fault.
  void fail_front_if_faulty(Instant now, Actions& actions);
  // The trail of a request that completes now by a packet that arrived or was sent.
  Trail trail_of(const SendWork& work, Instant now) const;

  const Connection& connection_;
  WorkQueue& queue_;
  LocalOperations& local_;
  Ring<SendWork> works_;
  std::uint32_t first_sequence_ = 0;  // SendWork::sequence of the front of works_
  Ring<Post> posts_;  // doorbells whose requests are not yet decoded; empty unless trails are observed
  Trail cause_;       // trail of the packet that is being handled
  std::uint32_t rung_ = 0;           // producer number of the last doorbell that left the processor
  std::uint32_t fetching_ = 0;       // entries that are being fetched
  std::uint32_t cursor_ = 0;         // index into works_ of the request being sent
  std::uint32_t cursor_offset_ = 0;  // bytes of it that are in packets already
  ib::Psn next_psn_;
  ib::Psn unacknowledged_;
  ib::Psn highest_psn_;
  std::uint32_t epoch_ = 0;
  TransmissionCount transmissions_;
  SelectiveRepeat repeats_;            // requests
  SelectiveRepeat missing_responses_;  // responses
  PsnWindow kept_;                     // PSNs of kept answers, which a missing response precedes
  ib::Psn timeout_end_;                // one past the PSNs sent before the last timeout
  bool recovers_from_timeout_ = false;  // PSNs before it are not acknowledged (selective repeat)
  EndToEndCredits credits_;
  std::uint32_t packets_since_ack_request_ = 0;
  std::uint32_t responses_awaited_ = 0;  // READs and atomics before the cursor
  bool asked_again_ = false;             // the missing response has been asked for again
  bool migrates_ = false;                // the next go_back() changes to the alternate path
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_retries_left_ = 0;
  bool ack_timer_runs_ = false;
  bool rnr_waiting_ = false;    // its timer runs
  std::uint64_t rnr_naks_ = 0;
  bool was_idle_ = false;       // the expiry without effect (AckTimerProfile) has happened since the last progress
  std::uint32_t timeouts_ = 0;  // since the last progress
};

}  // namespace verbatim::hca
