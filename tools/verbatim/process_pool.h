// Child processes in slots, each slot with a processor: how many there are at a time, the wait for them, and
// how they end when the user interrupts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/interruption.h"
#include "sim/supervisor/machine/waiting.h"

namespace verbatim::cli {

class ProcessPool {
 public:
  // `jobs`: number of slots, 0: one for each processor that may be used. `core`: the only processor,
  // negative: all that this process is allowed.
  ProcessPool(int jobs, int core);
  ~ProcessPool() { abandon(); }
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  std::size_t slots() const { return slots_.size(); }
  // A slot whose process is not busy, or that has none; nullopt: all are busy.
  std::optional<std::size_t> free_slot() const;
  bool any_busy() const;

  // Processor of the slot; negative: any.
  int core_of(std::size_t slot) const { return cores_.empty() ? -1 : cores_[slot % cores_.size()]; }
  // The slot's process; negative: it has none.
  pid_t process(std::size_t slot) const { return slots_[slot].process; }
  void put(std::size_t slot, pid_t process) { slots_[slot] = {process, false}; }
  bool is_busy(std::size_t slot) const { return slots_[slot].is_busy; }
  // Busy processes alone are asked to end when the user interrupts.
  void set_busy(std::size_t slot, bool is_busy) { slots_[slot].is_busy = is_busy; }

  // Waits until a process has ended, one of `descriptors` is readable, the user interrupts, or `wall_ms` have
  // passed (negative: no limit). Returns the readable descriptors. Asks busy processes to end, or kills them,
  // after an interruption.
  std::vector<int> wait(std::span<const int> descriptors, int wall_ms);
  struct Ended {
    std::size_t slot = 0;
    int status = 0;  // as in waitpid(2)
  };
  // Processes that have ended, by slot. Their slots are free.
  std::vector<Ended> reap();
  // Waits for the end of the slot's process, which is about to end; returns its status. The slot is free.
  int await_end(std::size_t slot);

  // SIGINT, SIGTERM or SIGHUP has arrived.
  static bool is_interrupted() { return Interruption::came(); }
  // Ends all processes, and returns when none is left. Those that are not busy must end by themselves.
  void abandon();

 private:
  struct Slot {
    pid_t process = -1;
    bool is_busy = false;
  };
  enum class Step : std::uint8_t { kNone, kAsked, kKilled };

  // Signal that busy processes get now; 0: none. Processes are asked to end, and are killed if they have not
  // ended supervisor::kKillAfterMs later, or at a second interruption.
  int next_signal();
  int wait_ms(int wall_ms) const;
  void signal(int signal, bool all) const;

  const std::vector<int> cores_;
  std::vector<Slot> slots_;
  supervisor::Waiting waiting_;
  std::chrono::steady_clock::time_point kill_at_{};
  int interruptions_seen_ = 0;
  Step step_ = Step::kNone;
  bool is_abandoned_ = false;
};

}  // namespace verbatim::cli
