// Explains why a thread waits for ever: from the state of the queues that it waits for, not from its
// system call. One clause for each queue, with the place in the program. Used at the end of a run that
// hangs; changes nothing.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/hca/inspection.h"
#include "sim/supervisor/machine/call_stack.h"
#include "sim/supervisor/spec/blocked_thread.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

// Explanation of one wait: text that follows the description of the call, and the cause.
struct WaitReason {
  std::string place;        // ", in ibv_get_cq_event at app.c:88 (in …)" or " at app.c:55"; may be empty
  std::string explanation;  // "CQ 129 holds …"; may be empty
  WaitCause cause = WaitCause::kUnknown;
  std::vector<std::uint32_t> waits_for;  // pids that the thread waits for

  // `end` is inserted after the place.
  std::string text(const std::string& end) const { return place + end + (explanation.empty() ? "" : ": " + explanation); }
};

class HangCauses {
 public:
  HangCauses(const std::vector<std::unique_ptr<Process>>& processes, const SupervisorOptions& options)
      : processes_(processes), options_(options) {}

  // For a blocked thread.
  WaitReason of_sleep(Thread& thread) const;
  // For a thread that polls these completion queues.
  WaitReason of_polls(Thread& thread, std::span<const PolledQueue> queues) const;

 private:
  // One clause of an explanation.
  struct Clause {
    std::string text;
    WaitCause cause = WaitCause::kUnknown;
    std::uint32_t waits_for = 0;  // pid; 0: unknown
    bool is_usual = false;        // also true of queues in working order
    // nothing can complete on this queue or queue pair: no mistake if the program waits for another one
    bool is_idle = false;

    bool empty() const { return text.empty(); }
  };
  struct Peer {
    hca::QueuePairState state;
    std::string title;  // "QP 77 of server"
    std::uint32_t process = 0;
    bool is_known = false;
  };

  // If the wait can end by one of these clauses, an idle queue is no mistake.
  static void excuse_idle(std::vector<Clause>& clauses);
  // Joins the clauses with the highest WaitCause, at most three, into one sentence; sets this cause and the
  // awaited pids.
  static void explain_by(WaitReason& reason, const std::vector<Clause>& clauses);
  std::string in_rdma_cm(Thread& thread) const;
  std::string verb_of(Thread& thread, const protocol::VerbWait& wait) const;
  std::string place(Process& process, std::uint64_t address) const;
  // Call stack above the function that contains `start`.
  std::string callers(Process& process, const StackStart& start) const;
  // Explains a sleep on a completion channel by one of its CQs; `is_awaited`: the thread is in ibv_get_cq_event.
  Clause sleep_on(Process& process, const hca::CompletionQueueState& cq, const hca::Inspection& all, bool is_awaited) const;
  // Why a completion queue stays empty.
  std::vector<Clause> why_empty(const hca::CompletionQueueState& cq, const hca::Inspection& all) const;
  // Pid of the process at the other end of the TCP connection that the thread reads from; 0: it waits
  // for something else.
  std::uint32_t tcp_peer_of(Thread& thread) const;
  Peer peer_of(const hca::QueuePairState& qp) const;
  // Why no message arrives at the queue pair.
  Clause why_no_message(const hca::QueuePairState& qp) const;
  // Why no send of the queue pair completes; empty: none is outstanding.
  Clause why_no_send(const hca::QueuePairState& qp) const;
  // Fate of packets to the first of these addressees of whom it is known; "": none.
  std::string dropped_to(const std::vector<std::string>& names) const;

  const std::vector<std::unique_ptr<Process>>& processes_;
  const SupervisorOptions& options_;
};

}  // namespace verbatim::supervisor
