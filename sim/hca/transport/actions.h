// What a transport state machine wants done, in this order, by the data path (datapath/action_executor.h). A machine is given
// a packet, a work request or the end of a timer, and the time; it changes itself and nothing else.
//
// Whoever executes an action may call the machine again: it has finished its step by then. What an action needs to know of
// the machine, such as which requests are finished, it asks for when its turn comes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/core/check.h"
#include "sim/core/time.h"
#include "sim/core/trace.h"
#include "sim/hca/transport/refusal.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

// A step that is taken for a lost packet after a time that the profile gives (`HcaProfile::loss_recovery`).
enum class RecoveryStep : std::uint8_t {
  kNak,          // Responder::on_nak_due()
  kRepeat,       // Requester::on_repeat_due()
  kAskAgain,     // Requester::on_ask_again_due()
  kAnswerAgain,  // ResponseQueue::on_answer_due()
};

struct Action {
  enum class Kind : std::uint8_t {
    // Of work requests.
    kFetch,       // `count` entries of the send queue, from `number` on
    kTakePushed,  // entry `number` has come with its doorbell
    kFetchMore,   // as far as there is room when this is executed
    kComplete,    // the next `count` of Requester::take_finished()
    // Of packets.
    kActivate,         // there may be one to send
    kAcknowledge,      // with PSN `number` and `values`: syndrome, MSN
    kRelease,          // the input buffer space of that which is being dealt with
    kDrop,             // that packet, for `reason`
    kDiagnose,         // that packet is refused, for `refusal`
    kEndMessage,       // all of a message has come: nothing of it is held back any longer
    kExecuteAtomic,    // that packet asks for, at Responder::placement()
    kCompleteReceive,  // Responder::received()
    kWatchReceives,    // Responder::on_receives() comes when the program has posted one
    // Timers. To arm one that runs starts it anew.
    kArmAckTimer,  // for one to four times `duration` (IBA 9.7.6.1.3)
    kCancelAckTimer,
    kArmRnrTimer,  // for `duration` at the least (IBA 9.7.5.2.8)
    kCancelRnrTimer,
    kRecoverLater,  // after `duration`, `step` with PSN `number` and values[0], unless the queue pair is reset before
    // Of the queue pair.
    kRaise,           // asynchronous event `raised`
    kCountQkeyViolation,
    kRecord,          // `event`, with the number of the queue pair and `values`
    kMigratePath,     // to its alternate one
    kCheckDrained,    // in SQD: nothing that was begun may be outstanding now
    kEnterError,      // of the connection
    kEnterSendError,  // unreliable: it cannot send until it is told to
    kFailFatally,     // the program wrote nonsense
  };

  // Beside the kind only what it names has a meaning.
  Kind kind;
  ib::DropReason reason;
  Refusal refusal;
  ib::AsyncEventType raised;
  RecoveryStep step;
  TraceEvent event;
  std::uint32_t number;
  std::uint32_t count;
  Duration duration;
  std::array<std::uint32_t, 3> values;
};

// Of one step. No step gives more than there is room for: what may be any number of times is told with a count.
class Actions {
 public:
  static constexpr std::size_t kCapacity = 16;

  Actions() {}  // elements are written before they are read

  void add(Action::Kind kind) { next(kind); }
  void add(Action::Kind kind, std::uint32_t number, std::uint32_t count) {
    Action& action = next(kind);
    action.number = number;
    action.count = count;
  }
  void add(Action::Kind kind, Duration duration) { next(kind).duration = duration; }
  void record(TraceEvent event, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    Action& action = next(Action::Kind::kRecord);
    action.event = event;
    action.values = {a, b, c};
  }
  void acknowledge(ib::Psn psn, const ib::Aeth& aeth) {
    Action& action = next(Action::Kind::kAcknowledge);
    action.number = psn.value;
    action.values = {aeth.syndrome, aeth.msn, 0};
  }
  void recover_later(RecoveryStep step, Duration duration, ib::Psn psn, std::uint32_t value) {
    Action& action = next(Action::Kind::kRecoverLater);
    action.step = step;
    action.duration = duration;
    action.number = psn.value;
    action.values = {value, 0, 0};
  }
  void drop(ib::DropReason reason) { next(Action::Kind::kDrop).reason = reason; }
  void diagnose(const Refusal& refusal) { next(Action::Kind::kDiagnose).refusal = refusal; }
  void raise(ib::AsyncEventType event) { next(Action::Kind::kRaise).raised = event; }
  // One more finished request.
  void complete() {
    if (size_ > 0 && actions_[size_ - 1].kind == Action::Kind::kComplete) {
      ++actions_[size_ - 1].count;
    } else {
      add(Action::Kind::kComplete, 0, 1);
    }
  }

  const Action* begin() const { return actions_.data(); }
  const Action* end() const { return actions_.data() + size_; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const Action& operator[](std::size_t index) const { return actions_[index]; }

 private:
  Action& next(Action::Kind kind) {
    CHECK(size_ < kCapacity);
    Action& action = actions_[size_++];
    action.kind = kind;
    return action;
  }

  std::array<Action, kCapacity> actions_;
  std::size_t size_ = 0;
};

}  // namespace verbatim::hca
