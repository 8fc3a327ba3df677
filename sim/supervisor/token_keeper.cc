#include "sim/supervisor/token_keeper.h"

#include <fmt/format.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/supervisor/call_places.h"
#include "sim/supervisor/immediate_answers.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine_watch.h"
#include "sim/supervisor/parking_lot.h"
#include "sim/supervisor/process_lifetimes.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/program_code.h"
#include "sim/supervisor/run_memory.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/slice_horizon.h"
#include "sim/supervisor/tasks/signals.h"
#include "sim/supervisor/thread_times.h"
#include "sim/supervisor/thread_waits.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

namespace {

// Whether the thread waits at its hand-over and executes no other code before it continues, so it can
// carry out placements.
bool takes_placements(const Thread& thread) {
  return thread.requests<request::Spend>() || thread.requests<request::Poll>() ||
         thread.requests<request::Doorbell>();
}

// A thread that is woken from another CPU must not preempt the thread that is about to sleep: this would cost
// two context switches. A thread that is woken from its own CPU must preempt its waker, which otherwise
// enters the kernel once more to sleep. SCHED_BATCH has the first property (sched(7)).
void set_preempting(Thread& thread, bool preempts) {
  if (thread.native.tid <= 0) return;
  const sched_param none{};
  sched_setscheduler(thread.native.tid, preempts ? SCHED_OTHER : SCHED_BATCH, &none);
  thread.native.is_batch = !preempts;  // not retried: where it is refused the run is only slower
}

Thread* live_thread_at(Process& process, std::uint32_t slot) {
  Thread* found = nullptr;
  for (auto& thread : process.threads()) {
    if (thread->slot() == slot && thread->state() != Thread::State::kDead) found = thread.get();
  }
  return found;
}

}  // namespace

void RequestCounts::count(const request::Timed& asked) {
  ++asked_[asked.index()];
  if (const auto* call = std::get_if<request::SystemCall>(&asked)) ++calls_[call->number];
}

void RequestCounts::log(std::uint64_t hand_overs, std::uint64_t events) const {
  const auto asked = [this]<class Request>(Request) { return asked_[request::Timed(Request{}).index()]; };
  spdlog::debug(
      "{} hand-overs ({} for time to pass, {} polls, {} doorbells, {} commands, {} system calls; {} answered before their "
      "time), {} more that took no time, {} events",
      hand_overs, asked(request::Spend{}), asked(request::Poll{}), asked(request::Doorbell{}),
      asked(request::Command{}), asked(request::SystemCall{}), answered_ahead_, immediate_, events);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_count;
  for (const auto& [number, count] : calls_) by_count.emplace_back(count, number);
  std::ranges::sort(by_count, std::greater());
  std::string text;
  for (const auto& [count, number] : by_count) {
    const char* const name = protocol::system_call(number).name;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count,
                        name != nullptr ? name : std::to_string(number));
  }
  if (!text.empty()) spdlog::debug("system calls: {}", text);
}

TokenKeeper::TokenKeeper(const RunContext& run, const Parts& parts)
    : run_(run),
      parts_(parts),
      wait_(run.options.limits.stuck_after_ms, run.options.poke_period_us),
      notes_(run, parts.kernel.checks()),
      ran_until_(run.hosts.size()) {}

void TokenKeeper::begin(int core, const cpu_set_t& allowed) {
  wait_.use(second_core_.emplace(run_.options.second_core, core, allowed));
}

void TokenKeeper::log() const {
  counts_.log(parts_.report.result().hand_overs, run_.engine.events_executed());
  if (second_core_)
    spdlog::debug("about {} hand-overs with a second processor", second_core_->hand_overs_on_it());
}

void TokenKeeper::begin_process(Process& process) {
  running_ = nullptr;
  slice_.start = run_.engine.now();
  take_request(process);
}

void TokenKeeper::take_request(Process& process) {
  parts_.memory.begin_epoch(process);
  const bool before = std::exchange(is_taking_request_, true);
  take_requests(process);
  is_taking_request_ = before;
}

// The program is first poked after its process has computed for a while from now on.
void TokenKeeper::restart_poke_timer(Process& process) {
  wait_.handed_over(process.analyst() == nullptr ? LoopAnalyst::first_poke_backoff()
                                                 : process.analyst()->poke_backoff());
}

void TokenKeeper::take_requests(Process& process) {
  restart_poke_timer(process);
  while (wait_for_message(process)) {
    if (!adopt_thread(process)) return;
    parts_.watch.note_outside_signals(process);
    const std::uint32_t index = process.region().header().message_slot;
    Thread* const thread = live_thread_at(process, index);
    // Only the thread that got the token can return it.
    const bool first = running_ == nullptr || &running_->process() != &process;
    if (thread == nullptr || (!first && thread != running_)) return parts_.lifetimes.kill_corrupt(process);
    protocol::ThreadSlot& slot = process.region().slot(index);
    const request::Any asked = request::decode(slot);
    const auto* const immediate = std::get_if<request::Immediate>(&asked);
    WriteBehind& placements = parts_.memory.write_behind();
    if (immediate != nullptr && std::holds_alternative<request::NotPlaced>(*immediate))
      placements.finish_handed(process.memory());
    placements.drop_handed();
    parts_.places.note_values(process);
    if (immediate != nullptr) {
      counts_.count_immediate();
      parts_.answers.answer(*thread, *immediate, slice_.horizon);
    } else {
      const auto& timed = std::get<request::Timed>(asked);
      const auto* const poke = std::get_if<request::Poke>(&timed);
      const Taken taken = poke != nullptr ? take_poke(*thread, *poke) : take(*thread, timed);
      if (taken == Taken::kScheduled) return;
      if (taken == Taken::kNotWaiting) {
        slot.result = protocol::kNotWaiting;
        if (poke->jump == 0) thread->poke.spin_not_found();
      }
      if (taken == Taken::kAnswered) restart_poke_timer(process);
    }
    slot.poke_after_us = thread->poke.after_us();
    parts_.memory.begin_epoch(process);
    give_token(*thread, nullptr);
  }
}

// Adopts the thread that the program was instructed to create. The shim reports its native id, which is
// accepted if the kernel confirms that it belongs to this process and it is not a known thread's. False:
// there is none, and the program or the run has been ended.
bool TokenKeeper::adopt_thread(Process& process) {
  Thread* const made = std::exchange(process.thread_in_making, nullptr);
  if (made == nullptr) return true;
  const auto tid = static_cast<pid_t>(process.region().slot(made->slot()).native_tid);
  const bool known = std::any_of(process.threads().begin(), process.threads().end(), [&](const auto& other) {
    return other->state() != Thread::State::kDead && other->native.tid == tid;
  });
  if (!known && tid > 0 && syscall(SYS_tgkill, process.native_pid(), tid, 0) == 0) {
    made->native.tid = tid;
    return true;
  }
  if (tid == 0) {
    parts_.report.finish(Outcome::kMachine,
                         parts_.report.title(process) +
                             " got no new thread: the machine refused one (see ulimit -u and free memory)");
  } else {
    parts_.lifetimes.kill_corrupt(process);
  }
  return false;
}

bool TokenKeeper::wait_for_message(Process& process) {
  // In a process that has just started, the first thread holds the token.
  const bool first = running_ == nullptr || &running_->process() != &process;
  const auto tid = first ? process.native_pid() : running_->native.tid;
  std::function<bool()> while_held;
  if (run_.options.while_held) while_held = [&] { return parts_.waits.report_holding(process, running_); };
  switch (wait_.wait(process.region(), process.native_pid(), tid, process.attached, while_held)) {
    case TokenWait::Result::kMessage:
      return true;
    case TokenWait::Result::kDied:
      if (running_ == nullptr) {
        parts_.lifetimes.end(process);
        parts_.watch.check_ran_in_simulation(process);
      } else if (take_slice(*running_)) {
        running_->set_request({});
        dead_holder_ = running_;
        running_->run_at(std::max(slice_.end, run_.engine.now()));
      }
      return false;
    case TokenWait::Result::kInterrupted:
      parts_.report.finish(Outcome::kInterrupted,
                           running_ == nullptr ? parts_.report.title(process) + " starts"
                                               : fmt::format("{}, thread {} computes", parts_.report.title(process), running_->tid()));
      parts_.waits.report(false);
      return false;
    case TokenWait::Result::kStuck:
      parts_.report.finish(Outcome::kStuck, parts_.report.title(process) + " " + wait_.stuck_doing() +
                                                why_not_parked(process));
      return false;
  }
  return false;
}

TokenKeeper::Taken TokenKeeper::take_poke(Thread& thread, const request::Poke& poke) {
  auto parked = parts_.lot.find_spin(thread, poke);
  if (!parked) return Taken::kNotWaiting;
  if (take_slice(thread)) parts_.lot.park_spin(thread, poke, std::move(*parked), slice_.end);
  return Taken::kScheduled;
}

TokenKeeper::Taken TokenKeeper::take(Thread& thread, const request::Timed& asked) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const bool polls = std::holds_alternative<request::Poll>(asked) || slot.polls_alone > protocol::kPollsAlone;
  second_core_->note_answer(parts_.times.token_returned(thread, running_ == &thread, polls));
  if (!take_slice(thread)) return Taken::kScheduled;
  thread.set_request(asked);
  if (const PendingCall* const made = request::arguments_of(asked)) thread.call() = *made;
  counts_.count(asked);
  const Instant due = slice_.end + cost_of(thread, slot);
  if (const Duration late = thread.delays.take_stall(); late != Duration::zero())
    parts_.processes.stall_host(thread, due - late, due, run_.engine.now());
  thread.requests<request::Access>() ? parts_.places.note_access(thread, due)
                                     : parts_.places.report_lateness(thread, due);
  thread.call().called_at = due;
  parts_.events.note_command(thread.source(), thread.requests<request::Command>());
  if (may_answer_ahead(thread, due)) return answer_ahead(thread, due);
  thread.run_at(std::max(due, run_.engine.now()));
  parts_.lot.check_watched(process);
  return Taken::kScheduled;
}

// Virtual time until the request of the thread takes effect.
Duration TokenKeeper::cost_of(Thread& thread, protocol::ThreadSlot& slot) {
  const auto of_verb = [&](Duration cost, protocol::OwnCall kind) {
    return request::modelled_cost(cost) + thread.delays.take_call(slot, kind);
  };
  const auto is_free = [](const auto&) { return Duration::zero(); };
  const auto is_call = [&](const auto&) {
    parts_.times.end_polling();
    Duration cost = parts_.kernel.cost(thread);
    if (!thread.is_repeated_poll()) cost += thread.delays.choose(kBeforeCall);
    return cost;
  };
  return std::visit(request::Match{
                        [&](const request::Spend& spend) {
                          if (spend.reads_clock) thread.brought_lines.note(slot, thread.process().memory());
                          return of_verb(spend.cost, protocol::OwnCall::kOther);
                        },
                        [&](const request::Poll& poll) {
                          thread.brought_lines.note(slot, thread.process().memory());
                          return of_verb(poll.seen.cost, protocol::OwnCall::kOther);
                        },
                        [&](const request::Doorbell& doorbell) {
                          return of_verb(doorbell.cost, protocol::own_call_of(doorbell.kind));
                        },
                        [&](const request::Access& access) {
                          return thread.delays.take_access(slot, access.lateness, [&] {
                            return parts_.code.loads_behind_store(thread.process(), access).size();
                          });
                        },
                        [&](const request::Attach& attach) { return is_free(attach); },
                        [&](const request::Fault& fault) { return is_free(fault); },
                        [&](const request::Forked& forked) { return is_free(forked); },
                        [&](const request::Command& command) { return is_call(command); },
                        [&](const request::SystemCall& call) { return is_call(call); },
                        [&](const request::RefusedCall& call) { return is_call(call); },
                        [&](const request::Poke& poke) { return is_call(poke); },
                        [&](const std::monostate& unknown) { return is_call(unknown); },
                    },
                    thread.request());
}

// Before the horizon nothing outside the thread can affect its host: a call that concerns nobody else need
// not wait for earlier events of other hosts, and the thread keeps the processor.
bool TokenKeeper::may_answer_ahead(Thread& thread, Instant due) const {
  if (running_ != &thread || due >= slice_.horizon || due <= run_.engine.now()) return false;
  if (thread.signals.has_deliverable() || thread.next_event_time() != kNever) return false;
  if (thread.process().memory().touches().next() <= due) return false;
  switch (parts_.kernel.concerns(thread)) {
    case Kernel::Concerns::kCaller:
      return true;
    case Kernel::Concerns::kWaiting:
      return !parts_.processes.has_blocked_sibling(thread);
    case Kernel::Concerns::kAnybody:
      return false;
  }
  return false;
}

// Trace records and warnings of the call carry the call's time and are emitted when the engine reaches it.
TokenKeeper::Taken TokenKeeper::answer_ahead(Thread& thread, Instant due) {
  std::vector<HeldRecord> held;
  Kernel::Outcome answer;
  {
    Engine::Ahead ahead(run_.engine, due);
    ran_ahead_ = std::max(ran_ahead_, due);
    called_ahead_ = std::max(called_ahead_, due);
    run_.tracer.hold_back(&held);
    parts_.report.warn_at_time_of(&thread);
    opened_ahead_ = false;
    counts_.count_answered_ahead();
    answer = parts_.kernel.execute(thread);
    parts_.report.warn_at_time_of(nullptr);
    run_.tracer.hold_back(nullptr);
    // The horizon shrinks to the first event that the call itself has scheduled, such as the wake-up of
    // another thread. If the call has opened a path to the adapter, the slice ends: from then on packets from
    // the fabric concern the host.
    slice_.horizon =
        opened_ahead_ ? due : std::max(due, std::min(slice_.horizon, ahead.earliest_scheduled()));
  }
  for (HeldRecord& record : held) {
    thread.early_records.emit_at(due, [this, record = std::move(record)] { run_.tracer.release(record); });
  }
  if (!answer) return Taken::kScheduled;  // the call blocks
  raise_signals(thread);
  fill_slot(thread, *answer, due);
  return Taken::kAnswered;
}

// Takes over what the thread did by itself: its clock, and doorbells that ring at their own times.
bool TokenKeeper::take_slice(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const Instant clock = instant_from_ps(slot.clock_ps);
  const std::uint32_t count = slot.doorbell_count;
  std::vector<protocol::QueuedDoorbell> doorbells;
  parts_.lot.end_turn(process);
  TouchesAhead& touches = process.memory().touches();
  // The thread has made every memory access of adapters that was due before its clock.
  const bool touched = touches.collect(process.region()) && touches.next() > clock;
  bool sound = touched && clock >= slice_.start && clock <= std::max(run_.engine.now(), slice_.horizon) &&
               count <= protocol::kMaxQueuedDoorbells;
  const std::size_t host = process.host_index();
  for (std::uint32_t i = 0; sound && i < count; ++i) {
    doorbells.push_back(slot.doorbells[i]);
    const std::int64_t earliest = i == 0 ? to_ps(slice_.start) : doorbells[i - 1].time_ps;
    sound = doorbells[i].time_ps >= earliest && doorbells[i].time_ps <= to_ps(clock) &&
            to_ps(clock) - doorbells[i].time_ps <= to_ps(parts_.events.own_effect(host));
    doorbells[i].cost_ps =
        std::min(to_ps(request::modelled_cost(Duration(doorbells[i].cost_ps))), doorbells[i].time_ps);
  }
  if (!sound) {
    parts_.lifetimes.kill_corrupt(process);
    return false;
  }
  slot.doorbell_count = 0;
  if (slot.note_count != 0) [[unlikely]]
    notes_.report(thread, slot, slice_.start, clock);
  if (slot.call_count != 0) [[unlikely]]
    parts_.places.report_calls(thread, slot);
  slice_.end = clock;
  ran_ahead_ = std::max(ran_ahead_, clock);
  ran_until_[host] = std::max(clock, ran_until_[host]);
  thread.doorbells.add(doorbells);
  return true;
}

bool TokenKeeper::take_dead_holder(const Thread& thread) {
  if (dead_holder_ != &thread) return false;
  dead_holder_ = nullptr;
  return true;
}

void TokenKeeper::forget(const Process& process) {
  if (running_ != nullptr && &running_->process() == &process) running_ = nullptr;
  if (dead_holder_ != nullptr && &dead_holder_->process() == &process) dead_holder_ = nullptr;
}

void TokenKeeper::forget(const Process& process, std::uint32_t slot) {
  if (running_ != nullptr && &running_->process() == &process && running_->slot() == slot) running_ = nullptr;
}

// Puts due signals into the slot. One that ends the process takes effect as soon as the thread has the token.
void TokenKeeper::raise_signals(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  slot.raised_count = 0;
  for (const QueuedSignal& queued : take_signals(thread)) {
    const SignalOrigin& origin = queued.origin;
    slot.raised[slot.raised_count++] = {
        queued.signal, origin.code,  origin.sender,  origin.status,
        origin.value,  origin.timer, origin.overrun, queued.to_thread ? 1u : 0u,
        origin.user};
    if (is_deadly(process, queued.signal) && !is_masked(thread, queued.signal))
      parts_.kernel.release_robust_locks(process);
  }
}

void TokenKeeper::resume(Thread& thread, const Answer& answer) {
  Process& process = thread.process();
  if (process.stopped_by != 0) return thread.hold(answer);
  Horizon::Bounds until = parts_.horizon.of(process);
  // A new thread is in no call that a signal could interrupt: it gets its signals with its first
  // call that takes time.
  if (thread.requests<request::Attach>() && thread.tid() != process.pid()) {
    process.region().slot(thread.slot()).raised_count = 0;
    if (thread.signals.has_deliverable()) until = {run_.engine.now(), {}};
  } else {
    raise_signals(thread);
  }
  grant(thread, answer, run_.engine.now(), until);
}

// Memory that has changed since and that the rest of the turn reads shows its old content until the poll that
// is due; that poll then returns the token. Without such memory the thread continues.
void TokenKeeper::finish_turn(Thread& thread, const ThreadParking::Turn& turn) {
  const ParkingLot::TurnStart begun = parts_.lot.start_turn(thread, turn);
  Horizon::Bounds until{turn.due, {}};
  if (begun.goes_on) until = parts_.horizon.of(thread.process());
  until.until = std::max(until.until, turn.due);
  grant(thread, begun.answer, turn.start, until);
  parts_.lot.forget_turn();
}

void TokenKeeper::catch_up_parked_siblings(Thread& thread) {
  for (const auto& other : thread.process().threads()) {
    if (other->parking.loop() == nullptr || !other->parking.loop()->reads_clocks()) continue;
    other->unpark();
    if (const auto turn = other->parking.take_turn()) finish_turn(*other, *turn);
    if (!thread.process().alive || parts_.report.is_finished()) return;
  }
}

// Gives the token to the thread at virtual time `start`; the thread may let time pass by itself up to its
// horizon. Takes its next request.
void TokenKeeper::grant(Thread& thread, const Answer& answer, Instant start, const Horizon::Bounds& bounds) {
  slice_.horizon = bounds.until;
  Process& process = thread.process();
  process.memory().touches().list(process.region(), bounds.touches);
  fill_slot(thread, answer, start);
  Thread* const before = std::exchange(running_, &thread);
  const bool others_turn = before != nullptr && before != &thread && before->process().alive;
  if (others_turn) two_alternate_ = std::exchange(ran_before_, before) == &thread;
  give_token(thread, others_turn ? &before->process().region().slot(before->slot()) : nullptr);
  const auto* const call = std::get_if<request::SystemCall>(&thread.request());
  const bool ends = call != nullptr && call->number == SYS_exit &&
                    std::count_if(process.threads().begin(), process.threads().end(), [](const auto& other) {
                      return other->state() != Thread::State::kDead;
                    }) > 1;
  ends ? parts_.lifetimes.end_thread(thread) : take_request(process);
}

// `before`: slot of the thread that had the token, if it is another one.
void TokenKeeper::give_token(Thread& thread, protocol::ThreadSlot* before) {
  Process& process = thread.process();
  ProcessRegion& region = process.region();
  second_core_->count_hand_over();
  protocol::ThreadSlot& slot = region.slot(thread.slot());
  WriteBehind& placements = parts_.memory.write_behind();
  slot.placements = takes_placements(thread) ? placements.hand_to(process.memory(), region.placements()) : 0;
  placements.flush(process.memory().epoch_of_host());
  slot.looks = second_core_->looks();
  // The thread will get the token again soon, and a futex wake-up would take longer than yielding until then.
  constexpr std::uint32_t kYields = 8;
  slot.yields = second_core_->is_used() && two_alternate_ ? kYields : 0;
  if (second_core_->is_used() != thread.native.is_batch) set_preempting(thread, !second_core_->is_used());
  parts_.times.token_given();
  wait_.give(region, thread.slot(), before);
}

// Writes everything that the thread gets with the token at virtual time `start`.
void TokenKeeper::fill_slot(Thread& thread, const Answer& answer, Instant start) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  slot.result = answer.result;
  slot.action = answer.action;
  slot.action_arguments[0] = answer.arguments[0];
  slot.action_arguments[1] = answer.arguments[1];
  slot.repeats = answer.repeats;
  slot.clock_ps = to_ps(start);
  slot.doorbell_count = 0;
  slot.polls_alone = 0;
  thread.delays.draw_ahead(slot, process.traps_accesses);
  parts_.lot.begin_slice(process);
  slice_.start = start;
  slot.horizon_ps = slice_.horizon > start ? to_ps(slice_.horizon) : 0;
  const Instant touch = process.memory().touches().next();
  slot.next_touch_ps = touch == kNever ? protocol::kNoTouch : to_ps(touch);
  thread.poke.start_slice(run_.options.poke_period_us);
  slot.poke_after_us = thread.poke.after_us();
  parts_.report.count_hand_over();
}

}  // namespace verbatim::supervisor
