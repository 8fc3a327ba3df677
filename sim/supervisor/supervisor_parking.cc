// Parking of threads that wait by running; see tasks/parking.h.
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/machine/interposed.h"
#include "sim/supervisor/supervisor_impl.h"
#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor {

namespace {
constexpr unsigned kHandleRegister = 7;  // rdi, in the kernel's register numbering
constexpr double kLongPolling = 0.1;     // seconds
// without a call: longer than a hand-over takes on a busy machine
constexpr std::chrono::milliseconds kLongComputing{2};
}

bool Supervisor::Impl::take_poke(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const auto jump = static_cast<std::uint64_t>(slot.arguments[2]);  // jump of the loop that trapped; 0: poked
  if (jump != 0) {
    thread.brought_lines.note(slot, process.memory());
    thread.brought_lines.use(process.region().mailbox(thread.slot()), process.memory());
  }
  auto parked = analyst_of(process).spin(static_cast<std::uint64_t>(slot.arguments[0]),
                                         static_cast<std::uint64_t>(slot.arguments[1]), jump);
  if (jump != 0) thread.brought_lines.ask_for(process.memory(), slot);
  if (!parked) {
    if (jump == 0) note_computing(thread, slot);
    return false;
  }
  if (!take_slice(thread)) return true;
  wake_who_changes(thread, parked->watched);
  thread.call().request = protocol::Request::kPoke;
  parked->since = slice_end_;
  if (jump == 0) thread.spin_found();
  park(thread, std::move(*parked));
  if (thread.has_signal()) thread.unpark();
  check_watched(process);
  return true;
}

void Supervisor::Impl::park(Thread& thread, Parked parked) {
  WaitingTime& time = waiting_time(thread);
  ++time.parks;
  parked.start(thread.process().memory());
  parked.epoch = thread.process().memory().epoch();
  last_poller_ = nullptr;
  thread.park(std::move(parked), &time.parked);
}

LoopAnalyst& Supervisor::Impl::analyst_of(Process& process) {
  if (process.analyst() == nullptr) {
    const auto& interposed = interposed_functions(options_.shim_directory + "/libverbatim_runtime.so");
    process.analyst() = std::make_unique<LoopAnalyst>(process, options_.epoch_ns, options_.traps_loops, interposed);
  }
  return *process.analyst();
}

// A thread of this host has run and may have changed memory that parked threads watch.
void Supervisor::Impl::check_watched(Process& ran) {
  for (Process* const process : on_host_[ran.host_index()]) {
    if (!process->alive) continue;
    for (auto& thread : process->threads()) {
      if (thread->parked() != nullptr && watched_bytes_changed(*thread)) thread->unpark();
    }
  }
}

bool Supervisor::Impl::watched_bytes_changed(Thread& thread) {
  const PresentBytes now(thread.process().memory(), thread.parked()->watched);
  const std::vector<spin::ByteRun>& watched = thread.parked()->watched;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (!now.equal(i, watched[i])) return true;
  }
  return false;
}

namespace {

// Whether the write has changed bytes of `run`.
bool changes(const ProcessMemory& memory, const ProcessMemory::Written& written, const spin::ByteRun& run) {
  const std::uint64_t begin = std::max(run.address, written.address);
  const std::uint64_t end = std::min(run.address + run.bytes.size(), written.address + written.bytes.size());
  if (begin >= end) return false;
  if (!written.is_complete) return !PresentBytes(memory, {&run, 1}).equal(0, run);
  const std::byte* const now = written.bytes.data() + (begin - written.address);
  return std::memcmp(now, run.bytes.data() + (begin - run.address), end - begin) != 0;
}

}  // namespace

// The thread spins and is released by bytes that an adapter may have written: the bytes of a packet arrive in
// any order (Check::kWriteTarget).
void Supervisor::Impl::check_reads_beside(Thread& thread, const ProcessMemory::Written& written) {
  constexpr auto kCheck = protocol::Check::kWriteTarget;
  Process& process = thread.process();
  const Parked& parked = *thread.parked();
  if ((options_.checks & check_bit(kCheck)) == 0 || parked.kind != Parked::Kind::kSpin || written.bytes.size() <= 1) return;
  if (!process.memory().placed.was_last(written.address, written.bytes.size(), engine_.now())) return;
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const std::uint64_t reads = analyst_of(process).read_beside(static_cast<std::uint64_t>(slot.arguments[0]),
                                                              static_cast<std::uint64_t>(slot.arguments[1]), parked,
                                                              {written.address, written.bytes.size()});
  if (reads == 0) return;
  // Passed as a return address: the place is looked up before it.
  kernel_.checks().report(process, kCheck, reads + 1,
                          fmt::format("thread {} has waited in a loop until some of {} bytes at {:#x} changed, which an adapter writes, and reads "
                                      "others of them before it has polled a completion: the bytes of a message arrive in any order",
                                      thread.tid(), written.bytes.size(), written.address),
                          engine_.now());
}

void Supervisor::Impl::on_memory_written(Process& process, const ProcessMemory::Written& written) {
  for (auto& thread : process.threads()) {
    if (thread->parked() == nullptr || thread->parked()->is_shown) continue;
    thread->note_write(written.address, written.bytes.size());
    const auto& watched = thread->parked()->watched;
    if (std::ranges::none_of(watched, [&](const auto& run) { return changes(process.memory(), written, run); })) continue;
    check_reads_beside(*thread, written);
    thread->unpark();
  }
  for (Process* const other : on_host_[process.host_index()]) {
    if (other != &process && other->alive) check_shared(*other);
  }
}

// Memory that the process may share has been written: unparks its threads whose watched shared
// bytes have changed.
void Supervisor::Impl::check_shared(Process& process) {
  for (auto& thread : process.threads()) {
    const Parked* const parked = thread->parked();
    if (parked != nullptr && !parked->is_shown && parked->shared_has_changed(process.memory())) thread->unpark();
  }
}

// No other thread of the host runs before something outside happens. A thread about to poll that was not
// just unparked does not count: it is expected to find nothing, and if it finds something, check_watched
// notices its changes.
bool Supervisor::Impl::alone_on_host(const Thread& thread, std::size_t host) const {
  for (Process* const process : on_host_[host]) {
    if (!process->alive) continue;
    for (const auto& other : process->threads()) {
      if (other.get() == &thread || other->state() != Thread::State::kPending) continue;
      if (other->call().request != protocol::Request::kPoll || other->is_unparked()) return false;
    }
  }
  return true;
}

bool Supervisor::Impl::has_parked_thread(std::size_t host) const {
  for (Process* const process : on_host_[host]) {
    if (!process->alive) continue;
    for (const auto& thread : process->threads()) {
      if (thread->parked() != nullptr) return true;
    }
  }
  return false;
}

// The poll is due. If it finds nothing and the program will only poll again, the turns in between
// are skipped: returns nullopt, and the thread is parked. Otherwise returns the answer to the poll, which
// also asks for the next poll where a proof needs to see it.
std::optional<Answer> Supervisor::Impl::park_poll(Thread& thread) {
  Process& process = thread.process();
  // Calls that found nothing and whose answers are still valid.
  const Thread::KnownCalls known = thread.still_empty(thread.call().number >> protocol::kKnownCallsShift);
  const Answer go_on{.result = protocol::kPollsAlone, .repeats = known_places(known)};
  const bool was_parked = thread.take_unparked();
  if (options_.mode != Mode::kSlices || thread.has_signal() || !alone_on_host(thread, process.host_index())) return go_on;
  const PendingCall& call = thread.call();
  // The change that it was parked for has happened; another turn of the same loop is unlikely.
  if (was_parked || call.arguments[0] <= 0) return go_on;
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const auto& registers = slot.poll_registers;
  const SeenPoll poll{.handle = registers[kHandleRegister],
                      .queue = {static_cast<std::uint32_t>(call.arguments[1]), static_cast<std::uint32_t>(call.arguments[2])},
                      .entry = static_cast<std::uint64_t>(call.arguments[3]),
                      .sequence = static_cast<std::uint32_t>(call.arguments[4]),
                      .cost = Duration(call.arguments[0]),
                      .at = engine_.now(),
                      .yields = (call.number & protocol::kYields) != 0,
                      .polls_before = slot.polls_alone};
  if (shows_something(process, poll)) return go_on;
  LoopAnalyst& analyst = analyst_of(process);
  thread.brought_lines.use(process.region().mailbox(thread.slot()), process.memory());
  auto parked = analyst.poll_loop(call, registers, poll, known);
  thread.brought_lines.ask_for(process.memory(), process.region().slot(thread.slot()));
  if (!parked) {
    if (analyst.polls_to_pass() != 0) note_refusal(thread, analyst.poll_refusal());
    return Answer{.result = analyst.polls_to_pass(), .repeats = go_on.repeats};
  }
  if (wake_who_changes(thread, parked->watched) || is_watched(thread, *parked)) return go_on;
  park(thread, std::move(*parked));
  return std::nullopt;
}

// Unparks parked threads whose skipped turns would change what `thread` is about to watch; their turns are
// executed instead. Values that change from turn to turn are private to the process.
bool Supervisor::Impl::wake_who_changes(Thread& thread, std::span<const spin::ByteRun> watched) {
  bool any = false;
  for (auto& other : thread.process().threads()) {
    if (other.get() == &thread || other->parked() == nullptr || !other->parked()->changes(watched)) continue;
    other->unpark();
    any = true;
  }
  return any;
}

// Whether a parked thread watches a byte that the turns of `parked` change.
bool Supervisor::Impl::is_watched(Thread& thread, const Parked& parked) const {
  return std::ranges::any_of(thread.process().threads(), [&](const auto& other) {
    return other.get() != &thread && other->parked() != nullptr && parked.changes(other->parked()->watched);
  });
}

WaitingTime& Supervisor::Impl::waiting_time(Thread& thread) {
  return waiting_times_.of(thread.tid(),
                           [&] { return fmt::format("{}, thread {}", title(thread.process()), thread.tid()); });
}

void Supervisor::Impl::note_refusal(Thread& thread, const std::string& why) {
  WaitingTime& time = waiting_time(thread);
  if (time.refusal == why) return;
  time.refusal = why;
  // The return address is on the stack.
  constexpr unsigned kStackRegister = 4;
  std::uint64_t address = 0;
  const auto bytes = std::as_writable_bytes(std::span(&address, 1));
  const std::uint64_t stack = thread.process().region().slot(thread.slot()).poll_registers[kStackRegister];
  if (!thread.process().memory().read(stack, bytes)) return;
  time.place = place_in_files(thread.process().native_pid(), address);
  polls_to_place_[thread.tid()] = address;
}

// The thread was poked and does not wait: it computes.
void Supervisor::Impl::note_computing(Thread& thread, const protocol::ThreadSlot& slot) {
  add_computing(thread, std::chrono::steady_clock::now() - given_);
  const std::uint64_t saved = static_cast<std::uint64_t>(slot.arguments[0]) + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
  std::uint64_t code = 0;
  if (thread.process().memory().read_present(saved, std::as_writable_bytes(std::span(&code, 1))) == sizeof code)
    computing_[thread.tid()].at = code;
}

// The lookup of a source line takes milliseconds: it is done after 1, 2, 4, 8 … seconds.
void Supervisor::Impl::add_computing(Thread& thread, std::chrono::duration<double> passed) {
  Computing& computing = computing_[thread.tid()];
  const double before = std::exchange(computing.seconds, computing.seconds + passed.count());
  if (computing.seconds < 1) return;  // too short to report
  WaitingTime& time = waiting_time(thread);
  time.computing_seconds = computing.seconds;
  if (computing.at != 0 && std::ilogb(before) != std::ilogb(computing.seconds))
    time.computing_place = place_of_call(thread.process().native_pid(), computing.at + 1);
}

// The thread returns the token. The time since the last return counts as polling if polls
// are all that it did.
void Supervisor::Impl::note_polling(Thread& thread, const protocol::ThreadSlot& slot) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> passed = now - std::exchange(handed_back_, now);
  second_core_->note_answer(now - given_);
  const bool polls = slot.request == protocol::Request::kPoll || slot.polls_alone > protocol::kPollsAlone;
  if (running_ != &thread) return;
  if (!polls && now - given_ > kLongComputing) add_computing(thread, now - given_);
  if (!polls) return;
  if (std::exchange(last_poller_, &thread) != &thread) return;
  WaitingTime& time = waiting_time(thread);
  time.polling_seconds += passed.count();
  // The lookup of a source line takes milliseconds: it is done only for threads that are reported.
  if (time.polling_seconds < kLongPolling) return;
  if (const auto poll = polls_to_place_.extract(thread.tid()); !poll.empty())
    time.place = place_of_call(thread.process().native_pid(), poll.mapped());
}

// Whether the completion queue entry of the poll is visible.
bool Supervisor::Impl::shows_something(Process& process, const SeenPoll& poll) {
  if (poll.yields) return false;
  if (poll.entry % alignof(protocol::Cqe) != 0 || poll.entry > protocol::kArenaSize - sizeof(protocol::Cqe)) return true;
  auto* entry = reinterpret_cast<protocol::Cqe*>(process.region().arena().data() + poll.entry);
  return std::atomic_ref(entry->sequence).load(std::memory_order_acquire) == poll.sequence &&
         instant_from_ps(entry->visible_at_ps) <= engine_.now();
}

// Restores, for the rest of the turn, the content that memory had when the turn began, where the rest of the
// turn reads it. Keeps the present content in changed_in_turn_. Returns whether it wrote anything.
bool Supervisor::Impl::restore_turn_start_memory(Thread& thread, const Thread::Turn& turn) {
  ProcessMemory& memory = thread.process().memory();
  std::vector<spin::ByteRun> as_it_began;
  const std::vector<spin::ByteRun>& watched = turn.parked->watched;
  const PresentBytes present(memory, watched);
  for (std::size_t n = 0; n < watched.size(); ++n) {
    const std::span<const std::uint8_t> now = present.of(n);
    spin::ByteRun first = turn.parked->at_turn(watched[n], turn.looks);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] == watched[n].bytes[i]) continue;
      const std::uint64_t address = watched[n].address + i;
      if (!turn.parked->reads_clocks() && !turn.parked->touches_before(turn.looks, {address, 1})) {
        first.bytes[i] = now[i];
        continue;
      }
      const bool goes_on = !changed_in_turn_.empty() &&
                           changed_in_turn_.back().address + changed_in_turn_.back().bytes.size() == address;
      if (!goes_on) changed_in_turn_.emplace_back().address = address;
      changed_in_turn_.back().bytes.push_back(now[i]);
    }
    if (!now.empty() && !present.equal(n, first)) as_it_began.push_back(std::move(first));
  }
  for (const spin::ByteRun& run : as_it_began) memory.write(run.address, std::as_bytes(std::span(run.bytes)));
  return !as_it_began.empty();
}

// The thread executes the rest of the turn itself, in the past: its polls find nothing, and it takes no
// virtual time of its own beyond the turn's. Memory that has changed since and that the rest of the turn
// reads shows its old content until the poll that is due; that poll then returns the token. Without such
// memory the thread continues.
void Supervisor::Impl::finish_turn(Thread& thread, Thread::Turn turn) {
  const bool is_as_parked = turn.parked->is_as_parked_before(turn.looks, thread.process().memory().epoch());
  const bool shows_past = !is_as_parked && restore_turn_start_memory(thread, turn);
  // signals are delivered with the poll that is due
  thread.process().region().slot(thread.slot()).raised_count = 0;
  // The thread must not return the token before: this covers the rest of the turn and one turn more.
  const auto polls = static_cast<std::int64_t>(2 * turn.parked->looks.size()) + protocol::kPollsAlone;
  const bool goes_on = !shows_past && changed_in_turn_.empty() && !turn.parked->reads_clocks() && !thread.has_signal();
  if (goes_on) thread.take_unparked();  // the poll that is due is among those it makes itself
  Horizon::Bounds until{turn.due, {}};
  if (goes_on) until = horizon_of_slice(thread.process());
  until.until = std::max(until.until, turn.due);
  grant(thread, {.result = polls, .repeats = turn.parked->known_calls}, turn.start, until);
  // for a program that was stopped meanwhile: these bytes belong to no other process
  changed_in_turn_.clear();
}

// `thread` is about to run. Threads of its process whose turns take virtual time, and whose memory it may
// read, first do what they would have done until now.
void Supervisor::Impl::catch_up_parked_siblings(Thread& thread) {
  for (const auto& other : thread.process().threads()) {
    if (other->parked() == nullptr || !other->parked()->reads_clocks()) continue;
    other->unpark();
    if (auto turn = other->take_turn()) finish_turn(*other, std::move(*turn));
    if (!thread.process().alive || finished_) return;
  }
}

// If the next event is far off, running the loop is cheaper than interpreting it, despite the hand-over.
bool Supervisor::Impl::has_distant_horizon(Process& process) {
  constexpr auto kLong = std::chrono::microseconds(1600);  // at least 32 reads
  return horizon_of_slice(process).until - engine_.now() > kLong;
}

// The thread reads a clock. If its next action is to read it again from the same place, this is interpreted,
// and the result is true: the thread is pending until the next read has taken its time. Otherwise its
// registers and memory are set to the state of this read, and it runs.
bool Supervisor::Impl::follow_clock(Thread& thread) {
  Process& process = thread.process();
  const PendingCall& call = thread.call();
  LoopAnalyst& analyst = analyst_of(process);
  const bool is_first = !thread.clock_row;
  if (is_first) {
    analyst.write_followed();
    const auto& saved = process.region().slot(thread.slot()).poll_registers;
    const Instant began(std::clamp(instant_from_ps(call.arguments[1]), Instant{}, engine_.now()));
    Thread::ClockRow& row = *(thread.clock_row = Thread::ClockRow{});
    row.began = began;
    std::copy_n(saved, row.at_entry.gpr.size(), row.at_entry.gpr.begin());
    row.at_entry.rip = saved[16];
    row.at_entry.fs_base = saved[17];
  }
  Thread::ClockRow& row = *thread.clock_row;
  const std::uint64_t place = row.at_entry.rip ^ row.at_entry.gpr[spin::kRsp] << 20;
  std::optional<spin::ClockStep> step;
  constexpr unsigned kReadsBetweenLooks = 16;
  const bool is_alone = row.followed % kReadsBetweenLooks == 0 && has_distant_horizon(process);
  if (is_alone) analyst.write_followed();
  const bool may_follow = options_.mode == Mode::kSlices && !is_alone && !thread.has_signal();
  if (may_follow && (!is_first || analyst.may_follow_clock(place))) {
    if (is_first) thread.brought_lines.use(process.region().mailbox(thread.slot()), process.memory());
    step = analyst.follow_clock(thread, row.at_entry, engine_.now(), row.began);
    if (is_first) thread.brought_lines.ask_for(process.memory(), process.region().slot(thread.slot()));
    if (is_first || !step) analyst.note_followed(place, !step && row.followed == 0);
  }
  if (!step) {
    show_growth(process);
    if (row.followed != 0) show_kept_registers(process, process.region().slot(thread.slot()), row.at_entry);
    thread.clock_row.reset();
    return false;
  }
  row.at_entry = step->at_entry;
  ++row.followed;
  thread.run_at(engine_.now() + Duration(step->cost_ps));
  return true;
}

void Supervisor::Impl::end_turn(Process& process) {
  for (const spin::ByteRun& run : changed_in_turn_) process.memory().write(run.address, std::as_bytes(std::span(run.bytes)));
  changed_in_turn_.clear();
}

}  // namespace verbatim::supervisor
