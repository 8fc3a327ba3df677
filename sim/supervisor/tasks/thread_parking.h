// The parked state of one thread (parking.h): the loop in which it is parked, and the turn in which it resumes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "sim/core/engine.h"

namespace verbatim::supervisor {

struct Parked;
class Process;

class ThreadParking {
 public:
  // The turn in which the thread was unparked. The thread is still at the turn's first poll. All polls before
  // the one that is due find nothing.
  struct Turn {
    Instant start;       // look of the first poll
    Instant due;         // look of the poll that is due
    std::int64_t looks;  // looks since the thread was parked
    std::shared_ptr<const Parked> parked;
  };

  // `timer`: the thread's, which fires at the last of a limited number of turns.
  ThreadParking(const Engine& engine, const Timer& timer, Process& process, std::uint32_t slot);
  ~ThreadParking();

  // The loop in which the thread is parked; nullptr: it is not parked.
  const Parked* loop() const { return loop_.get(); }

  // The thread is parked, see Thread::park(); its parked time is added to `*total`.
  void begin(Parked loop, Duration* total);
  // The parked thread resumes: writes the effects of all skipped turns, and returns the time of its next look.
  Instant end();
  // As end(), when the turns for which the loop is proven have passed.
  Instant end_turns();
  // The thread has died.
  void cancel();

  // While parked: writes to memory the values that all skipped turns until now would have written.
  void show_growth();
  // While parked: the process's memory was written; watched bytes were changed by a write to another address.
  void note_write(std::uint64_t address, std::uint64_t length);
  void note_write_elsewhere();

  // True from end() until the thread's next look at a completion queue.
  bool is_unparked() const { return is_unparked_; }
  bool take_unparked() { return std::exchange(is_unparked_, false); }
  // True once after end_turns(), if no program of the host has run since the thread was parked: it is at the first poll
  // of a turn, in the predicted state. False for loops that read clocks.
  bool take_own_end();
  // The turn that the thread must complete; nullopt: it resumes at the beginning of a turn.
  std::optional<Turn> take_turn() { return std::exchange(turn_, std::nullopt); }

 private:
  std::int64_t looks() const;
  void count_time();

  const Engine& engine_;
  const Timer& timer_;
  Process& process_;
  const std::uint32_t slot_;
  std::shared_ptr<Parked> loop_;
  Duration* total_ = nullptr;
  bool is_unparked_ = false;
  std::optional<std::uint64_t> own_end_;  // ProcessMemory::epoch() at the end, if take_own_end() may return true
  std::optional<Turn> turn_;
};

}  // namespace verbatim::supervisor
