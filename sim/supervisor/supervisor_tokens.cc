// The token: a thread gets it with an answer and returns it with a request.
#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/tasks/signals.h"
#include "sim/supervisor/supervisor_impl.h"

namespace verbatim::supervisor {

namespace {

// Cost of a call as the shim states it, limited to a plausible range.
Duration modelled_cost(std::int64_t ps) {
  constexpr std::int64_t kLongest = 1'000'000'000'000;  // one second: far beyond any modelled cost
  return Duration(std::clamp<std::int64_t>(ps, 0, kLongest));
}

// Whether the request is a clock read that follow_clock() may interpret.
bool is_followed_read(const PendingCall& call) {
  return call.request == protocol::Request::kSpend && call.number == protocol::kReadsClock;
}

}  // namespace

void Supervisor::Impl::take_request(Process& process) {
  ++memory_epochs_[process.host_index()];
  const bool before = std::exchange(is_taking_request_, true);
  take_requests(process);
  is_taking_request_ = before;
}

void Supervisor::Impl::take_requests(Process& process) {
  token_.handed_over(process.analyst() == nullptr ? LoopAnalyst::first_poke_backoff() : process.analyst()->poke_backoff());
  while (wait_for_message(process)) {
    if (!adopt_thread(process)) return;
    note_outside_signals(process);
    // Each field is copied once; later writes of the program have no effect.
    const std::uint32_t index = process.region().header().message_slot;
    Thread* thread = nullptr;
    for (auto& candidate : process.threads()) {
      if (candidate->slot() == index && candidate->state() != Thread::State::kDead) thread = candidate.get();
    }
    // Only the thread that got the token can return it.
    const bool first = running_ == nullptr || &running_->process() != &process;
    if (thread == nullptr || (!first && thread != running_)) return kill_corrupt_process(process);
    protocol::ThreadSlot& slot = process.region().slot(index);
    if (slot.request == protocol::Request::kPlace) write_behind_.finish_handed(process.memory());
    write_behind_.drop_handed();
    if (slot.request == protocol::Request::kPlace) {
      // The thread continues with the answer that it got with the token.
    } else if (slot.request == protocol::Request::kCode) {  // takes no virtual time, like the requests below
      search_code(*thread);
    } else if (slot.request == protocol::Request::kReplaceCall) {
      replace_call(*thread);
    } else if (slot.request == protocol::Request::kMachine) {
      note_refusal_of_machine(*thread);
    } else if (slot.request == protocol::Request::kTellCall) {
      report_call(*thread, slot);
    } else if (slot.request == protocol::Request::kFolders) {
      make_folders_of(*thread);
    } else if (slot.request == protocol::Request::kView) {
      answer_about_view(*thread, slot);
    } else if (slot.request == protocol::Request::kFailedPoll) {
      slot.result = analyst_of(process).use_of_failed(slot);
      slot.action = protocol::Action::kReturn;
    } else if (slot.request == protocol::Request::kFileEvents) {
      slot.result = static_cast<std::int64_t>(kernel_.fetch_file_events(process.host_index(), slot.arguments[0] != 0));
      slot.action = protocol::Action::kReturn;
    } else {
      const Taken taken = take_request_of(*thread);
      if (taken == Taken::kScheduled) return;
      if (taken == Taken::kNotWaiting) {
        slot.result = protocol::kNotWaiting;
        if (slot.arguments[2] == 0) thread->spin_not_found();
      }
      if (taken == Taken::kAnswered)
        token_.handed_over(process.analyst() == nullptr ? LoopAnalyst::first_poke_backoff() : process.analyst()->poke_backoff());
    }
    slot.poke_after_us = thread->poke_after_us();
    ++memory_epochs_[process.host_index()];
    give_token(*thread, nullptr);
  }
}

void Supervisor::Impl::report_call(Thread& thread, const protocol::ThreadSlot& slot) const {
  if (!on_call_) return;
  const ProcessMemory& memory = thread.process().memory();
  const auto read = [&memory](std::uint64_t address, std::span<std::byte> to) { return memory.read_present(address, to); };
  ProgramCall told{.host = thread.process().host().name, .pid = thread.process().pid(), .tid = thread.tid(), .read = read};
  told.now = std::max(engine_.now(), std::min(instant_from_ps(slot.clock_ps), slice_horizon_));
  told.place = static_cast<std::uint64_t>(slot.arguments[0]);
  const auto bytes = std::as_writable_bytes(std::span(&told.call, 1));
  if (read(told.place, bytes) != bytes.size() || static_cast<std::uint32_t>(told.call.kind) >= protocol::kToldKinds) return;
  on_call_(told);
}

// The program's requests make no sense, so none of its data can be relied on. Other programs continue.
void Supervisor::Impl::kill_corrupt_process(Process& process) {
  warn(process, "overwrote the memory that it shares with the simulator, and was ended");
  kill_process(process);
}

// Adopts the thread that the program was instructed to create. The shim reports its native id, which is
// accepted if the kernel confirms that it belongs to this process and it is not a known thread's. False:
// there is none, and the program or the run has been ended.
bool Supervisor::Impl::adopt_thread(Process& process) {
  Thread* const made = std::exchange(process.thread_in_making, nullptr);
  if (made == nullptr) return true;
  const auto tid = static_cast<pid_t>(process.region().slot(made->slot()).native_tid);
  const bool known = std::any_of(process.threads().begin(), process.threads().end(), [&](const auto& other) {
    return other->state() != Thread::State::kDead && other->native_tid() == tid;
  });
  if (!known && tid > 0 && syscall(SYS_tgkill, process.native_pid(), tid, 0) == 0) {
    made->set_native_tid(tid);
    return true;
  }
  if (tid == 0) {
    finish(Outcome::kMachine,
           title(process) + " got no new thread: the machine refused one (see ulimit -u and free memory)");
  } else {
    kill_corrupt_process(process);
  }
  return false;
}

// False: there is no message, and the reason has been dealt with.
bool Supervisor::Impl::wait_for_message(Process& process) {
  // In a process that has just started, the first thread holds the token.
  const bool first = running_ == nullptr || &running_->process() != &process;
  const auto tid =
      first ? process.native_pid() : running_->native_tid();
  std::function<bool()> while_held;
  if (options_.while_held) while_held = [&] { return report_holding(process); };
  switch (token_.wait(process.region(), process.native_pid(), tid, process.attached, while_held)) {
    case TokenWait::Result::kMessage:
      return true;
    case TokenWait::Result::kDied:
      if (running_ == nullptr) {
        end(process);
        check_ran_in_simulation(process);
      } else if (take_slice(*running_)) {
        running_->call().request = protocol::Request::kNone;
        dead_token_holder_ = running_;
        running_->run_at(std::max(slice_end_, engine_.now()));
      }
      return false;
    case TokenWait::Result::kInterrupted:
      interrupt();
      return false;
    case TokenWait::Result::kStuck:
      finish(Outcome::kStuck, title(process) + " " + token_.stuck_doing() + why_not_parked(process));
      return false;
  }
  return false;
}

// A program whose loader did not find a library ends with 127 before the shim's constructor. One that ended
// otherwise before it has run outside the simulation.
void Supervisor::Impl::check_ran_in_simulation(const Process& process) {
  constexpr int kLoaderFailed = 127;
  const int status = process.exit_status;
  if (process.attached || finished_ || !WIFEXITED(status) || WEXITSTATUS(status) == kLoaderFailed) return;
  finish(Outcome::kStuck, title(process) + " ran outside the simulation: its loader did not preload the shim");
}

std::string Supervisor::Impl::why_not_parked(Process& process) {
  if (process.analyst() == nullptr || process.analyst()->refusal().empty()) return "";
  return " (its loop could not be proven to be a wait: it " + process.analyst()->refusal() + ")";
}

Supervisor::Impl::Taken Supervisor::Impl::take_request_of(Thread& thread) {
  Process& process = thread.process();
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  if (slot.request == protocol::Request::kPoke) return take_poke(thread) ? Taken::kScheduled : Taken::kNotWaiting;
  note_polling(thread, slot);
  if (!take_slice(thread)) return Taken::kScheduled;
  PendingCall& call = thread.call();
  call.request = slot.request;
  call.number = slot.number;
  for (int i = 0; i < 6; ++i) call.arguments[i] = slot.arguments[i];

  ++asked_[static_cast<std::uint32_t>(call.request) % std::size(asked_)];
  if (call.request == protocol::Request::kSystemCall) ++calls_asked_[call.number];
  Duration cost = Duration::zero();
  switch (call.request) {
    case protocol::Request::kSpend:
    case protocol::Request::kPoll:
    case protocol::Request::kDoorbell: {
      if (call.request == protocol::Request::kPoll || is_followed_read(call)) thread.brought_lines.note(slot, process.memory());
      const auto kind = call.request != protocol::Request::kDoorbell
                            ? protocol::OwnCall::kOther
                            : protocol::own_call_of(static_cast<protocol::DoorbellKind>(call.arguments[1]));
      cost = modelled_cost(call.arguments[0]) + thread.take_late_call(process.region().slot(thread.slot()), kind);
      break;
    }
    case protocol::Request::kAccess:
      cost = thread.take_late_access(process.region().slot(thread.slot()),
                                     [&] { return loads_behind_store(thread).size(); });
      break;
    case protocol::Request::kAttach:
    case protocol::Request::kFault:
    case protocol::Request::kForked:
      break;
    default:
      last_poller_ = nullptr;
      cost = kernel_.cost(thread);
      if (!thread.is_repeated_poll()) cost += thread.scheduling_delay(kBeforeCall);
  }
  const Instant due = slice_end_ + cost;
  call.request == protocol::Request::kAccess ? places_.note_access(thread, due) : places_.report_lateness(thread, due);
  thread.set_called_at(due);
  horizon_.note_command(thread.source(), call.request == protocol::Request::kCommand);
  if (may_answer_ahead(thread, due)) return answer_ahead(thread, due);
  thread.run_at(std::max(due, engine_.now()));
  check_watched(process);
  return Taken::kScheduled;
}

// Before the horizon nothing outside the thread can affect its host: a call that concerns nobody else need
// not wait for earlier events of other hosts, and the thread keeps the processor.
bool Supervisor::Impl::may_answer_ahead(Thread& thread, Instant due) const {
  if (running_ != &thread || due >= slice_horizon_ || due <= engine_.now()) return false;
  if (thread.has_signal() || thread.next_event_time() != kNever) return false;
  if (thread.process().memory().touches().next() <= due) return false;
  switch (kernel_.concerns(thread)) {
    case Kernel::Concerns::kCaller:
      return true;
    case Kernel::Concerns::kWaiting:
      return !has_blocked_sibling(thread);
    case Kernel::Concerns::kAnybody:
      return false;
  }
  return false;
}

// A thread of the host that the call wakes may run at the very time of the call, after it.
bool Supervisor::Impl::has_blocked_sibling(Thread& thread) const {
  std::size_t most = 16;
  for (Process* process : on_host_[thread.process().host_index()]) {
    for (const auto& other : process->threads()) {
      if (most-- == 0) return true;
      if (other.get() != &thread && other->state() == Thread::State::kBlocked) return true;
    }
  }
  return false;
}

// Trace records and warnings of the call carry the call's time and are emitted when the engine reaches it.
Supervisor::Impl::Taken Supervisor::Impl::answer_ahead(Thread& thread, Instant due) {
  std::vector<HeldRecord> held;
  Kernel::Outcome answer;
  {
    Engine::Ahead ahead(engine_, due);
    ran_ahead_ = std::max(ran_ahead_, due);
    tracer_.hold_back(&held);
    early_call_thread_ = &thread;
    opened_ahead_ = false;
    ++answered_ahead_;
    answer = kernel_.execute(thread);
    early_call_thread_ = nullptr;
    tracer_.hold_back(nullptr);
    // The horizon shrinks to the first event that the call itself has scheduled, such as the wake-up of
    // another thread. If the call has opened a path to the adapter, the slice ends: from then on packets from
    // the fabric concern the host.
    slice_horizon_ = opened_ahead_ ? due : std::max(due, std::min(slice_horizon_, ahead.earliest_scheduled()));
  }
  for (HeldRecord& record : held) {
    thread.emit_at(due, [this, record = std::move(record)] { tracer_.release(record); });
  }
  if (!answer) return Taken::kScheduled;  // the call blocks
  raise_signals(thread);
  fill_slot(thread, *answer, due);
  return Taken::kAnswered;
}

// Takes over what the thread did by itself: its clock, and doorbells that ring at their own times.
bool Supervisor::Impl::take_slice(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const Instant clock = instant_from_ps(slot.clock_ps);
  const std::uint32_t count = slot.doorbell_count;
  std::vector<protocol::QueuedDoorbell> doorbells;
  end_turn(process);
  TouchesAhead& touches = process.memory().touches();
  // The thread has made every memory access of adapters that was due before its clock.
  const bool touched = touches.collect(process.region()) && touches.next() > clock;
  bool sound = touched && clock >= slice_start_ && clock <= std::max(engine_.now(), slice_horizon_) &&
               count <= protocol::kMaxQueuedDoorbells;
  const std::size_t host = process.host_index();
  for (std::uint32_t i = 0; sound && i < count; ++i) {
    doorbells.push_back(slot.doorbells[i]);
    const std::int64_t earliest = i == 0 ? to_ps(slice_start_) : doorbells[i - 1].time_ps;
    sound = doorbells[i].time_ps >= earliest && doorbells[i].time_ps <= to_ps(clock) &&
            to_ps(clock) - doorbells[i].time_ps <= to_ps(horizon_.own_effect(host));
    doorbells[i].cost_ps = std::min(to_ps(modelled_cost(doorbells[i].cost_ps)), doorbells[i].time_ps);
  }
  if (!sound) {
    kill_corrupt_process(process);
    return false;
  }
  slot.doorbell_count = 0;
  if (slot.note_count != 0) [[unlikely]] report_verb_notes(thread, slot, clock);
  if (slot.call_count != 0) [[unlikely]] places_.report_calls(thread, slot);
  slice_end_ = clock;
  ran_ahead_ = std::max(ran_ahead_, clock);
  ran_until_[process.host_index()] = std::max(clock, ran_until_[process.host_index()]);
  thread.queue_doorbells(doorbells, [](Thread& ringing, const protocol::QueuedDoorbell& doorbell) {
    ringing.process().owner<Impl>().ring(ringing, doorbell.kind, doorbell.context, doorbell.number,
                                         doorbell.value, Duration(doorbell.cost_ps));
  });
  return true;
}

// Return address of the program's call that a finding is about.
std::uint64_t Supervisor::Impl::caller_of(Process& process, const protocol::VerbNote& note) {
  std::uint64_t in_header = 0;
  for (const std::uint64_t frame : note.frames) {
    if (frame == 0) break;
    if (!is_return_into_program(process.native_pid(), process.memory(), frame)) continue;
    if (in_header != 0) return frame;
    const auto [known, is_new] = are_in_header_.try_emplace({process.native_pid(), frame});
    if (is_new) known->second = is_in_header_of_verbs(place_of_call(process.native_pid(), frame));
    if (!known->second) return frame;
    in_header = frame;
  }
  return in_header != 0 ? in_header : note.caller;
}

// Records the calls that the verbs provider in the process refused, and findings of its checks.
void Supervisor::Impl::report_verb_notes(Thread& thread, protocol::ThreadSlot& slot, Instant end) {
  Process& process = thread.process();
  const std::uint32_t count = std::min(slot.note_count, protocol::kMaxVerbNotes);
  slot.note_count = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const protocol::VerbNote note = slot.notes[i];
    std::string text(note.text, strnlen(note.text, sizeof note.text));
    // The program may have overwritten the text.
    std::erase_if(text, [](char c) { return c < ' ' || c > '~'; });
    const Instant when = std::clamp(instant_from_ps(note.time_ps), std::min(slice_start_, end), end);
    const char* error = strerrorname_np(note.error);
    const std::size_t verb_end = text.find(": ");
    if (verb_end != text.npos && error != nullptr && note.check == protocol::Check::kNone) {
      text.insert(verb_end, std::string(": ") + error);
    }
    const bool is_finding = note.check != protocol::Check::kNone;
    const std::uint64_t caller = is_finding ? caller_of(process, note) : 0;
    // The stack is copied, since the thread that noted it continues.
    const auto stack = is_finding ? std::make_shared<protocol::NoteStack>() : nullptr;
    if (is_finding && !process.memory().read(note.stack, std::as_writable_bytes(std::span(stack.get(), 1)))) stack->length = 0;
    const auto tell = [this, &process, when, note, caller, stack, text = std::move(text)] {
      if (stack != nullptr) return kernel_.checks().report_note(process, note, caller, *stack, text, when);
      tracer_.diagnose({process.host().component, process.pid(), note.error, text}, when);
    };
    // Reported at its own time, after what the adapter does until then.
    when > engine_.now() ? thread.emit_at(when, tell) : tell();
  }
}

void Supervisor::Impl::ring(Thread& thread, protocol::DoorbellKind kind, std::uint64_t context,
                            std::uint32_t number, std::uint64_t value, Duration call_time) {
  auto& contexts = thread.process().contexts();
  if (context < 1 || context > contexts.size() || !contexts[context - 1]->open()) return;
  if (contexts[context - 1]->owner() != thread.process().pid()) return;
  contexts[context - 1]->hca().ring_doorbell(contexts[context - 1]->handle(), kind, number, value, call_time);
}

void Supervisor::Impl::on_thread(Thread& thread) {
  Process& process = thread.process();
  thread.emit_due();
  if (dead_token_holder_ == &thread) {
    dead_token_holder_ = nullptr;
    end(process);
    return;
  }
  // the number of turns that were proven is reached
  if (thread.state() == Thread::State::kParked) return thread.unpark();
  if (process.stopped_by != 0) return thread.hold(std::nullopt);
  catch_up_parked_siblings(thread);
  if (!process.alive || finished_) return;
  if (!thread.clock_row) show_growth(process);  // a followed clock read does not run the thread yet
  if (const auto answer = thread.take_held_answer()) return resume(thread, *answer);
  const PendingCall& call = thread.call();
  places_.report_lateness(thread, engine_.now());
  switch (call.request) {
    case protocol::Request::kPoll:
      if (auto turn = thread.take_turn()) return finish_turn(thread, std::move(*turn));
      if (const auto answer = park_poll(thread)) resume(thread, *answer);
      return;
    case protocol::Request::kSpend:
      if (is_followed_read(call) && follow_clock(thread)) return;
      resume(thread, {});
      return;
    case protocol::Request::kPoke:
      resume(thread, {});
      return;
    case protocol::Request::kAccess:
      resume(thread, {.result = load_behind_store(thread)});
      return;
    case protocol::Request::kDoorbell:
      ring(thread, static_cast<protocol::DoorbellKind>(call.arguments[1]),
           static_cast<std::uint64_t>(call.arguments[2]), static_cast<std::uint32_t>(call.arguments[3]),
           static_cast<std::uint64_t>(call.arguments[4]),
           std::min(modelled_cost(call.arguments[0]), engine_.now() - Instant{}));
      resume(thread, {});
      return;
    case protocol::Request::kCommand:
      if (const auto answer = kernel_.command(thread)) resume(thread, *answer);
      return;
    case protocol::Request::kForked:
      if (const auto answer = forked(thread)) resume(thread, *answer);
      return;
    case protocol::Request::kSystemCall:
      if (call.number == SYS_execve || call.number == SYS_execveat) {
        if (const auto answer = execute_program(thread)) resume(thread, *answer);
        return;
      }
      if (call.number == SYS_exit_group || call.number == SYS_exit) {
        note_memory_near_limit(process);
        return_memory(process);
      }
      if (const Kernel::Outcome answer = kernel_.execute(thread); answer && process.alive)
        resume(thread, *answer);
      return;
    case protocol::Request::kRefused:
      resume(thread, kernel_.refuse(thread));
      return;
    case protocol::Request::kAttach:
      process.attached = true;
      resume(thread, {.result = place_accesses(thread)});
      return;
    case protocol::Request::kFault:
      kernel_.release_robust_locks(process);
      warn_of_fault(process, thread);
      resume(thread, {});
      return;
    case protocol::Request::kCode:  // these are answered in take_requests()
    case protocol::Request::kReplaceCall:
    case protocol::Request::kMachine:
    case protocol::Request::kFolders:
    case protocol::Request::kView:
    case protocol::Request::kFileEvents:
    case protocol::Request::kFailedPoll:
    case protocol::Request::kTellCall:
    case protocol::Request::kPlace:
    case protocol::Request::kNone:
      break;
  }
  kill_corrupt_process(process);
}

// Puts due signals into the slot. One that ends the process takes effect as soon as the thread has the token.
void Supervisor::Impl::raise_signals(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  slot.raised_count = 0;
  for (const QueuedSignal& queued : take_signals(thread)) {
    const SignalOrigin& origin = queued.origin;
    slot.raised[slot.raised_count++] = {queued.signal,
                                        origin.code,
                                        origin.sender,
                                        origin.status,
                                        origin.value,
                                        origin.timer,
                                        origin.overrun,
                                        queued.to_thread ? 1u : 0u,
                                        origin.user};
    if (is_deadly(process, queued.signal) && !is_masked(thread, queued.signal))
      kernel_.release_robust_locks(process);
  }
}

void Supervisor::Impl::resume(Thread& thread, const Answer& answer) {
  Process& process = thread.process();
  if (process.stopped_by != 0) return thread.hold(answer);
  Horizon::Bounds until = horizon_of_slice(process);
  // A new thread is in no call that a signal could interrupt: it gets its signals with its first
  // call that takes time.
  if (thread.call().request == protocol::Request::kAttach && thread.tid() != process.pid()) {
    process.region().slot(thread.slot()).raised_count = 0;
    if (thread.has_signal()) until = {engine_.now(), {}};
  } else {
    raise_signals(thread);
  }
  grant(thread, answer, engine_.now(), until);
}

// How far a thread that gets the token at the engine's time may run by itself.
Horizon::Bounds Supervisor::Impl::horizon_of_slice(Process& process) {
  const std::size_t host = process.host_index();
  if (options_.mode != Mode::kSlices || has_parked_thread(host)) return {engine_.now(), {}};
  return horizon_.of(host, process.memory(), next_program_event_on(host), virtual_end());
}

std::optional<Instant> Supervisor::Impl::next_program_event_on(std::size_t host) const {
  std::size_t most = 16;  // a longer walk here costs more than a pass over the events of other hosts
  Instant next = kNever;
  for (const Start* start : starts_on_host_[host]) {
    if (most-- == 0) return std::nullopt;
    if (start->timer.scheduled()) next = std::min(next, start->timer.when());
  }
  for (Process* process : on_host_[host]) {
    for (const auto& thread : process->threads()) {
      if (most-- == 0) return std::nullopt;
      next = std::min(next, thread->next_event_time());
    }
  }
  return next;
}

// Gives the token to the thread at virtual time `start`; the thread may let time pass by itself up to its
// horizon. Takes its next request.
void Supervisor::Impl::grant(Thread& thread, const Answer& answer, Instant start, const Horizon::Bounds& bounds) {
  slice_horizon_ = bounds.until;
  Process& process = thread.process();
  process.memory().touches().list(process.region(), bounds.touches);
  fill_slot(thread, answer, start);
  Thread* const before = std::exchange(running_, &thread);
  const bool others_turn = before != nullptr && before != &thread && before->process().alive;
  if (others_turn) two_alternate_ = std::exchange(ran_before_, before) == &thread;
  give_token(thread, others_turn ? &before->process().region().slot(before->slot()) : nullptr);
  const bool ends =
      thread.call().request == protocol::Request::kSystemCall && thread.call().number == SYS_exit &&
      std::count_if(process.threads().begin(), process.threads().end(),
                    [](const auto& other) { return other->state() != Thread::State::kDead; }) > 1;
  if (ends) {
    end_thread(thread);
  } else {
    take_request(process);
  }
}

// `before`: slot of the thread that had the token, if it is another one.
void Supervisor::Impl::give_token(Thread& thread, protocol::ThreadSlot* before) {
  Process& process = thread.process();
  ProcessRegion& region = process.region();
  second_core_->count_hand_over();
  protocol::ThreadSlot& slot = region.slot(thread.slot());
  slot.placements = takes_placements(thread) ? write_behind_.hand_to(process.memory(), region.placements()) : 0;
  write_behind_.flush(process.memory().host());
  slot.looks = second_core_->looks();
  // The thread will get the token again soon, and a futex wake-up would take longer than yielding until then.
  constexpr std::uint32_t kYields = 8;
  slot.yields = second_core_->is_used() && two_alternate_ ? kYields : 0;
  if (second_core_->is_used() != thread.is_batch) set_preempting(thread, !second_core_->is_used());
  given_ = std::chrono::steady_clock::now();
  token_.give(region, thread.slot(), before);
}

// Whether the thread waits at its hand-over and executes no other code before it continues, so it can
// carry out placements.
bool Supervisor::Impl::takes_placements(Thread& thread) {
  const protocol::Request request = thread.call().request;
  return request == protocol::Request::kSpend || request == protocol::Request::kPoll || request == protocol::Request::kDoorbell;
}

// A thread that is woken from another CPU must not preempt the thread that is about to sleep: this would cost
// two context switches. A thread that is woken from its own CPU must preempt its waker, which otherwise
// enters the kernel once more to sleep. SCHED_BATCH has the first property (sched(7)).
void Supervisor::Impl::set_preempting(Thread& thread, bool preempts) {
  if (thread.native_tid() <= 0) return;
  const sched_param none{};
  sched_setscheduler(thread.native_tid(), preempts ? SCHED_OTHER : SCHED_BATCH, &none);
  thread.is_batch = !preempts;  // not retried: where it is refused the run is only slower
}

// Writes everything that the thread gets with the token at virtual time `start`.
void Supervisor::Impl::fill_slot(Thread& thread, const Answer& answer, Instant start) {
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
  thread.expect_lateness(slot);
  if (process.analyst() != nullptr) process.analyst()->begin_slice();
  slice_start_ = start;
  slot.horizon_ps = slice_horizon_ > start ? to_ps(slice_horizon_) : 0;
  const Instant touch = process.memory().touches().next();
  slot.next_touch_ps = touch == kNever ? protocol::kNoTouch : to_ps(touch);
  thread.start_slice(options_.poke_period_us);
  slot.poke_after_us = thread.poke_after_us();
  ++result_.hand_overs;
}

}  // namespace verbatim::supervisor
