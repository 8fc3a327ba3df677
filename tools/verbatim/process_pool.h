// Child processes in a fixed number of slots, each with a processor. Waits for them, and ends them when the
// user interrupts.
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
  // `jobs`: number of slots, 0: one for each allowed processor. `core`: the only processor,
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
  // When the user interrupts, only busy processes are asked to end.
  void set_busy(std::size_t slot, bool is_busy) { slots_[slot].is_busy = is_busy; }

  // Waits until a process has ended, one of `descriptors` is readable, the user interrupts, or `wall_ms` have
  // passed (negative: no limit). Returns the readable descriptors. Asks busy processes to end, or kills them,
  // after an interruption.
  std::vector<int> wait(std::span<const int> descriptors, int wall_ms);
  struct Ended {
    std::size_t slot = 0;
    int status = 0;  // as in waitpid(2)
  };
  // Returns processes that have ended, and frees their slots.
  std::vector<Ended> reap();
  // Waits for the slot's process, which must be about to end, and frees the slot. Returns the status; 0
  // without a process.
  int await_end(std::size_t slot);

  // Whether SIGINT, SIGTERM or SIGHUP has arrived.
  static bool is_interrupted() { return Interruption::came(); }
  // Ends all processes, and returns when none is left. Idle processes must exit by themselves before
  // supervisor::kKillAfterMs have passed; then they are killed as well.
  void abandon();

 private:
  struct Slot {
    pid_t process = -1;
    bool is_busy = false;
  };
  enum class Step : std::uint8_t { kNone, kAsked, kKilled };

  // The signal to send; 0: none. Processes are asked to end, and are killed if they have not
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
