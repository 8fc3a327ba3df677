// Parking of threads that wait by running (tasks/parking.h): when a thread is parked, which writes wake it,
// and how it resumes within a turn that was skipped. Knows threads and their memory, and neither the token
// nor Linux processes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/machine/process_memory.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/run_context.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/request.h"

namespace verbatim::supervisor {

class Checks;
class ThreadTimes;

class ParkingLot {
 public:
  ParkingLot(const RunContext& run, const ProcessList& processes, ThreadTimes& times, Checks& checks)
      : run_(run), processes_(processes), times_(times), checks_(checks) {}

  // Created at the first call for a process.
  LoopAnalyst& analyst_of(Process& process);

  // A thread of the process is about to get the token. Loops in which other processes were found to wait trap in
  // this one.
  void begin_slice(Process& process);

  // The thread was poked, or its loop trapped. If only an outside change can end its loop, returns the state
  // in which to park the thread, without `since`. nullopt: it computes.
  std::optional<Parked> find_spin(Thread& thread, const request::Poke& poke);
  // Parks a thread that find_spin() has found; `since`: its clock.
  void park_spin(Thread& thread, const request::Poke& poke, Parked parked, Instant since);
  // The thread's poll is due. If it finds nothing and the program will only poll again, the turns in between
  // are skipped: returns nullopt, and the thread is parked. Otherwise returns the answer to the poll, which
  // also asks for the next poll where a proof needs to see it.
  std::optional<Answer> park_poll(Thread& thread, const request::Poll& poll);

  // A thread of this process has run: unparks threads of the host whose watched bytes have changed.
  void check_watched(const Process& ran);
  // Memory of the process was written: unparks its threads that watch a byte which has changed, and those of
  // other processes of the host that share it.
  void on_memory_written(Process& process, const ProcessMemory::Written& written);

  // An unparked thread that is to execute the rest of a skipped turn, in the past.
  struct TurnStart {
    Answer answer;
    // True: the thread may continue beyond the turn, up to its horizon. False: it returns the token at the
    // poll that is due, and signals wait until then.
    bool goes_on = false;
  };
  // Memory that has changed since the turn and that its rest reads shows its former content until end_turn().
  TurnStart start_turn(Thread& thread, const ThreadParking::Turn& turn);
  // Restores the present content of memory.
  void end_turn(Process& process) {
    if (!changed_in_turn_.empty()) [[unlikely]]
      restore_present(process);
  }
  // The process was stopped in its turn: the former content belongs to no other process.
  void forget_turn() { changed_in_turn_.clear(); }

 private:
  void park(Thread& thread, Parked parked);
  void check_reads_beside(Thread& thread, const ProcessMemory::Written& written);
  static void check_shared(Process& process);
  bool may_be_elsewhere(const ProcessMemory& memory, std::uint64_t address, std::uint64_t length);
  static bool watched_bytes_changed(Thread& thread);
  // Unparks parked threads whose skipped turns would change what `thread` is about to watch; their turns are
  // executed instead. Values that change from turn to turn are private to the process.
  static bool wake_who_changes(Thread& thread, std::span<const spin::ByteRun> watched);
  // Whether a parked thread watches a byte that the turns of `parked` change.
  static bool is_watched(Thread& thread, const Parked& parked);
  // Whether the completion queue entry of the poll is visible.
  bool shows_something(Process& process, const SeenPoll& poll) const;
  bool restore_turn_start_memory(Thread& thread, const ThreadParking::Turn& turn);
  void restore_present(Process& process);

  const RunContext& run_;
  const ProcessList& processes_;
  ThreadTimes& times_;
  Checks& checks_;
  KnownLoops loops_;
  // Pages that were found private since a program has run.
  struct PrivatePages {
    const ProcessMemory* of = nullptr;
    std::uint64_t first = 0, end = 0;
  };
  PrivatePages private_pages_;
  // Present content of memory that shows its former content to a thread that finishes a turn.
  std::vector<spin::ByteRun> changed_in_turn_;
};

// Why the process's last analysis failed, for a message; "": none has.
std::string why_not_parked(Process& process);

}  // namespace verbatim::supervisor
