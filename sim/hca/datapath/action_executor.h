// Executes the actions of the transport machines of one queue pair (transport/actions.h) in their order. The
// machines reach stages, DMA and timers only through it.
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

  // `incoming` is the packet that the step was about; null: it was about none.
  void execute(Actions& actions, Incoming* incoming = nullptr) {
    if (!actions.empty()) execute_all(actions, incoming);
  }
  // `incoming` is the last packet of the message, and `trail` its trail; null and empty for a receive without
  // a message.
  void complete_receive(const FinishedReceive& received, const Incoming* incoming, Trail trail);
  void stop_timers() { timers_.stop(); }
  // A delayed step of recovery is due.
  void recover(const PutOff<Ref<QueuePair>>& step);

 private:
  void execute_all(Actions& actions, Incoming* incoming);
  void complete(FinishedRequest&& finished);
  // Posts the READ of an announced message (rendezvous), and the SEND that reports its end to the sender.
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
