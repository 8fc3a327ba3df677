// Does what the transport machines of one queue pair want done (transport/actions.h), action by action: the one place
// where they meet stages, DMA and timers.
#pragma once

#include <cstdint>

#include "sim/core/engine.h"
#include "sim/hca/datapath/receive_pipeline.h"
#include "sim/hca/slot.h"
#include "sim/hca/stages/recovery_delays.h"
#include "sim/hca/stages/transport_timers.h"
#include "sim/hca/transport/actions.h"
#include "sim/hca/transport/requester.h"
#include "sim/hca/transport/responder.h"

namespace verbatim::hca {

class QueuePair;

class ActionExecutor : private TransportTimers::Listener {
 public:
  explicit ActionExecutor(QueuePair& qp);

  // `incoming` is the packet that is being dealt with; none when there is none.
  void execute(Actions& actions, Incoming* incoming = nullptr) {
    if (!actions.empty()) execute_all(actions, incoming);
  }
  // With the packet that brought its message, or none, and the trail of that.
  void complete_receive(const FinishedReceive& received, const Incoming* incoming, Trail trail);
  void stop_timers() { timers_.stop(); }
  // A step of recovery that was put off is due.
  void recover(const PutOff<Ref<QueuePair>>& step);

 private:
  void execute_all(Actions& actions, Incoming* incoming);
  void complete(FinishedRequest&& finished);
  // The adapter reads what was announced, and tells the sender when it has come.
  void begin_rendezvous(std::uint64_t wr_id, const TagMatch& match);
  void end_rendezvous(const FinishedRequest& read);
  void acknowledge(const Action& action, Trail cause);
  void execute_atomic(const ib::Packet& packet, host::ProgramAddress address, Trail cause);
  void on_ack_timeout() override;
  void on_rnr_timeout() override;
  Instant now() const;

  QueuePair& qp_;
  TransportTimers timers_;
};

}  // namespace verbatim::hca
