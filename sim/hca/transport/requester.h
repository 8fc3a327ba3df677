// The sending half of a queue pair (IBA 9.7.2, 9.7.7): takes work requests in order, cuts them into packets with ascending
// PSNs, and starts again at the oldest unacknowledged packet when it must. Requests complete in order up to the acknowledged
// PSN; NAKs and silence become retries and, in the end, a completion in error, after which everything is flushed.
//
// A state machine: it knows neither engine nor memory, and returns actions for the data path to execute
// (actions.h).
//
// Invariants: works_ holds the requests from the oldest not completed to the newest decoded; those before the
// cursor and the one at it (when begun) have PSNs; unacknowledged <= next <= highest in serial order, where
// `next` is the PSN the cursor would send and `highest` is one past the highest ever made. A READ takes the
// PSNs of its response; those acknowledged are the ones that have arrived.
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
#include "sim/hca/transport/selective_repeat.h"
#include "sim/hca/transport/transmission_count.h"
#include "sim/ib/opcode.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

// Mark in the trail of a request packet: the port has taken it.
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
  };

  Requester(const Connection& connection, WorkQueue& queue, LocalOperations& local)
      : connection_(connection), queue_(queue), local_(local) {}

  // A doorbell leaves the processor; `inline_bytes` of data are in the newest ring entry, if its data is inline. Returns the
  // bytes of the one work request that the processor pushes with the doorbell; 0: it rings the doorbell alone.
  std::uint32_t on_ring(std::uint32_t producer, std::optional<std::uint32_t> inline_bytes);
  // The doorbell arrives in the adapter, with the work request when it `has_work`. `trail` is the trail of
  // the work requests that it announces.
  void on_doorbell(std::uint32_t producer, bool has_work, Trail trail, Actions& actions);
  // The trail of a work request that is about to be decoded. Called for ascending numbers.
  Trail trail_of(std::uint32_t number);
  // Error of a request that the transport finds before any packet of it is made, or kSuccess.
  ib::WcStatus check(const SendWork& work) const;
  // A request has been decoded. One with a fault fails when all before it are complete.
  void on_work(SendWork&& work, Instant now, Actions& actions);
  // A request of the adapter itself, which queues behind all others: for a rendezvous (tag_match.h), a READ
  // and then a SEND.
  void on_own_work(SendWork&& work, Instant now, Actions& actions);
  // Requests that are decoded in this state are flushed.
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
  // From RTR to RTS: the PSN of the first packet.
  void start(ib::Psn first);
  // PSN of the first packet that has never been sent.
  ib::Psn next_new_psn() const { return highest_psn_; }
  // The oldest PSN that is not acknowledged; the PSN of the next packet, unless a missing one is sent again.
  ib::Psn unacknowledged() const { return unacknowledged_; }
  ib::Psn next_psn() const { return next_psn_; }
  bool repeats() const { return repeats_.has_next(); }
  // Sets the retry counters to the attributes' values.
  void reload_retries();
  // No request that was begun is outstanding.
  bool is_drained() const { return works_.empty() || !works_.front().begun; }
  // For inspection: whether the RNR timer runs; RNR NAKs received; timeouts since the last answer.
  bool waits_for_receive() const { return rnr_waiting_; }
  std::uint64_t rnr_naks() const { return rnr_naks_; }
  std::uint32_t timeouts() const { return timeouts_; }
  // Changes when the requester goes back: packets of an earlier epoch are not sent.
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
  // The request that the packet belongs to; null when an earlier sending of the packet has been acknowledged
  // meanwhile.
  const SendWork* work_of(const Outgoing& outgoing) const {
    const std::uint32_t index = index_of(outgoing);
    return index < works_.size() ? &works_[index] : nullptr;
  }
  // The packet has been handed to the port.
  void on_transmit(const Outgoing& outgoing, Instant now, Actions& actions);

  // Answers (requester_answers.cc). After a response with payload to place, the next call is on_placed(), or
  // receive() of the same packet when it had to wait.
  Placement receive(const ib::Packet& packet, Instant now, Actions& actions);
  // `allowed`: the payload has been placed; false: the keys of the request do not allow it now.
  void on_placed(const ib::Packet& packet, bool allowed, Instant now, Actions& actions);
  // All actions that followed from the packet have been executed.
  void on_dealt_with() { cause_ = {}; }

  // The connection uses another path, whose timeout counts.
  void on_migrated(Actions& actions) {
    if (connection_.is_reliable()) restart_ack_timer(actions);
  }

  // A step that was delayed in `epoch` is due: the reaction to a NAK, with `seen` (selective repeat), or to a
  // missing response.
  void on_repeat_due(ib::Psn seen, std::uint32_t epoch, Instant now, Actions& actions);
  void on_ask_again_due(std::uint32_t epoch, Instant now, Actions& actions);

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
  // Whether a request that arrived with its doorbell is used: no entry before it is to be fetched.
  bool takes_pushed() const;
  TrailPart turn_of(std::uint32_t offset) const;
  void begin(SendWork& work);
  // The request packet of a READ, atomic or ATOMIC WRITE. A READ asks for all bytes from the cursor on: all
  // of them the first time, then those that have not arrived.
  Outgoing next_response_request(const SendWork& work, Instant now, Actions& actions);
  // PSNs that the next packet takes when it is a request with a response.
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
  // Takes one of the retries left. When none is left, go_back(), which the caller calls next, moves an armed
  // connection to its alternate path, with all retries (IBA 17.2.8). False: there is no alternate path, and
  // the request has failed.
  bool take_retry(Instant now, Actions& actions);
  // Sends all packets from `psn` on again.
  void go_back(ib::Psn psn, RetryCause cause, std::uint32_t tries_left, Instant now, Actions& actions);
  // Adds the time since their last step to the trails of begun requests, as lost. `name` names it; null: the
  // cause does.
  void add_to_trails(RetryCause cause, const char* name, Instant now);
  // Restarts the transport timer, or stops it when nothing is outstanding.
  void restart_ack_timer(Actions& actions);
  Duration ack_interval() const;

  // requester_answers.cc
  // Whether an acknowledgement of no outstanding request grants more credits.
  bool brings_credits(const ib::Packet& packet);
  void on_acknowledgement(const ib::Packet& packet, Instant now, Actions& actions);
  Placement on_read_response(const ib::Packet& packet, const ib::OpcodeInfo& operation, Instant now, Actions& actions);
  Placement on_atomic_response(const ib::Packet& packet, Instant now, Actions& actions);
  void on_ack(ib::Psn psn, Instant now, Actions& actions);
  void on_nak(const ib::Aeth& aeth, ib::Psn psn, Instant now, Actions& actions);
  // The responder lacks the oldest packet that is not acknowledged, and has the one with PSN `seen`
  // (selective repeat).
  void on_gap(ib::Psn seen, Instant now, Actions& actions);
  void repeat_missing(ib::Psn seen, Instant now, Actions& actions);
  void on_rnr_nak(std::uint8_t timer_code, ib::Psn psn, Instant now, Actions& actions);
  // A packet of an unreliable queue pair has been handed to the port.
  void on_sent(const ib::Packet& packet, Instant now, Actions& actions);
  // The responder has executed all requests up to `psn`: they are complete. False when the response of a READ
  // or atomic among them is missing: it is asked for again.
  bool retire_through(ib::Psn psn, Instant now, Actions& actions);
  // All PSNs before `psn` are acknowledged.
  void advance_to(ib::Psn psn, Actions& actions);
  void ask_again(Instant now, Actions& actions);
  void ask_again_now(Instant now, Actions& actions);
  // After an acknowledgement: sends more, and executes local requests that waited for it.
  void on_progress(Instant now, Actions& actions);
  void retire_front(Instant now, Actions& actions);
  // Completes the oldest request, which is local.
  void retire_local_front(Instant now, Actions& actions);
  void complete(const SendWork& work, ib::WcStatus status, Instant now, Actions& actions);
  // Completes the oldest request in error; the queue pair enters an error state.
  void fail(ib::WcStatus status, Instant now, Actions& actions);
  // Completes the oldest request in error when it has a fault.
  void fail_front_if_faulty(Instant now, Actions& actions);
  // The trail of a request that is complete now, because of a packet that arrived or left.
  Trail trail_of(const SendWork& work, Instant now) const;

  const Connection& connection_;
  WorkQueue& queue_;
  LocalOperations& local_;
  Ring<SendWork> works_;
  std::uint32_t first_sequence_ = 0;  // SendWork::sequence of the front of works_
  Ring<Post> posts_;  // doorbells whose requests are not decoded yet; empty unless trails are observed
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
  SelectiveRepeat repeats_;
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
  bool was_idle_ = false;       // the first expiry since the last progress, which does nothing (AckTimerProfile), has been
  std::uint32_t timeouts_ = 0;  // since the last progress
};

}  // namespace verbatim::hca
