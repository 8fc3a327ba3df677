// One thread of a simulated program: its state, its current call, and the time and cause of its next event.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/supervisor/spec/credentials.h"
#include "sim/supervisor/spec/thread_wait.h"
#include "sim/supervisor/spin/registers.h"
#include "sim/supervisor/tasks/brought_lines.h"
#include "sim/supervisor/tasks/call_wait.h"
#include "sim/supervisor/tasks/current_call.h"
#include "sim/supervisor/tasks/early_records.h"
#include "sim/supervisor/tasks/empty_calls.h"
#include "sim/supervisor/tasks/request.h"
#include "sim/supervisor/tasks/signal_queue.h"
#include "sim/supervisor/tasks/slice_doorbells.h"
#include "sim/supervisor/tasks/spin_poke.h"
#include "sim/supervisor/tasks/thread_delays.h"
#include "sim/supervisor/tasks/thread_parking.h"
#include "sim/supervisor/tasks/thread_signals.h"
#include "sim/supervisor/files/virtual_file.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

// Answer to a request.
struct Answer {
  std::int64_t result = 0;
  protocol::Action action = protocol::Action::kReturn;
  std::int64_t arguments[2] = {0, 0};
  // Calls whose results the thread knows until its horizon, see ThreadSlot::repeats.
  std::uint32_t repeats = 0;
};

// Attributes inherited from the creating thread, without effect here (sched(7), ioprio_get(2)).
struct Scheduling {
  int policy = 0;  // SCHED_OTHER
  int priority = 0;
  int nice = 0;
  int disk_priority = 4;  // of class none
  int memory_policy = 0;  // MPOL_DEFAULT
  std::uint64_t memory_nodes = 0;
};

// The Linux thread of a simulated one.
struct NativeThread {
  pid_t tid = 0;          // determined once by the supervisor itself; 0: the thread is about to be created
  bool is_batch = false;  // scheduling class SCHED_BATCH, invisible to the program
};

class Thread;

// Runs the threads of a process.
class ThreadOwner {
 public:
  // The thread's time has come: its request is processed, or it continues.
  virtual void on_due(Thread& thread) = 0;
  // A doorbell of the thread's last slice is due.
  virtual void ring(Thread& thread, const protocol::QueuedDoorbell& doorbell) = 0;

 protected:
  ~ThreadOwner() = default;
};

class Thread final : public Waiter {
 public:
  enum class State : std::uint8_t { kPending, kBlocked, kParked, kDead };

  // `source` is the thread's place in the event order: ties between threads must not depend on the order of
  // scheduling. The process's ThreadOwner is called when the thread's time has come.
  Thread(Engine& engine, Choices& choices, ComponentId source, Process& process, std::uint32_t slot,
         std::uint32_t tid, const protocol::CallCosts& costs);
  ~Thread();

  Process& process() { return process_; }
  // The component that makes the thread's choices.
  ComponentId source() const { return source_; }
  std::uint32_t slot() const { return slot_; }
  std::uint32_t tid() const { return tid_; }
  State state() const { return state_; }
  CurrentCall& call() { return call_; }
  const CurrentCall& call() const { return call_; }
  // The current request. It is kept until the thread returns the token again.
  const request::Timed& request() const { return request_; }
  void set_request(const request::Timed& request) { request_ = request; }
  template <class Request>
  bool requests() const {
    return std::holds_alternative<Request>(request_);
  }

  NativeThread native;
  CallWait wait;
  ThreadParking parking;
  SliceDoorbells doorbells;
  BroughtLines brought_lines;
  ThreadDelays delays;
  EarlyRecords early_records;
  EmptyCalls empty_calls;
  SpinPoke poke;
  ThreadSignals signals;
  Scheduling scheduling;
  Credentials credentials;  // per thread, as in Linux; libc keeps those of a process equal
  // A series of clock reads that is interpreted instead of executed. One read is pending.
  struct ClockRow {
    spin::Registers at_entry;
    Instant began{};
    unsigned followed = 0;
  };
  std::optional<ClockRow> clock_row;
  // Address of the word that is cleared at the thread's end (set_tid_address(2)); 0: none.
  std::uint64_t clear_tid = 0;

  // Processes the thread's request, or retries it, at `when`.
  void run_at(Instant when) {
    state_ = State::kPending;
    timer_.reschedule_at(when);
  }

  // Its host stalls until `when`: what is due now happens then.
  void postpone(Instant when);

  // Time of the next processing of its request or of its next doorbell; kNever: neither is scheduled.
  Instant next_event_time() const { return std::min(timer_.scheduled() ? timer_.when() : kNever, doorbells.next()); }

  // Writes the credentials to the slot: for the sender fields of signals, and for access to files by name.
  void publish_credentials();

  // Parks the thread, see parking.h; its parked time is added to `*total`. unpark() resumes it.
  void park(Parked parked, Duration* total);
  void unpark();
  // The turns for which the thread was parked have ended: it resumes, or is parked again (ParkingLot::park_poll).
  void end_turns();

  // The call waits for one of `files`, at most until `deadline`. `what` completes "waits in …".
  void block(std::vector<VirtualFilePtr> files, Instant deadline, std::string what);
  // An event that the thread waits for may have happened, such as a change of one of the files. A parked
  // thread resumes. A blocked call is retried after the wake-up latency, plus the event latency if an adapter
  // caused the wake-up. Later wake-ups and the deadline do not change that time.
  void wake(bool by_adapter_event = false) override;
  // Whether the current call, which is not yet executed, is no sleep and repeats a call of `empty_calls`, a
  // series of calls that found nothing. Repeated polls are never delayed.
  bool is_repeated_poll() const;
  // Removes the thread from all waiting lists, before the call is retried.
  void stop_waiting();
  void die();

  // Queues a signal. A blocked call is tried once more and then interrupted.
  void interrupt(const QueuedSignal& signal);
  // Queues a masked signal: Linux keeps it until it is unmasked, and it interrupts no call.
  void add_masked(const QueuedSignal& signal);
  // The process is stopped (SIGSTOP). go_on(), after SIGCONT, makes the thread due at `when`: it then gets
  // `answer`, or its request is processed.
  void hold(std::optional<Answer> answer);
  void go_on(Instant when);
  std::optional<Answer> take_held_answer() { return std::exchange(held_.answer, std::nullopt); }

  // The current call is answered.
  void finish_call() {
    if (wait.is_retried() && on_wait_ != nullptr) [[unlikely]] report_wait();
    wait.finish();
    call_.finish();
    signals.finish_call();
  }

  // Reports every wait of the thread to `on_wait` when it ends.
  void report_waits_to(const std::function<void(const ThreadWait&)>& on_wait) { on_wait_ = &on_wait; }
  // Reports the current wait, if there is one, before it ends.
  void report_wait() const;

 private:
  Engine& engine_;
  Process& process_;
  std::uint32_t slot_;
  std::uint32_t tid_;
  ComponentId source_;
  Timer timer_;
  State state_ = State::kPending;
  CurrentCall call_;
  request::Timed request_;
  struct Held {
    bool is_held = false;
    std::optional<Answer> answer;
  };
  Held held_;
  const std::function<void(const ThreadWait&)>* on_wait_ = nullptr;
};

}  // namespace verbatim::supervisor
