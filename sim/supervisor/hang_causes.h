// Why a thread that waits for ever does: not the call that it is in, but how the queues that it waits for stand. One clause for
// each, with the place in the program. Asked at the end of a run that hangs; nothing here changes anything.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/hca/inspection.h"
#include "sim/supervisor/machine/call_stack.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

class HangCauses {
 public:
  HangCauses(const std::vector<std::unique_ptr<Process>>& processes, const SupervisorOptions& options)
      : processes_(processes), options_(options) {}

  // Of a thread that sleeps: ", in ibv_get_cq_event at app.c:88: CQ 129 holds …"; "" when there is nothing to say.
  std::string of_sleep(Thread& thread) const;
  // Of one that polls these completion queues: " at app.c:55: CQ 129 is empty: QP 72 …".
  std::string of_polls(Thread& thread, std::span<const PolledQueue> queues) const;

 private:
  std::string in_rdma_cm(Thread& thread) const;
  std::string verb_of(Thread& thread, const protocol::VerbWait& wait) const;
  std::string place(Process& process, std::uint64_t address) const;
  // Those who have called the function that `start` is in.
  std::string callers(Process& process, const StackStart& start) const;
  std::string sleep_on(Process& process, const hca::CompletionQueueState& cq, const hca::Inspection& all) const;
  // Why nothing comes to an empty queue.
  std::string nothing_comes(const hca::CompletionQueueState& cq, const hca::Inspection& all) const;
  struct Peer {
    hca::QueuePairState state;
    std::string title;  // "QP 77 of server"
    bool is_known = false;
  };
  Peer peer_of(const hca::QueuePairState& qp) const;
  std::string why_no_message(const hca::QueuePairState& qp, bool* is_usual) const;
  std::string why_no_send(const hca::QueuePairState& qp) const;
  std::string dropped_to(const std::vector<std::string>& names) const;

  const std::vector<std::unique_ptr<Process>>& processes_;
  const SupervisorOptions& options_;
};

}  // namespace verbatim::supervisor
