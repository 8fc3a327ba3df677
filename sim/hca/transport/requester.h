// The sending half of a queue pair (IBA 9.7.2, 9.7.7): takes work requests in order, cuts them into packets with ascending
// PSNs, and starts again at the oldest unacknowledged packet when it must. Requests complete in order up to the acknowledged
// PSN; NAKs and silence become retries and, in the end, a completion in error, after which everything is flushed.
//
// A state machine: it knows neither engine nor memory, and tells by actions what is to be done (actions.h).
//
// Invariants: works_ holds the requests from the oldest not completed to the newest decoded; those before the
// cursor and the one at it (when begun) have PSNs; unacknowledged <= next <= highest in serial order, where
// `next` is the PSN the cursor would send and `highest` is one past the highest ever made. A READ takes the
// PSNs of its response; those acknowledged are the ones that have come.
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

// Mark in the trail of a request packet that the port has, or waits for room in it no more.
inline constexpr char kHandedOver[] = "handed to the port";
// As rnr_retry: as often as it takes.
inline constexpr std::uint8_t kEndlessRnrRetry = 7;

class Requester {
 public:
  // Where the payload of a response goes.
  struct Placement {
    const ScatterList* list = nullptr;  // null: the packet brings nothing
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    bool is_own = false;  // of such a READ: the keys are of the protection domain of receives
  };

  Requester(const Connection& connection, WorkQueue& queue, LocalOperations& local)
      : connection_(connection), queue_(queue), local_(local) {}

  // A doorbell leaves the processor; `inline_bytes` of data are in the newest ring entry, if its data is inline. Returns the
  // bytes of the one work request that the processor pushes with the doorbell; 0: it rings the doorbell alone.
  std::uint32_t on_ring(std::uint32_t producer, std::optional<std::uint32_t> inline_bytes);
  // And is in the adapter, with the work request when it `has_work`. `trail` is that of the work requests it
  // tells of.
  void on_doorbell(std::uint32_t producer, bool has_work, Trail trail, Actions& actions);
  // Of a work request that is about to be decoded; they are asked for in order.
  Trail trail_of(std::uint32_t number);
  // What is wrong with a request before any packet of it is made, as far as the transport knows; kSuccess when nothing.
  ib::WcStatus check(const SendWork& work) const;
  // A request comes; one with a fault fails when its turn comes.
  void on_work(SendWork&& work, Instant now, Actions& actions);
  // One of the adapter itself, behind all that are here: for a rendezvous (tag_match.h), a READ and then a SEND.
  void on_own_work(SendWork&& work, Instant now, Actions& actions);
  // Requests that come are flushed.
  bool is_flushing() const {
    return connection_.state() == ib::QpState::kErr || connection_.state() == ib::QpState::kSqe;
  }
  // What is to be fetched now.
  void fetch_more(Actions& actions);
  // The queue pair has become able to send: fetch and send what is there.
  void wake(Instant now, Actions& actions);
  // To ERR or SQE: nothing more is sent, no timer runs, and all requests are flushed.
  void flush_all(Instant now, Actions& actions);
  // Forgets everything, as a reset does.
  void reset();
  // From RTR to RTS: the PSN of the first packet.
  void start(ib::Psn first);
  // PSN of the first packet that has never been sent.
  ib::Psn next_new_psn() const { return highest_psn_; }
  // Everything before has been acknowledged; PSN of the next packet, unless one that is missing is sent again.
  ib::Psn unacknowledged() const { return unacknowledged_; }
  ib::Psn next_psn() const { return next_psn_; }
  bool repeats() const { return repeats_.has_next(); }
  // Retry counters as modified.
  void reload_retries();
  // Nothing that was begun is outstanding.
  bool is_drained() const { return works_.empty() || !works_.front().begun; }
  // For people: the responder has no receive for what is to be sent; how often it has said so; timeouts since its last answer.
  bool waits_for_receive() const { return rnr_waiting_; }
  std::uint64_t rnr_naks() const { return rnr_naks_; }
  std::uint32_t timeouts() const { return timeouts_; }
  // Another number: packets are made anew from an earlier one on.
  std::uint32_t epoch() const { return epoch_; }

  // Packets out; see QueuePair.
  bool has_packet() const;
  std::uint32_t next_packet_bytes() const;
  ib::ServiceLevel next_service_level() const {
    const auto& path = works_[cursor_].path;  // a datagram's own
    return path == nullptr ? connection_.service_level() : connection_.service_level_of(*path);
  }
  Outgoing next_packet(Instant now, Actions& actions);
  bool is_current(const Outgoing& outgoing) const { return outgoing.epoch == epoch_; }
  // The request that a packet is of; null when it was acknowledged by its first sending meanwhile.
  const SendWork* work_of(const Outgoing& outgoing) const {
    const std::uint32_t index = index_of(outgoing);
    return index < works_.size() ? &works_[index] : nullptr;
  }
  // It has been handed to the port.
  void on_transmit(const Outgoing& outgoing, Instant now, Actions& actions);

  // Answers in (requester_answers.cc). When a response brings something to place, on_placed() comes next, or the same
  // packet again when it had to wait.
  Placement receive(const ib::Packet& packet, Instant now, Actions& actions);
  // `allowed`: it has been placed; otherwise the keys of the request do not allow it any more.
  void on_placed(const ib::Packet& packet, bool allowed, Instant now, Actions& actions);
  // What followed from the packet has been executed.
  void on_dealt_with() { cause_ = {}; }

  // The connection uses another path: from now on it is that one's timeout that counts.
  void on_migrated(Actions& actions) {
    if (connection_.is_reliable()) restart_ack_timer(actions);
  }

  // A step that was put off in that epoch is due: a NAK had come, with `seen` (selective repeat), or a response was missing.
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

  // In works_; beyond its end when the request is no longer there.
  std::uint32_t index_of(const Outgoing& outgoing) const { return outgoing.work - first_sequence_; }
  // The newest request came with its doorbell, and nothing is to be fetched before it.
  bool takes_pushed() const;
  TrailPart turn_of(std::uint32_t offset) const;
  void begin(SendWork& work);
  // The request packet of a READ or atomic. Of a READ it asks for everything from the cursor on: the first
  // time all, later what has not come.
  Outgoing next_response_request(const SendWork& work, Instant now, Actions& actions);
  // PSNs that the next packet takes when it is such a request.
  std::uint32_t response_psns(const SendWork& work) const;
  void take_psns(std::uint32_t count);
  // Executes what needs no packet, as far as it is its turn. Such a request has the PSN of the next packet and takes none;
  // at the front it is never begun: it is complete then.
  void run_local(Instant now, Actions& actions);
  void push(SendWork&& work);
  void drop_front();
  void finish_work(Instant now, Actions& actions);
  // Where the packet with this PSN is, which has been made before or is the next.
  struct Place {
    std::uint32_t work = 0;       // index into works_
    std::uint32_t offset = 0;     // bytes of it before
    std::uint32_t responses = 0;  // READs and atomics before it
  };
  Place place_of(ib::Psn psn) const;
  // Lets the cursor point at it.
  void seek(ib::Psn psn);
  // The packet at the cursor.
  Outgoing make_packet(Instant now, Actions& actions);
  // The next that is missing, which leaves the cursor where it is.
  Outgoing make_repeated(Instant now, Actions& actions);
  // One retry less. Without any go_back(), which comes next, moves the connection to its alternate path and begins anew there
  // (IBA 17.2.8); false when it has none, and the request has failed.
  bool take_retry(Instant now, Actions& actions);
  // Everything from `psn` on is sent again.
  void go_back(ib::Psn psn, RetryCause cause, std::uint32_t tries_left, Instant now, Actions& actions);
  // The requests that are under way have lost the time up to now.
  // `name`: of the time lost; null: by the cause.
  void add_to_trails(RetryCause cause, const char* name, Instant now);
  // Restarts the transport timer, or stops it when nothing is outstanding.
  void restart_ack_timer(Actions& actions);
  Duration ack_interval() const;

  // requester_answers.cc
  // Of an acknowledgement of nothing outstanding: it is there for its grant alone.
  bool brings_credits(const ib::Packet& packet);
  void on_acknowledgement(const ib::Packet& packet, Instant now, Actions& actions);
  Placement on_read_response(const ib::Packet& packet, const ib::OpcodeInfo& operation, Instant now, Actions& actions);
  Placement on_atomic_response(const ib::Packet& packet, Instant now, Actions& actions);
  void on_ack(ib::Psn psn, Instant now, Actions& actions);
  void on_nak(const ib::Aeth& aeth, ib::Psn psn, Instant now, Actions& actions);
  // The oldest packet that is not acknowledged is missing at the responder, which has one with the PSN `seen` (selective repeat).
  void on_gap(ib::Psn seen, Instant now, Actions& actions);
  void repeat_missing(ib::Psn seen, Instant now, Actions& actions);
  void on_rnr_nak(std::uint8_t timer_code, ib::Psn psn, Instant now, Actions& actions);
  // A packet of an unreliable queue pair has been handed to the port.
  void on_sent(const ib::Packet& packet, Instant now, Actions& actions);
  // The responder has executed everything up to `psn`: those requests are complete. False when the response
  // of a READ among them is missing; it is asked for again.
  bool retire_through(ib::Psn psn, Instant now, Actions& actions);
  // Nothing before `psn` is outstanding any more.
  void advance_to(ib::Psn psn, Actions& actions);
  void ask_again(Instant now, Actions& actions);
  void ask_again_now(Instant now, Actions& actions);
  // Something is acknowledged: more may be sent, and what waited for it be executed.
  void on_progress(Instant now, Actions& actions);
  void retire_front(Instant now, Actions& actions);
  // The oldest request has been executed here and is complete.
  void retire_local_front(Instant now, Actions& actions);
  void complete(const SendWork& work, ib::WcStatus status, Instant now, Actions& actions);
  // The oldest request completes in error and the queue pair with it.
  void fail(ib::WcStatus status, Instant now, Actions& actions);
  // A request that cannot be executed fails when everything before it is complete.
  void fail_front_if_faulty(Instant now, Actions& actions);
  // Of a request that ends now, because of what has come or left.
  Trail trail_of(const SendWork& work, Instant now) const;

  const Connection& connection_;
  WorkQueue& queue_;
  LocalOperations& local_;
  Ring<SendWork> works_;
  std::uint32_t first_sequence_ = 0;  // of the first of them
  Ring<Post> posts_;  // doorbells whose requests are still to be decoded; empty unless someone asks
  Trail cause_;       // of the packet that is being dealt with
  std::uint32_t rung_ = 0;           // producer number of the last doorbell that left the processor
  std::uint32_t fetching_ = 0;       // entries on their way
  std::uint32_t cursor_ = 0;         // index into works_ of the request being sent
  std::uint32_t cursor_offset_ = 0;  // bytes of it already made into packets
  ib::Psn next_psn_;
  ib::Psn unacknowledged_;
  ib::Psn highest_psn_;
  std::uint32_t epoch_ = 0;
  TransmissionCount transmissions_;
  SelectiveRepeat repeats_;
  EndToEndCredits credits_;
  std::uint32_t packets_since_ack_request_ = 0;
  std::uint32_t responses_awaited_ = 0;  // READs and atomics before the cursor
  bool asked_again_ = false;             // for the response that is missing now
  bool migrates_ = false;                // to the alternate path
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_retries_left_ = 0;
  bool ack_timer_runs_ = false;
  bool rnr_waiting_ = false;    // its timer runs
  std::uint64_t rnr_naks_ = 0;
  bool was_idle_ = false;       // the idle expiry since the last progress has been
  std::uint32_t timeouts_ = 0;  // since the last progress
};

}  // namespace verbatim::hca
