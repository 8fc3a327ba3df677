// States of a program's queues, for reports about a run that hangs and for checks. They influence no result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

struct CompletionQueueState {
  std::uint32_t number = 0;
  std::uint32_t channel = 0;  // the adapter's number for it; 0: none
  std::uint32_t entries = 0;
  std::uint32_t waiting = 0;  // completions that the program has not taken
  std::uint32_t most_waiting = 0;  // maximum of `waiting` so far, approximately
  std::uint32_t old = 0;      // waiting ones that were written before the program's last request for an event
  Instant oldest{}, newest{};  // times at which the oldest and the newest waiting ones were written
  Instant asked = kNever;     // time of the program's last request for an event; kNever: none
  bool asked_solicited = false;
  bool answered = false;      // an event has answered the request
  Instant last_event = kNever;
  bool has_overrun = false;
  std::uint32_t armed_by = 0;  // virtual id of the thread that requested the event
  std::uint64_t armed_from = 0, created_from = 0;  // return addresses of the calls
};

struct QueuePairState {
  std::uint32_t number = 0;
  ib::QpType type{};
  ib::QpState state{};
  std::uint32_t send_cq = 0, recv_cq = 0, srq = 0;  // numbers; 0: none
  std::uint32_t sends = 0;      // posted, and not complete
  std::uint32_t signaled = 0;   // the signaled ones of these
  bool last_is_unsignaled = false;  // the last posted request is unsignaled
  std::uint32_t receives = 0;   // posted, and not taken by a message; of the shared queue if it uses one
  bool waits_for_receive = false;  // the peer has no receive: the RNR timer runs
  std::uint64_t rnr_naks = 0;   // received so far
  std::uint32_t timeouts = 0;   // since the last answer
  bool sends_again = true;      // resends unanswered packets; false: its timeout is 0
  std::uint32_t send_entries = 0, recv_entries = 0;  // of the rings
  std::uint32_t send_most = 0, send_full = 0;  // as in protocol::QueuePairRecord
  std::uint32_t recv_least = 0;  // minimum number of posted receives when a message took one, that one included
  std::uint64_t received = 0;    // receives of its own that were taken, or flushed
  std::uint32_t send_psn = 0, receive_psn = 0;  // of the packets that come next
  std::uint32_t peer_number = 0;                // of a connection; 0: none
  std::uint64_t created_from = 0;
  std::vector<std::string> names;  // ib::addressee() of packets to it
  std::string peer;                // destination of a connection's packets: ib::addressee()
};

struct Inspection {
  std::uint32_t process = 0;  // virtual pid of the program
  std::vector<CompletionQueueState> cqs;
  std::vector<QueuePairState> qps;
  std::size_t regions = 0, domains = 0, shared_queues = 0;  // numbers of objects
};

// Maximum of the timeout attribute (IBA 9.7.6.1.3).
inline constexpr std::uint8_t kLongestTimeout = 31;
// Minimum time until a reliable connection fails with RETRY_EXC: its local ACK timeout times `repetitions`,
// at least once.
constexpr Duration patience_of(std::uint8_t timeout, std::uint8_t repetitions) {
  return Duration(4'096'000) * (std::int64_t{1} << timeout) * std::max<std::int64_t>(repetitions, 1);
}

// A completion queue that contained completions when a thread requested its next event, and has contained
// them since: they need not raise an event (IBA 11.4.2.2).
struct SleptOn {
  std::uint32_t cq = 0;   // number of the queue; 0: none
  std::uint32_t old = 0;  // number of these completions
  std::uint64_t armed_from = 0;
};

// Posted, incomplete work requests whose scatter lists name a memory region.
struct RegionUse {
  std::uint32_t key = 0;
  std::uint32_t qp = 0;  // number of the first queue pair with such work
  std::uint32_t sends = 0, receives = 0;
};

}  // namespace verbatim::hca
