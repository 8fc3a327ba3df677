// One thread of a simulated program: its state, its current call, and the time and cause of its next event.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/supervisor/spec/credentials.h"
#include "sim/supervisor/spec/thread_wait.h"
#include "sim/supervisor/spin/registers.h"
#include "sim/supervisor/tasks/argument_copies.h"
#include "sim/supervisor/tasks/brought_lines.h"
#include "sim/supervisor/tasks/request.h"
#include "sim/supervisor/tasks/signal_queue.h"
#include "sim/supervisor/files/virtual_file.h"
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor {

struct Parked;
class Process;

// Delays of a thread: an interrupt or a hand-over, 0.2 us to 0.1 ms; rarely a preemption or a page fault that waits
// for a disk, up to 51 ms.
inline constexpr std::uint32_t kRareDelayOctaves = 9, kDelayOctaves = 9 + kRareDelayOctaves;
inline constexpr DelaySite kBeforeCall{"thread-before-call", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
inline constexpr DelaySite kBeforeLocalCall{"thread-before-local-call", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
inline constexpr DelaySite kBeforePost{"thread-before-post", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
inline constexpr DelaySite kBeforeArm{"thread-before-arm", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
inline constexpr DelaySite kBeforeAccess{"thread-before-access", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
// The thread executes loads that follow a store before the store is visible.
inline constexpr std::string_view kStoreBuffer = "thread-before-access/store-buffer";
inline constexpr DelaySite kAfterWait{"thread-after-wait", Duration(200'000), kDelayOctaves, kRareDelayOctaves};

// A request as copied from shared memory when the thread returned the token, for system calls and commands.
// Shared memory is not read again. Other requests are decoded (request.h).
struct PendingCall {
  std::uint32_t number = 0;
  std::int64_t arguments[6] = {};
  std::uint64_t transferred = 0;  // bytes moved by earlier tries: a blocking write or recv of everything
};

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
  Scheduling scheduling;
  Credentials credentials;  // per thread, as in Linux; libc keeps those of a process equal

  // Address of the word that is cleared at the thread's end; 0: none.
  std::uint64_t clear_tid() const { return clear_tid_; }
  void set_clear_tid(std::uint64_t address) { clear_tid_ = address; }

  // Processes the thread's request, or retries it, at `when`.
  void run_at(Instant when) {
    state_ = State::kPending;
    timer_.reschedule_at(when);
  }

  // Time of the next processing of its request or of its next doorbell; kNever: neither is scheduled.
  Instant next_event_time() const {
    return std::min(timer_.scheduled() ? timer_.when() : kNever,
                    doorbell_timer_.scheduled() ? doorbell_timer_.when() : kNever);
  }

  // Rings the doorbells of the last slice at their own times, through the process's ThreadOwner.
  void queue_doorbells(std::span<const protocol::QueuedDoorbell> doorbells);

  // Emits records of work done ahead of time: calls `emit` at `when`. `when` must not decrease.
  void emit_at(Instant when, std::function<void()> emit);
  // Emits the records due by now, before the records of the thread's next action at this time.
  void emit_due();

  // Writes the credentials to the slot: for the sender fields of signals, and for access to files by name.
  void publish_credentials();

  // Parks the thread, see parking.h; its parked time is added to `*total`. unpark() resumes it.
  void park(Parked parked, Duration* total);
  void unpark();
  // True from unpark() until the thread's next look at a completion queue.
  bool is_unparked() const { return unparked_; }
  bool take_unparked() { return std::exchange(unparked_, false); }
  // While parked: writes the effects of all turns until now to memory.
  void show_growth();
  const Parked* parked() const { return parked_.get(); }
  // While parked: the process's memory was written.
  void note_write(std::uint64_t address, std::uint64_t length);
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

  // The thread was found spinning. It probably spins again in the next slices and pokes itself in them.
  void spin_found() { spin_expected_ = kSlicesAfterSpin; }
  void start_slice(std::int64_t poke_period_us) {
    poke_after_us_ = spin_expected_ > 0 ? static_cast<std::uint32_t>(poke_period_us) : 0;
    if (spin_expected_ > 0) --spin_expected_;
  }
  // The poke found no loop. The interval doubles, which limits the disturbance of a long computation.
  void spin_not_found() { poke_after_us_ = std::min(poke_after_us_ * 2, kLongestPokeUs); }
  // Real time after which the thread pokes itself, in microseconds; 0: never.
  std::uint32_t poke_after_us() const { return poke_after_us_; }

  // The call waits for one of `files`, at most until `deadline`. `what` completes "waits in …".
  void block(std::vector<VirtualFilePtr> files, Instant deadline, std::string what);
  // An event that the thread waits for may have happened, such as a change of one of the files. A parked
  // thread resumes. A blocked call is retried after the wake-up latency, plus the event latency if an adapter
  // caused the wake-up. Later wake-ups and the deadline do not change that time.
  void wake(bool by_adapter_event = false) override;
  // Delay of the thread before a call or after a wait, chosen at `site`. It models the freedom of a
  // scheduler.
  Duration scheduling_delay(const DelaySite& site);
  // The choice that caused the last delay, for reports. Cleared by take_late().
  struct Late {
    std::string_view site;
    std::uint64_t occurrence = 0;
  };
  std::optional<Late> take_late() { return std::exchange(was_late_, std::nullopt); }
  bool may_be_late() const { return choices_.is_free(); }
  // The component that makes the thread's choices.
  ComponentId component() const { return source_; }
  // Draws ahead the delays of calls that the thread answers itself, and of memory accesses
  // (protocol/accesses.h). They are identified by their number among those of their kind. The slot gets the
  // number of the next delayed one of each kind; only that one is handed over.
  void expect_lateness(protocol::ThreadSlot& slot);
  // Delay of the call, or access, that the thread has handed over.
  Duration take_late_call(protocol::ThreadSlot& slot, protocol::OwnCall kind) {
    const auto i = static_cast<std::size_t>(kind);
    return take_lateness(own_calls_[i], slot.calls_until_late[i]);
  }
  // `loads` returns the number of loads that can precede the store which the thread is about to make, if that
  // store may wait in the store buffer. It is called only when the number is needed.
  Duration take_late_access(protocol::ThreadSlot& slot, const std::function<std::size_t()>& loads);
  // Number of these loads that precede the store. 0: the store does not wait.
  std::uint32_t loads_before_store() const { return loads_before_store_; }
  // The current call is answered. `is_empty`: it found nothing and changed nothing. Returns true if one of the
  // last few different calls of the current series of calls that found nothing was the same.
  bool repeats_empty_call(bool is_empty);
  // True if the current call, not yet made, repeats one of these calls and is no sleep. It is a repeated poll
  // and is never delayed.
  bool is_repeated_poll() const;
  // A call that found nothing, with its result, and its sleep, which is the only cost beyond that of any
  // call.
  struct EmptyCall {
    PendingCall call;
    std::int64_t result = 0;
    Duration slept{};
    std::vector<std::uint8_t> memory;  // that it read, see protocol::memory_of_call
    std::vector<std::weak_ptr<VirtualFile>> files;
    std::vector<std::uint64_t> generations;
    bool repeats = false;  // the result stays the same as long as the files do not change
  };
  // Stores the result of the current call. Returns the places of the calls whose results still hold, and its
  // own place, in the format of ThreadSlot::repeats.
  std::uint32_t keep_empty_call(std::int64_t result, Duration slept, std::vector<std::uint8_t> memory,
                             const std::vector<VirtualFilePtr>& files);
  // The calls at `places` whose results still hold, by place; nullptr for the others.
  using KnownCalls = std::array<const EmptyCall*, protocol::kMostKnownCalls>;
  KnownCalls still_empty(std::uint32_t places) const;
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
  // Signals for the thread's next token, and signals that the thread masks.
  SignalQueue& signals() { return signals_; }
  SignalQueue& masked() { return masked_; }
  // Masked signals that nevertheless interrupt the current call, until it is answered.
  void await_signals(std::uint64_t set);
  bool awaits(int signal) const { return (awaited_ >> (signal - 1) & 1) != 0; }
  // A series of clock reads that is interpreted instead of executed. One read is pending.
  struct ClockRow {
    spin::Registers at_entry;
    Instant began{};
    unsigned followed = 0;
  };
  std::optional<ClockRow> clock_row;
  bool has_signal() const { return !signals_.empty(); }
  int next_signal() const { return signals_.front().signal; }

  // The process is stopped. When it is continued, the thread gets `answer` as the result of its call; without
  // `answer` its request is processed.
  void hold(std::optional<Answer> answer);
  void go_on(Instant when);
  std::optional<Answer> take_held_answer() { return std::exchange(held_answer_, std::nullopt); }

  // Virtual pid of the child that the thread is about to create; 0: none.
  std::uint32_t copy_pid() const { return copy_pid_; }
  void set_copy_pid(std::uint32_t pid) { copy_pid_ = pid; }
  // The end of a FIFO that the thread waits to open, and the number of partners at that time.
  const VirtualFilePtr& opening() const { return opening_; }
  void set_opening(VirtualFilePtr file, std::uint64_t partners) {
    opening_ = std::move(file);
    partners_ = partners;
  }
  bool opening_met(std::uint64_t partners) const { return partners != partners_; }

  // State of a retried call, kept until it is answered.
  bool retried() const { return retried_; }
  ArgumentCopies& arguments() { return arguments_; }
  Instant deadline() const { return deadline_; }
  void finish_call() {
    if (retried_ && on_wait_ != nullptr) [[unlikely]] report_wait();
    retried_ = false;
    opening_.reset();
    arguments_.forget();
    awaited_ = 0;
    call_.transferred = 0;
  }

  const std::string& waits_for() const { return waits_for_; }
  Instant blocked_since() const { return blocked_since_; }
  const std::vector<VirtualFilePtr>& waiting_on() const { return waiting_on_; }
  // Reports every wait of the thread to `on_wait` when it ends.
  void report_waits_to(const std::function<void(const ThreadWait&)>& on_wait) { on_wait_ = &on_wait; }
  // Reports the current wait, if there is one, before it ends.
  void report_wait() const;

 private:
  static constexpr int kSlicesAfterSpin = 64;
  static constexpr std::uint32_t kLongestPokeUs = 100'000;

  void on_doorbell();
  void on_emission();
  std::int64_t looks_of_parked() const;
  static bool is_still_empty(const EmptyCall& call);
  std::size_t place_among_empty_calls() const;  // of the current call; empty_calls_.size(): not among them

  Engine& engine_;
  Choices& choices_;
  std::vector<EmptyCall> empty_calls_;  // the last few different calls of a series that found nothing
  std::size_t last_empty_call_ = 0;        // index of the last call
  std::size_t oldest_empty_call_ = 0;
  Instant called_at_{};
  Process& process_;
  std::uint32_t slot_;
  std::uint32_t tid_;
  pid_t native_tid_ = 0;
  Duration wake_up_, event_wake_up_;
  bool woken_ = false;  // since the thread blocked
  Duration late_{};  // after the current wait
  // Choices of one site, drawn ahead.
  struct Expected {
    const DelaySite& site;
    bool is_drawn = false;
    std::int64_t ahead = 8;  // maximum number of draws at once
    Duration late{};         // of the call for which the slot's count reaches 0
    RareDelays rare{};
    std::uint64_t number = 0;  // occurrence number of that choice
  };
  void expect_lateness(Expected& expected, std::int64_t& until_late);
  Duration take_lateness(Expected& expected, std::int64_t& until_late);
  std::array<Expected, protocol::kOwnCallKinds> own_calls_{Expected{kBeforeLocalCall}, {kBeforePost}, {kBeforeArm}};
  Expected accesses_{kBeforeAccess};
  // A store in the store buffer: its delay, and the choice that caused it.
  Duration buffered_for_{};
  std::uint32_t loads_before_store_ = 0;
  std::optional<Late> was_buffered_;
  std::map<std::string_view, std::uint64_t> asked_;  // number of choices by site
  std::map<std::string_view, RareDelays> rare_;      // by site, of choices that are not drawn ahead
  std::optional<Late> was_late_;
  ComponentId source_;
  Timer timer_;
  Timer doorbell_timer_ = Timer::of<&Thread::on_doorbell>(engine_, source_, EventClass::kProgram, this);
  std::deque<protocol::QueuedDoorbell> doorbells_;
  Timer emission_timer_ = Timer::of<&Thread::on_emission>(engine_, source_, EventClass::kProgram, this);
  std::deque<std::pair<Instant, std::function<void()>>> to_emit_;
  State state_ = State::kPending;
  PendingCall call_;
  request::Timed request_;
  std::uint64_t clear_tid_ = 0;
  std::vector<VirtualFilePtr> waiting_on_;
  SignalQueue signals_, masked_;
  std::uint64_t awaited_ = 0;
  bool held_ = false;
  std::optional<Answer> held_answer_;
  std::unique_ptr<Parked> parked_;
  Duration* parked_total_ = nullptr;
  bool unparked_ = false;
  std::optional<Turn> turn_;
  std::string waits_for_;
  const std::function<void(const ThreadWait&)>* on_wait_ = nullptr;
  Instant blocked_since_{};
  Instant deadline_ = kNever;
  bool retried_ = false;
  ArgumentCopies arguments_;
  std::uint32_t copy_pid_ = 0;
  VirtualFilePtr opening_;
  std::uint64_t partners_ = 0;
  int spin_expected_ = 0;  // number of slices in which a spin is expected
  std::uint32_t poke_after_us_ = 0;
};

// One bit for each place with a call.
std::uint32_t known_places(const Thread::KnownCalls& known);

}  // namespace verbatim::supervisor
