// One thread of a simulated program as the supervisor sees it: who holds it up, until when, and the call it
// is in.
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
#include "sim/supervisor/tasks/signal_queue.h"
#include "sim/supervisor/files/virtual_file.h"
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor {

struct Parked;
class Process;

inline constexpr DelaySite kBeforeCall{"thread-before-call", Duration(200'000), 9};
inline constexpr DelaySite kBeforeLocalCall{"thread-before-local-call", Duration(200'000), 9};
inline constexpr DelaySite kBeforePost{"thread-before-post", Duration(200'000), 9};
inline constexpr DelaySite kBeforeArm{"thread-before-arm", Duration(200'000), 9};
inline constexpr DelaySite kBeforeAccess{"thread-before-access", Duration(200'000), 9};
// It touches already what comes behind a store, and the store is seen later.
inline constexpr std::string_view kStoreBuffer = "thread-before-access/store-buffer";
inline constexpr DelaySite kAfterWait{"thread-after-wait", Duration(200'000), 9};

// A request as it was when the thread gave the token back: copied once from shared memory, never read again.
struct PendingCall {
  protocol::Request request = protocol::Request::kNone;
  std::uint32_t number = 0;
  std::int64_t arguments[6] = {};
  std::uint64_t transferred =
      0;  // bytes that earlier tries have moved: a blocking write or recv of everything
};

// A completion queue: the program's device handle and the queue's number.
struct PolledQueue {
  std::uint32_t context = 0;
  std::uint32_t number = 0;
};

// A poll that had shown nothing when it came to the supervisor.
struct SeenPoll {
  std::uint64_t handle = 0;  // the program's own, ibv_cq*
  PolledQueue queue;
  std::uint64_t entry = 0;     // where it looks, in the arena
  std::uint32_t sequence = 0;  // that the entry has once it is written
  Duration cost{};
  Instant at{};  // of the look
  bool yields = false;  // it is sched_yield(), which looks at no queue
  std::uint32_t polls_before = 0;  // that have passed since the thread got the token, as it says
};

// What the shim is told when the thread goes on.
struct Answer {
  std::int64_t result = 0;
  protocol::Action action = protocol::Action::kReturn;
  std::int64_t arguments[2] = {0, 0};
  std::uint32_t repeats = 0;  // of which calls the thread knows the answers until its horizon, as ThreadSlot::repeats
};

// Attributes that a thread has from the one that made it, and that have no effect here (sched(7), ioprio_get(2)).
struct Scheduling {
  int policy = 0;  // SCHED_OTHER
  int priority = 0;
  int nice = 0;
  int disk_priority = 4;  // of no class
  int memory_policy = 0;  // MPOL_DEFAULT
  std::uint64_t memory_nodes = 0;
};

class Thread final : public Waiter {
 public:
  enum class State : std::uint8_t { kPending, kBlocked, kParked, kDead };

  // `source` is the thread's own place in the event order: ties between threads must not depend on who was
  // scheduled first. `on_timer` is called with the thread when its time has come.
  Thread(Engine& engine, Choices& choices, ComponentId source, Process& process, std::uint32_t slot,
         std::uint32_t tid, const protocol::CallCosts& costs, void (*on_timer)(Thread&));
  ~Thread();

  Process& process() { return process_; }
  ComponentId source() const { return source_; }
  std::uint32_t slot() const { return slot_; }
  std::uint32_t tid() const { return tid_; }
  // Its id in the machine's kernel, found out once by the supervisor itself; 0: the thread is about to be made.
  pid_t native_tid() const { return native_tid_; }
  void set_native_tid(pid_t tid) { native_tid_ = tid; }
  bool is_batch = false;  // of the class SCHED_BATCH in the machine's kernel, whatever the program sees
  State state() const { return state_; }
  PendingCall& call() { return call_; }

  BroughtLines brought_lines;
  Scheduling scheduling;
  Credentials credentials;  // of each thread its own, as Linux has them; libc keeps those of a process alike

  // Address of the word that is cleared when the thread ends; 0: none.
  std::uint64_t clear_tid() const { return clear_tid_; }
  void set_clear_tid(std::uint64_t address) { clear_tid_ = address; }

  // The thread's request is looked at (again) when `when` has come.
  void run_at(Instant when) {
    state_ = State::kPending;
    timer_.reschedule_at(when);
  }

  // When its request is looked at, or a doorbell of it rings; kNever when nothing is due.
  Instant next_event_time() const {
    return std::min(timer_.scheduled() ? timer_.when() : kNever,
                    doorbell_timer_.scheduled() ? doorbell_timer_.when() : kNever);
  }

  // Doorbells of the last slice ring at their own times; `ring` is called with the thread for each.
  void queue_doorbells(std::span<const protocol::QueuedDoorbell> doorbells,
                       void (*ring)(Thread&, const protocol::QueuedDoorbell&));

  // What the thread has done before its time is told when the time comes. In the order of time.
  void tell_at(Instant when, std::function<void()> tell);
  // What it has done before and is due now, too: before what it does next at this very time.
  void tell_due();

  // To the runtime: what signals tell of the sender, and whose rights files are named by.
  void tell_credentials();

  // The thread waits by running, see parking.h; unpark() lets it go on.
  // The virtual time that it was parked is added to `total`.
  void park(Parked parked, Duration* total);
  void unpark();
  // Whether it was parked, and its next look at a completion queue is still to come.
  bool is_unparked() const { return unparked_; }
  bool take_unparked() { return std::exchange(unparked_, false); }
  // While it is parked: memory is as if the turns until now had been executed.
  void show_growth();
  const Parked* parked() const { return parked_.get(); }
  // While it is parked: memory of its process has been written.
  void note_write(std::uint64_t address, std::uint64_t length);
  void count_parked_time();
  // The turn of a poll loop that the thread was unparked in the middle of: it is still at the turn's first poll, which
  // finds nothing, like all before the one that is due now.
  struct Turn {
    Instant start;  // of the first poll's look
    Instant due;    // when the poll that is due looks
    std::int64_t looks;  // since the thread was parked
    std::shared_ptr<const Parked> parked;
  };
  std::optional<Turn> take_turn() { return std::exchange(turn_, std::nullopt); }

  // The thread was found to spin; it is likely to do so again within the next slices, in which it pokes
  // itself.
  void spin_found() { spin_expected_ = kSlicesAfterSpin; }
  void start_slice(std::int64_t poke_period_us) {
    poke_after_us_ = spin_expected_ > 0 ? static_cast<std::uint32_t>(poke_period_us) : 0;
    if (spin_expected_ > 0) --spin_expected_;
  }
  // It was poked in vain. Ever less often, so that a long computation is hardly disturbed.
  void spin_not_found() { poke_after_us_ = std::min(poke_after_us_ * 2, kLongestPokeUs); }
  // Real time after which it pokes itself, microseconds; 0: never.
  std::uint32_t poke_after_us() const { return poke_after_us_; }

  // The call has to wait for one of `files`, until `deadline` at the latest. `what` completes "waits in …".
  void block(std::vector<VirtualFilePtr> files, Instant deadline, std::string what);
  // What the thread waits for may be there, as when one of the files has changed: the call is tried again after the wake-up
  // latency, and that of events when it is one of an adapter. Whatever comes meanwhile, the deadline too, finds the thread
  // on its way.
  void wake(bool by_adapter_event = false) override;
  // Which of several threads that can run goes first is anybody's guess: how much later than it could a
  // thread runs before a call, and after a wait.
  Duration scheduling_delay(const DelaySite& site);
  // Of the last time that it was later than it could be: which choice that was. Asked for once; for people.
  struct Late {
    std::string_view site;
    std::uint64_t occurrence = 0;
  };
  std::optional<Late> take_late() { return std::exchange(was_late_, std::nullopt); }
  bool may_be_late() const { return choices_.is_free(); }
  // Who chooses where the thread's calls have a choice.
  ComponentId component() const { return source_; }
  // The same for calls that the thread answers itself, and for its accesses to memory (protocol/accesses.h), known by their
  // number among those of their kind that count: the slot is told with which ones the thread is late next. Drawn ahead, so that
  // the others need not be handed over.
  void expect_lateness(protocol::ThreadSlot& slot);
  // How much later than it could the thread makes the call, or the access, that it has handed over.
  Duration take_late_call(protocol::ThreadSlot& slot, protocol::OwnCall kind) {
    const auto i = static_cast<std::size_t>(kind);
    return take_lateness(own_calls_[i], slot.calls_until_late[i]);
  }
  // `loads`: how many there are behind the store that the thread is about to make, while it may wait in the store buffer; asked
  // for where that matters.
  Duration take_late_access(protocol::ThreadSlot& slot, const std::function<std::size_t()>& loads);
  // Behind how many of them the store is to wait. 0: it does not wait.
  std::uint32_t loads_before_store() const { return loads_before_store_; }
  // The present call is answered; `nothing`: it has found that there is nothing, and changed nothing. Whether one of the last few
  // different calls of a row of such was the same.
  bool repeats_nothing(bool nothing);
  // Whether the present call, which is to be made, is one of these, and no sleep: the thread looks once more, and is not late
  // for it.
  bool asks_once_more() const;
  // One of these calls, where it looked, and what it did beyond what any call costs: sleep.
  struct Nothing {
    PendingCall call;
    std::int64_t result = 0;
    Duration slept{};
    std::vector<std::uint8_t> memory;  // that it read, see protocol::memory_of_call
    std::vector<std::weak_ptr<VirtualFile>> files;
    std::vector<std::uint64_t> generations;
    bool repeats = false;  // it would find the same, as long as the files do not change
  };
  // What the present one found. The places of those whose answers are so now, too, and where this one is, as ThreadSlot::repeats
  // has it.
  std::uint32_t keep_nothing(std::int64_t result, Duration slept, std::vector<std::uint8_t> memory,
                             const std::vector<VirtualFilePtr>& files);
  // Of the calls at these places, those whose answers are so now, too; by place, nullptr for others.
  using KnownCalls = std::array<const Nothing*, protocol::kMostKnownCalls>;
  KnownCalls still_nothing(std::uint32_t places) const;
  // When the present call was made: now, or before it where a turn is finished that was passed over.
  Instant called_at() const { return called_at_; }
  void set_called_at(Instant when) { called_at_ = when; }
  // Off every waiting list; called before the call is tried again.
  void stop_waiting();
  void die();

  // A signal waits for the thread: a blocked call is tried once more and then gives up.
  void interrupt(const QueuedSignal& signal);
  // A signal that the thread has masked: Linux keeps it until it is unmasked, and no call is interrupted.
  void add_masked(const QueuedSignal& signal);
  // Those that are due with the next token, and those that the thread has masked; both belong to it alone.
  SignalQueue& signals() { return signals_; }
  SignalQueue& masked() { return masked_; }
  // Masked signals that interrupt the present call all the same; until the call is answered.
  void await_signals(std::uint64_t set);
  bool awaits(int signal) const { return (awaited_ >> (signal - 1) & 1) != 0; }
  // A row of reads of a clock that is followed instead of executed, of which one is pending.
  struct ClockRow {
    spin::Registers at_entry;
    Instant began{};
    unsigned followed = 0;
  };
  std::optional<ClockRow> clock_row;
  bool has_signal() const { return !signals_.empty(); }
  int next_signal() const { return signals_.front().signal; }

  // The process is stopped: what the thread was about to do is done when it is continued, with `answer` as
  // the answer to its call, or by looking at its request.
  void hold(std::optional<Answer> answer);
  void go_on(Instant when);
  std::optional<Answer> take_held_answer() { return std::exchange(held_answer_, std::nullopt); }

  // The virtual pid of the copy that the thread is about to make, 0: none.
  std::uint32_t copy_pid() const { return copy_pid_; }
  void set_copy_pid(std::uint32_t pid) { copy_pid_ = pid; }
  // The end of a named pipe that the thread waits to open, and how many partners had come by then.
  const VirtualFilePtr& opening() const { return opening_; }
  void set_opening(VirtualFilePtr file, std::uint64_t partners) {
    opening_ = std::move(file);
    partners_ = partners;
  }
  bool opening_met(std::uint64_t partners) const { return partners != partners_; }

  // State of a call that was tried before, kept until it is answered.
  bool retried() const { return retried_; }
  ArgumentCopies& arguments() { return arguments_; }
  Instant deadline() const { return deadline_; }
  void finish_call() {
    if (retried_ && on_wait_ != nullptr) [[unlikely]] tell_wait();
    retried_ = false;
    opening_.reset();
    arguments_.forget();
    awaited_ = 0;
    call_.transferred = 0;
  }

  const std::string& waits_for() const { return waits_for_; }
  Instant blocked_since() const { return blocked_since_; }
  const std::vector<VirtualFilePtr>& waiting_on() const { return waiting_on_; }
  // From now on every wait of the thread is told when it has ended.
  void tell_waits_to(const std::function<void(const ThreadWait&)>& on_wait) { on_wait_ = &on_wait; }
  // So is the wait that it is in, if it is in any, though it goes on.
  void tell_wait() const;

 private:
  static constexpr int kSlicesAfterSpin = 64;
  static constexpr std::uint32_t kLongestPokeUs = 100'000;

  void on_doorbell();
  void on_telling();
  std::int64_t looks_of_parked() const;
  static bool is_still_so(const Nothing& nothing);
  std::size_t place_among_nothings() const;  // of the present call; their number: it is none of them

  Engine& engine_;
  Choices& choices_;
  std::vector<Nothing> nothings_;  // different calls in a row that found nothing
  std::size_t nothing_ = 0;        // which of them is the last call
  std::size_t oldest_nothing_ = 0;
  Instant called_at_{};
  Process& process_;
  std::uint32_t slot_;
  std::uint32_t tid_;
  pid_t native_tid_ = 0;
  Duration wake_up_, event_wake_up_;
  bool woken_ = false;  // since it blocked
  Duration late_{};  // of this wait
  // Of one site that is drawn ahead.
  struct Expected {
    const DelaySite& site;
    bool is_drawn = false;
    std::int64_t ahead = 8;  // that are drawn about at once
    Duration late{};         // with which the slot's count comes to 0
    std::uint64_t number = 0;  // the occurrence of that choice
  };
  void expect_lateness(Expected& expected, std::int64_t& until_late);
  Duration take_lateness(Expected& expected, std::int64_t& until_late);
  std::array<Expected, protocol::kOwnCallKinds> own_calls_{Expected{kBeforeLocalCall}, {kBeforePost}, {kBeforeArm}};
  Expected accesses_{kBeforeAccess};
  // Of a store that waits in the store buffer: how long it will, and which choice that was.
  Duration buffered_for_{};
  std::uint32_t loads_before_store_ = 0;
  std::optional<Late> was_buffered_;
  std::map<std::string_view, std::uint64_t> asked_;  // how often, by site
  std::optional<Late> was_late_;
  void (*on_timer_)(Thread&);
  ComponentId source_;
  Timer timer_;
  Timer doorbell_timer_ = Timer::of<&Thread::on_doorbell>(engine_, source_, EventClass::kProgram, this);
  std::deque<protocol::QueuedDoorbell> doorbells_;
  Timer telling_timer_ = Timer::of<&Thread::on_telling>(engine_, source_, EventClass::kProgram, this);
  std::deque<std::pair<Instant, std::function<void()>>> to_tell_;
  void (*ring_)(Thread&, const protocol::QueuedDoorbell&) = nullptr;
  State state_ = State::kPending;
  PendingCall call_;
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
  int spin_expected_ = 0;  // for so many slices
  std::uint32_t poke_after_us_ = 0;
};

// A bit for each place that has a call.
std::uint32_t known_places(const Thread::KnownCalls& known);

}  // namespace verbatim::supervisor
