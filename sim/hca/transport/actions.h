// Actions that a transport state machine requests from the data path, which executes them in order
// (datapath/action_executor.h). The input of a machine is a packet, a work request or the expiry of a timer,
// and the time; it changes only its own state.
//
// The executor may call the machine again while it executes actions, because the machine has finished its
// step. Actions contain all data that their executor needs; it reads nothing from the machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/time.h"
#include "sim/core/trace.h"
#include "sim/core/trail.h"
#include "sim/hca/queues/tag_match.h"
#include "sim/hca/transport/refusal.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"
#include "sim/ib/types.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::hca {

// A step of loss recovery that follows a delay from the profile (`HcaProfile::loss_recovery`).
enum class RecoveryStep : std::uint8_t {
  kNak,          // Responder::on_nak_due()
  kRepeat,       // Requester::on_repeat_due()
  kAskAgain,     // Requester::on_ask_again_due()
  kAnswerAgain,  // ResponseQueue::on_answer_due()
};

// A completed work request of the send queue.
struct FinishedRequest {
  std::uint64_t wr_id = 0;
  std::uint32_t number = 0;  // number of its ring entry
  std::uint32_t length = 0;  // bytes of the message
  protocol::WqeOpcode opcode = protocol::WqeOpcode::kSend;
  ib::WcStatus status = ib::WcStatus::kSuccess;
  bool has_entry = true;  // false: no completion is written; only observers are notified
  bool is_own = false;    // a READ of the adapter itself (Requester::on_own_work)
  Trail trail;
};

// A completed receive. Other fields of its completion come from the message's last packet.
struct FinishedReceive {
  std::uint64_t wr_id = 0;
  std::uint32_t number = 0;  // number of its ring entry
  ib::WcStatus status = ib::WcStatus::kSuccess;
  bool has_message = false;
  bool is_write = false;  // the message is a WRITE with immediate
  std::uint32_t bytes = 0;
  std::unique_ptr<TagMatch> match;  // null: no tag matching
};

// The requests that one step finishes. The first kFew use no heap memory.
class FinishedRequests {
 public:
  FinishedRequests() {}
  FinishedRequests(FinishedRequests&& other) noexcept {
    for (std::uint32_t i = 0; i < other.size_; ++i) push_back(std::move(other[i]));
  }
  FinishedRequests& operator=(FinishedRequests&&) = delete;
  ~FinishedRequests() {
    for (std::uint32_t i = 0; i < size_ && i < kFew; ++i) few_[i].~FinishedRequest();
  }

  std::uint32_t size() const { return size_; }
  FinishedRequest& operator[](std::uint32_t index) { return index < kFew ? few_[index] : more_[index - kFew]; }
  void push_back(FinishedRequest&& request) {
    if (size_ < kFew) [[likely]] {
      new (&few_[size_]) FinishedRequest(std::move(request));
    } else {
      more_.push_back(std::move(request));
    }
    ++size_;
  }

 private:
  static constexpr std::uint32_t kFew = 4;
  std::uint32_t size_ = 0;
  std::vector<FinishedRequest> more_;  // those behind
  union {
    FinishedRequest few_[kFew];
  };
};

struct Action {
  enum class Kind : std::uint8_t {
    // Work requests.
    kFetch,       // `count` entries of the send queue, from `number` on
    kTakePushed,  // entry `number` arrived with its doorbell (BlueFlame)
    kFetchMore,   // as many entries as there is room for when this is executed
    kComplete,    // `count` of finished(), from `number` on
    // Packets. "The packet" is the input of the step.
    kActivate,         // the queue pair may have a packet to send
    kAcknowledge,      // send an acknowledgement with PSN `number` and `values`: syndrome, MSN
    kRelease,          // the packet's input buffer space
    kDrop,             // the packet, for `reason`
    kDiagnose,         // report that the packet is refused, for `refusal`
    kEndMessage,       // all of a message has arrived: payload of it that is held back is written
    kExecuteAtomic,    // the operation that the packet asks for, at `address`
    kCompleteReceive,  // write a completion for received()
    kWatchReceives,    // call Responder::on_receives() when the program has posted a receive
    // Timers. Arming a timer that runs restarts it.
    kArmAckTimer,  // for one to four times `duration` (IBA 9.7.6.1.3)
    kCancelAckTimer,
    kArmRnrTimer,  // for at least `duration` (IBA 9.7.5.2.8)
    kCancelRnrTimer,
    kRecoverLater,  // `step`, after `duration`, with PSN `number` and values[0]; a reset of the queue pair cancels it
    // The queue pair.
    kRaise,           // the asynchronous event `raised`
    kCountQkeyViolation,
    kRecord,          // `event`, with the number of the queue pair and `values`
    kMigratePath,     // to the alternate path
    kCheckDrained,    // in SQD: the last begun request may be complete
    kEnterError,      // an error of the connection: to ERR
    kEnterSendError,  // an error of an unreliable queue pair: to SQE
    kFailFatally,     // the program wrote an impossible value into a ring or record
  };

  // Only the fields that the kind names have a meaning.
  Kind kind;
  ib::DropReason reason;
  Refusal refusal;
  ib::AsyncEventType raised;
  RecoveryStep step;
  TraceEvent event;
  std::uint32_t number;
  std::uint32_t count;
  std::uint64_t address;
  Duration duration;
  std::array<std::uint32_t, 3> values;
};

// The actions of one step and their data. A step has at most kCapacity actions: an action that may be
// repeated any number of times has a count.
class Actions {
 public:
  static constexpr std::size_t kCapacity = 16;

  Actions() {}  // leaves the unions uninitialised; they are written before they are read
  Actions(Actions&& other) noexcept { take(std::move(other)); }
  Actions& operator=(Actions&& other) noexcept {
    destroy_owned();
    take(std::move(other));
    return *this;
  }
  ~Actions() {
    if (has_finished_ || has_received_) [[unlikely]] destroy_owned();
  }

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
  void execute_atomic(std::uint64_t address) { next(Action::Kind::kExecuteAtomic).address = address; }
  void complete(FinishedRequest&& request) {
    if (!has_finished_) new (&finished_) FinishedRequests;
    has_finished_ = true;
    finished_.push_back(std::move(request));
    if (size_ > 0 && actions_[size_ - 1].kind == Action::Kind::kComplete) {
      ++actions_[size_ - 1].count;
    } else {
      add(Action::Kind::kComplete, finished_.size() - 1, 1);
    }
  }

  // At most one receive is completed by a step.
  void complete_receive(FinishedReceive&& receive) {
    CHECK(!has_received_);
    new (&received_) FinishedReceive(std::move(receive));
    has_received_ = true;
    next(Action::Kind::kCompleteReceive);
  }
  // Trail of the request packet that the step answers. It outlives the execution of the actions.
  void set_cause(const Trail& trail) { cause_ = &trail; }

  // A copy of that trail; empty if the step answers no request.
  Trail cause() const { return cause_ != nullptr ? *cause_ : Trail(); }
  // Data of kComplete, and of kCompleteReceive. Call only if there is such an action.
  FinishedRequests& finished() { return finished_; }
  const FinishedReceive& received() const { return received_; }

  const Action* begin() const { return actions_; }
  const Action* end() const { return actions_ + size_; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const Action& operator[](std::size_t index) const { return actions_[index]; }

 private:
  Action& next(Action::Kind kind) {
    CHECK(size_ < kCapacity);
    Action& action = *new (&actions_[size_++]) Action;
    action.kind = kind;
    return action;
  }

  // Out of line (actions.cc): most steps own no data.
  void destroy_owned();
  void take(Actions&& other);

  static_assert(std::is_trivially_copyable_v<Action> && std::is_trivially_destructible_v<Action>);
  union {
    Action actions_[kCapacity];
  };
  std::size_t size_ = 0;
  const Trail* cause_ = nullptr;
  bool has_finished_ = false, has_received_ = false;
  union {
    FinishedRequests finished_;
  };
  union {
    FinishedReceive received_;
  };
};

}  // namespace verbatim::hca
