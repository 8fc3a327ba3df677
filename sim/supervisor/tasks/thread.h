// One thread of a simulated program: its state, its current call, and the time and cause of its next event.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/supervisor/spec/credentials.h"
#include "sim/supervisor/spec/thread_wait.h"
#include "sim/supervisor/spin/registers.h"
#include "sim/supervisor/tasks/argument_copies.h"
#include "sim/supervisor/tasks/brought_lines.h"
#include "sim/supervisor/tasks/early_records.h"
#include "sim/supervisor/tasks/empty_calls.h"
#include "sim/supervisor/tasks/pending_call.h"
#include "sim/supervisor/tasks/request.h"
#include "sim/supervisor/tasks/signal_queue.h"
#include "sim/supervisor/tasks/spin_poke.h"
#include "sim/supervisor/tasks/thread_delays.h"
#include "sim/supervisor/tasks/thread_signals.h"
#include "sim/supervisor/files/virtual_file.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

struct Parked;
class Process;

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
  ComponentId source() const { return source_; }
  std::uint32_t slot() const { return slot_; }
  std::uint32_t tid() const { return tid_; }
  // Native id, determined once by the supervisor itself; 0: the thread is about to be created.
  pid_t native_tid() const { return native_tid_; }
  void set_native_tid(pid_t tid) { native_tid_ = tid; }
  bool is_batch = false;  // native scheduling class SCHED_BATCH, invisible to the program
  State state() const { return state_; }
  PendingCall& call() { return call_; }
  // The current request. It is kept until the thread returns the token again.
  const request::Timed& request() const { return request_; }
  void set_request(const request::Timed& request) { request_ = request; }
  template <class Request>
  bool requests() const {
    return std::holds_alternative<Request>(request_);
  }

  BroughtLines brought_lines;
  ThreadDelays delays;
  EarlyRecords early_records;
  EmptyCalls empty_calls;
  SpinPoke poke;
  ThreadSignals signals;
  Scheduling scheduling;
  Credentials credentials;  // per thread, as in Linux; libc keeps those of a process equal

  // Address of the word that is cleared at the thread's end (set_tid_address(2)); 0: none.
  std::uint64_t clear_tid() const { return clear_tid_; }
  void set_clear_tid(std::uint64_t address) { clear_tid_ = address; }

  // Processes the thread's request, or retries it, at `when`.
  void run_at(Instant when) {
    state_ = State::kPending;
    timer_.reschedule_at(when);
  }

  // Its host stalls until `when`: what is due now happens then.
  void postpone(Instant when);

  // Time of the next processing of its request or of its next doorbell; kNever: neither is scheduled.
  Instant next_event_time() const {
    return std::min(timer_.scheduled() ? timer_.when() : kNever,
                    doorbell_timer_.scheduled() ? doorbell_timer_.when() : kNever);
  }

  // Rings the doorbells of the last slice at their own times, through the process's ThreadOwner.
  void queue_doorbells(std::span<const protocol::QueuedDoorbell> doorbells);

  // Writes the credentials to the slot: for the sender fields of signals, and for access to files by name.
  void publish_credentials();

  // Parks the thread, see parking.h; its parked time is added to `*total`. unpark() resumes it.
  void park(Parked parked, Duration* total);
  void unpark();
  // True from unpark() until the thread's next look at a completion queue.
  bool is_unparked() const { return unparked_; }
  bool take_unparked() { return std::exchange(unparked_, false); }
  // While parked: writes to memory the values that all skipped turns until now would have written.
  void show_growth();
  const Parked* parked() const { return parked_.get(); }
  // While parked: the process's memory was written; watched bytes were changed by a write to another address.
  void note_write(std::uint64_t address, std::uint64_t length);
  void note_write_elsewhere();
  void count_parked_time();
  // The turn in which the thread was unparked. The thread is still at the turn's first poll. All polls before
  // the one that is due find nothing.
  struct Turn {
    Instant start;  // look of the first poll
    Instant due;    // look of the poll that is due
    std::int64_t looks;  // looks since the thread was parked
    std::shared_ptr<const Parked> parked;
  };
  std::optional<Turn> take_turn() { return std::exchange(turn_, std::nullopt); }

  // The call waits for one of `files`, at most until `deadline`. `what` completes "waits in …".
  void block(std::vector<VirtualFilePtr> files, Instant deadline, std::string what);
  // An event that the thread waits for may have happened, such as a change of one of the files. A parked
  // thread resumes. A blocked call is retried after the wake-up latency, plus the event latency if an adapter
  // caused the wake-up. Later wake-ups and the deadline do not change that time.
  void wake(bool by_adapter_event = false) override;
  // The component that makes the thread's choices.
  ComponentId component() const { return source_; }
  // Whether the current call, which is not yet executed, is no sleep and repeats a call of `empty_calls`, a
  // series of calls that found nothing. Repeated polls are never delayed.
  bool is_repeated_poll() const;
  // Time of the current call: now, or earlier while a turn that was skipped is completed.
  Instant called_at() const { return called_at_; }
  void set_called_at(Instant when) { called_at_ = when; }
  // Removes the thread from all waiting lists, before the call is retried.
  void stop_waiting();
  void die();

  // Queues a signal. A blocked call is tried once more and then interrupted.
  void interrupt(const QueuedSignal& signal);
  // Queues a masked signal: Linux keeps it until it is unmasked, and it interrupts no call.
  void add_masked(const QueuedSignal& signal);
  // A series of clock reads that is interpreted instead of executed. One read is pending.
  struct ClockRow {
    spin::Registers at_entry;
    Instant began{};
    unsigned followed = 0;
  };
  std::optional<ClockRow> clock_row;
  // The process is stopped (SIGSTOP). go_on(), after SIGCONT, makes the thread due at `when`: it then gets
  // `answer`, or its request is processed.
  void hold(std::optional<Answer> answer);
  void go_on(Instant when);
  std::optional<Answer> take_held_answer() { return std::exchange(held_answer_, std::nullopt); }

  // Virtual pid of the child that the thread is about to create; 0: none.
  std::uint32_t copy_pid() const { return copy_pid_; }
  void set_copy_pid(std::uint32_t pid) { copy_pid_ = pid; }
  // A FIFO that the thread waits to open, kept until the call is answered.
  struct PendingOpen {
    VirtualFilePtr end;          // nullptr: none
    std::uint64_t partners = 0;  // number of partners when the wait began
  };
  PendingOpen pending_open;

  // State of a retried call, kept until it is answered.
  bool retried() const { return wait_.is_retried; }
  ArgumentCopies& arguments() { return arguments_; }
  Instant deadline() const { return wait_.deadline; }
  void finish_call() {
    if (wait_.is_retried && on_wait_ != nullptr) [[unlikely]] report_wait();
    wait_.is_retried = false;
    pending_open = {};
    arguments_.forget();
    signals.awaited = 0;
    call_.transferred = 0;
  }

  const std::string& waits_for() const { return wait_.what; }
  Instant blocked_since() const { return wait_.since; }
  const std::vector<VirtualFilePtr>& waiting_on() const { return wait_.files; }
  // Reports every wait of the thread to `on_wait` when it ends.
  void report_waits_to(const std::function<void(const ThreadWait&)>& on_wait) { on_wait_ = &on_wait; }
  // Reports the current wait, if there is one, before it ends.
  void report_wait() const;

 private:
  void on_doorbell();
  std::int64_t looks_of_parked() const;
  Engine& engine_;
  Instant called_at_{};
  Process& process_;
  std::uint32_t slot_;
  std::uint32_t tid_;
  pid_t native_tid_ = 0;
  Duration wake_up_, event_wake_up_;
  ComponentId source_;
  Timer timer_;
  Timer doorbell_timer_ = Timer::of<&Thread::on_doorbell>(engine_, source_, EventClass::kProgram, this);
  std::deque<protocol::QueuedDoorbell> doorbells_;
  State state_ = State::kPending;
  PendingCall call_;
  request::Timed request_;
  std::uint64_t clear_tid_ = 0;
  bool held_ = false;
  std::optional<Answer> held_answer_;
  std::unique_ptr<Parked> parked_;
  Duration* parked_total_ = nullptr;
  bool unparked_ = false;
  std::optional<Turn> turn_;
  const std::function<void(const ThreadWait&)>* on_wait_ = nullptr;
  // The wait of the current call, or of the parked thread.
  struct Wait {
    std::vector<VirtualFilePtr> files;
    std::string what;
    Instant since{};
    Instant deadline = kNever;
    Duration late{};         // delay after the wait
    bool is_woken = false;   // since the thread blocked
    bool is_retried = false; // the call has blocked before
  };
  Wait wait_;
  ArgumentCopies arguments_;
  std::uint32_t copy_pid_ = 0;
};

}  // namespace verbatim::supervisor
