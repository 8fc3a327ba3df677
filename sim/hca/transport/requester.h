// The sending half of a queue pair (IBA 9.7.2, 9.7.7.1): takes work requests in order, cuts them into packets
// with ascending PSNs, and starts again at the oldest unacknowledged packet when it must.
//
// Invariants: works_ holds the requests from the oldest not completed to the newest decoded; those before the
// cursor and the one at it (when begun) have PSNs; unacknowledged <= next <= highest in serial order, where
// `next` is the PSN the cursor would send and `highest` is one past the highest ever made. A READ takes the
// PSNs of its response; those acknowledged are the ones that have come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/hca/datapath/send_pipeline.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/transport/end_to_end_credits.h"
#include "sim/hca/transport/transmission_count.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class QueuePair;

// Mark in the trail of a request packet that the port has, or waits for room in it no more.
inline constexpr char kHandedOver[] = "handed to the port";

// Why packets are sent again; value `cause` of retransmission records.
enum class RetryCause : std::uint8_t { kTimeout = 1, kSequenceNak, kRnrNak, kMissingResponse };

class Requester {
 public:
  explicit Requester(QueuePair& qp);

  // A doorbell leaves the processor. Returns the bytes of the one work request that the processor pushes with
  // it; 0 when it is the doorbell alone.
  std::uint32_t on_ring(std::uint32_t producer);
  // And is in the adapter, with the work request when it `has_work`. `trail` is that of the work requests it
  // tells of.
  void on_doorbell(std::uint32_t producer, bool has_work, Trail trail);
  // Of a work request that is about to be decoded; they are asked for in order.
  Trail trail_of(std::uint32_t number);
  void on_work(SendWork work);
  // The queue pair has become able to send: fetch and send what is there.
  void wake();
  // To ERR: nothing more is sent, and no timer runs.
  void abandon();
  // Forgets everything, as a reset does.
  void reset();
  // From RTR to RTS: the PSN of the first packet.
  void start(ib::Psn first);
  // PSN of the first packet that has never been sent.
  ib::Psn next_new_psn() const { return highest_psn_; }
  // Retry counters as modified.
  void reload_retries();
  // Nothing that was begun is outstanding.
  bool is_drained() const { return works_.empty() || !works_.front().begun; }

  // For the send pipeline; see QueuePair.
  bool has_packet() const;
  std::uint32_t next_packet_bytes() const;
  Outgoing next_packet();
  bool is_current(const Outgoing& outgoing) const { return outgoing.epoch == epoch_; }
  const SendWork* work_of(const Outgoing& outgoing) const;
  SendWork* work_of(const Outgoing& outgoing);
  void on_transmit(const Outgoing& outgoing);

 private:
  friend class Completer;

  struct Post {
    std::uint32_t producer = 0;
    Trail trail;
  };

  // What is wrong with a request before any packet of it is made; kSuccess when nothing. Turns the addresses
  // of its scatter list into those of the program.
  ib::WcStatus check(SendWork& work) const;
  void fetch_more();
  // The newest request came with its doorbell, and nothing is to be fetched before it.
  bool takes_pushed() const;
  TrailPart turn_of(std::uint32_t offset) const;
  void begin(SendWork& work);
  // The request packet of a READ or atomic. Of a READ it asks for everything from the cursor on: the first
  // time all, later what has not come.
  Outgoing next_response_request(const SendWork& work);
  // PSNs that the next packet takes when it is such a request.
  std::uint32_t response_psns(const SendWork& work) const;
  void take_psns(std::uint32_t count);
  // Executes what needs no packet, as far as it is its turn. Such a request has the PSN of the next packet and takes none;
  // at the front it is never begun: it is complete then.
  void run_local();
  // What is wrong with it.
  ib::WcStatus execute_local(const SendWork& work);
  void finish_work();
  // Lets the cursor point at the packet with this PSN, which has been made before or is the next.
  void seek(ib::Psn psn);
  // Everything from `psn` on is sent again; false when `retries_left` says no more.
  void go_back(ib::Psn psn, RetryCause cause, std::uint32_t tries_left);
  // The requests that are under way have lost the time up to now.
  void add_to_trails(const char* lost);
  void stop_timers();
  // Restarts the transport timer, or stops it when nothing is outstanding.
  void restart_ack_timer();
  Duration ack_interval() const;
  void on_ack_timeout();
  void on_rnr_timeout();

  QueuePair& qp_;
  Ring<SendWork> works_;
  Ring<Post> posts_;  // doorbells whose requests are still to be decoded; empty unless someone asks
  std::uint32_t rung_ = 0;           // producer number of the last doorbell that left the processor
  std::uint32_t fetching_ = 0;       // entries on their way
  std::uint32_t cursor_ = 0;         // index into works_ of the request being sent
  std::uint32_t cursor_offset_ = 0;  // bytes of it already made into packets
  ib::Psn next_psn_;
  ib::Psn unacknowledged_;
  ib::Psn highest_psn_;
  std::uint32_t epoch_ = 0;
  TransmissionCount transmissions_;
  EndToEndCredits credits_;
  std::uint32_t packets_since_ack_request_ = 0;
  std::uint32_t responses_awaited_ = 0;  // READs and atomics before the cursor
  bool asked_again_ = false;             // for the response that is missing now
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_retries_left_ = 0;
  bool rnr_waiting_ = false;
  bool was_idle_ = false;          // the idle expiry since the last progress has been
  std::uint32_t timeouts_ = 0;     // since the last progress
  Instant ack_deadline_ = kNever;  // may be later than the timer, which then only moves on
  Timer ack_timer_;
  Timer rnr_timer_;
};

}  // namespace verbatim::hca
