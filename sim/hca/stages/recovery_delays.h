// Delayed steps of the recovery from losses (RecoveryStep) of all queue pairs of one adapter, with one timer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/hca/congestion/pacing_calendar.h"
#include "sim/hca/transport/actions.h"
#include "sim/hca/transport/requester.h"
#include "sim/hca/transport/responder.h"
#include "sim/hca/transport/response_queue.h"

namespace verbatim::hca {

// `QueuePairRef` names a queue pair of the adapter.
template <class QueuePairRef>
struct PutOff {
  QueuePairRef qp;
  std::uint32_t life = 0;  // the queue pair's ring_epoch; after a reset the step is discarded
  RecoveryStep step = RecoveryStep::kNak;
  ib::Psn psn;
  std::uint32_t value = 0;
};

template <class QueuePairRef>
using RecoveryDelays = PacingCalendar<PutOff<QueuePairRef>>;

template <class QueuePairRef>
void put_off(RecoveryDelays<QueuePairRef>& delays, Instant now, const Action& action, QueuePairRef qp, std::uint32_t life) {
  delays.add(now + action.duration, {std::move(qp), life, action.step, ib::Psn{action.number}, action.values[0]});
}

// Calls take(PutOff&) for each step that is due; it may delay further steps.
template <class QueuePairRef, class Take>
void take_due(RecoveryDelays<QueuePairRef>& delays, Instant now, Take take) {
  std::vector<PutOff<QueuePairRef>> due;
  delays.take_due(now, [&due](PutOff<QueuePairRef>&& entry) { due.push_back(std::move(entry)); });
  for (PutOff<QueuePairRef>& entry : due) take(entry);
}

template <class QueuePairRef>
void recover(const PutOff<QueuePairRef>& entry, Requester& requester, Responder& responder, ResponseQueue& responses, Instant now,
             Actions& actions) {
  switch (entry.step) {
    case RecoveryStep::kNak:
      return responder.on_nak_due(entry.psn, entry.value, actions);
    case RecoveryStep::kRepeat:
      return requester.on_repeat_due(entry.psn, entry.value, now, actions);
    case RecoveryStep::kAskAgain:
      return requester.on_ask_again_due(entry.psn, entry.value, now, actions);
    case RecoveryStep::kAnswerAgain:
      return responses.on_answer_due(entry.psn, actions);
  }
}

}  // namespace verbatim::hca
