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

namespace verbatim::hca {

struct Action {
  enum class Kind : std::uint8_t {
    // Of work requests.
    kFetch,       // `count` entries of the send queue, from `number` on
    kTakePushed,  // entry `number` has come with its doorbell
    kFetchMore,   // as far as there is room when this is executed
    kComplete,    // the next `count` of Requester::take_finished()
    // Of packets.
    kActivate,      // there may be one to send
    kRelease,       // the input buffer space of that which is being dealt with
    kDropStale,     // it is ignored
    kEndMessage,    // all of a message has come: nothing of it is held back any longer
    // Timers. To arm one that runs starts it anew.
    kArmAckTimer,  // for one to four times `duration` (IBA 9.7.6.1.3)
    kCancelAckTimer,
    kArmRnrTimer,  // for `duration` at the least (IBA 9.7.5.2.8)
    kCancelRnrTimer,
    // Of the queue pair.
    kRecord,          // `event`, with the number of the queue pair and `values`
    kCheckDrained,    // in SQD: nothing that was begun may be outstanding now
    kEnterError,      // of the connection
    kEnterSendError,  // unreliable: it cannot send until it is told to
    kFailFatally,     // the program wrote nonsense
  };

  Kind kind;
  TraceEvent event;
  std::uint32_t number;
  std::uint32_t count;
  Duration duration;
  std::array<std::uint32_t, 3> values;

  friend bool operator==(const Action&, const Action&) = default;
};

// Of one step. No step gives more than there is room for: what may be any number of times is told with a count.
class Actions {
 public:
  static constexpr std::size_t kCapacity = 16;

  Actions() {}  // elements are written before they are read

  void add(Action::Kind kind) { next() = {kind, {}, 0, 0, {}, {}}; }
  void add(Action::Kind kind, std::uint32_t number, std::uint32_t count) { next() = {kind, {}, number, count, {}, {}}; }
  void add(Action::Kind kind, Duration duration) { next() = {kind, {}, 0, 0, duration, {}}; }
  void record(TraceEvent event, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    next() = {Action::Kind::kRecord, event, 0, 0, {}, {a, b, c}};
  }
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
  Action& next() {
    CHECK(size_ < kCapacity);
    return actions_[size_++];
  }

  std::array<Action, kCapacity> actions_;
  std::size_t size_ = 0;
};

}  // namespace verbatim::hca
