#include "sim/supervisor/parking_lot.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/machine/interposed.h"
#include "sim/supervisor/thread_times.h"
#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor {

std::optional<Parked> ParkingLot::find_spin(Thread& thread, const request::Poke& poke) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const bool is_trapped = poke.jump != 0;
  if (is_trapped) {
    thread.brought_lines.note(slot, process.memory());
    thread.brought_lines.use(process.region().mailbox(thread.slot()), process.memory());
  }
  auto parked = analyst_of(process).spin(poke.context, poke.fs_base, poke.jump);
  if (is_trapped) thread.brought_lines.ask_for(process.memory(), slot);
  if (!parked && !is_trapped) times_.note_computing(thread, poke.context);
  return parked;
}

void ParkingLot::park_spin(Thread& thread, const request::Poke& poke, Parked parked, Instant since) {
  wake_who_changes(thread, parked.watched);
  thread.set_request(poke);
  parked.since = since;
  if (poke.jump == 0) thread.poke.spin_found();
  park(thread, std::move(parked));
  if (thread.signals.has_deliverable()) thread.unpark();
  check_watched(thread.process());
}

void ParkingLot::park(Thread& thread, Parked parked) {
  WaitingTime& time = times_.of(thread);
  ++time.parks;
  parked.start(thread.process().memory());
  parked.epoch = thread.process().memory().epoch();
  times_.end_polling();
  thread.park(std::move(parked), &time.parked);
}

LoopAnalyst& ParkingLot::analyst_of(Process& process) {
  if (process.analyst() == nullptr) {
    const auto& interposed = interposed_functions(run_.options.shim_directory + "/libverbatim_runtime.so");
    process.analyst() =
        std::make_unique<LoopAnalyst>(process, run_.options.epoch_ns, run_.options.traps_loops, interposed, loops_);
  }
  return *process.analyst();
}

void ParkingLot::begin_slice(Process& process) {
  while (process.known_loops < loops_.loops().size()) {
    const KnownLoops::Loop& loop = loops_.loops()[process.known_loops++];
    const auto address = process.patches()->address_of(*loop.origin.file, loop.origin.offset);
    if (address) analyst_of(process).traps().note_known(*address, loop.jump);
  }
  if (process.analyst() != nullptr) process.analyst()->begin_slice();
}

void ParkingLot::check_watched(const Process& ran) {
  private_pages_ = {};
  for (Process* const process : processes_.on_host(ran.host_index())) {
    if (!process->alive) continue;
    for (auto& thread : process->threads()) {
      if (thread->parking.loop() != nullptr && watched_bytes_changed(*thread)) thread->unpark();
    }
  }
}

bool ParkingLot::watched_bytes_changed(Thread& thread) {
  const PresentBytes now(thread.process().memory(), thread.parking.loop()->watched);
  const std::vector<spin::ByteRun>& watched = thread.parking.loop()->watched;
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
void ParkingLot::check_reads_beside(Thread& thread, const ProcessMemory::Written& written) {
  constexpr auto kCheck = protocol::Check::kWriteTarget;
  Process& process = thread.process();
  const Parked& parked = *thread.parking.loop();
  if ((run_.options.checks & check_bit(kCheck)) == 0 || parked.kind != Parked::Kind::kSpin ||
      written.bytes.size() <= 1)
    return;
  if (!process.memory().placed.was_last(written.address, written.bytes.size(), run_.engine.now())) return;
  const auto& poke = std::get<request::Poke>(thread.request());
  const std::uint64_t reads = analyst_of(process).read_beside(poke.context, poke.fs_base, parked,
                                                              {written.address, written.bytes.size()});
  if (reads == 0) return;
  // Passed as a return address: the place is looked up before it.
  checks_.report(
      process, kCheck, reads + 1,
      fmt::format(
          "thread {} has waited in a loop until some of {} bytes at {:#x} changed, which an adapter writes, and reads "
          "others of them before it has polled a completion: the bytes of a message arrive in any order",
          thread.tid(), written.bytes.size(), written.address),
      run_.engine.now());
}

void ParkingLot::on_memory_written(Process& process, const ProcessMemory::Written& written) {
  for (auto& thread : process.threads()) {
    if (thread->parking.loop() == nullptr || thread->parking.loop()->is_shown) continue;
    thread->parking.note_write(written.address, written.bytes.size());
    const auto& watched = thread->parking.loop()->watched;
    if (std::ranges::none_of(watched,
                             [&](const auto& run) { return changes(process.memory(), written, run); }))
      continue;
    check_reads_beside(*thread, written);
    thread->unpark();
  }
  // The process itself may have mapped the same memory at another address.
  const auto waits = [](const auto& thread) { return thread->parking.loop() != nullptr && !thread->parking.loop()->is_shown; };
  const bool is_elsewhere =
      std::ranges::any_of(process.threads(), waits) && may_be_elsewhere(process.memory(), written.address, written.bytes.size());
  for (Process* const other : processes_.on_host(process.host_index())) {
    if (other == &process ? is_elsewhere : other->alive) check_shared(*other);
  }
}

// True if the bytes may have other addresses too. A private page has one.
bool ParkingLot::may_be_elsewhere(const ProcessMemory& memory, std::uint64_t address, std::uint64_t length) {
  constexpr std::uint64_t kPage = spin::MemoryView::kPageSize, kAtOnce = 64;
  if (length == 0) return false;
  const std::uint64_t first = address / kPage, end = (address + length - 1) / kPage + 1;
  PrivatePages& known = private_pages_;
  if (known.of == &memory && known.first <= first && end <= known.end) return false;
  known = {&memory, first, first + memory.private_pages(first, std::max(end - first, kAtOnce))};
  return known.end < end;
}

// Memory that the process may share has been written: unparks its threads whose watched shared
// bytes have changed.
void ParkingLot::check_shared(Process& process) {
  for (auto& thread : process.threads()) {
    const Parked* const parked = thread->parking.loop();
    if (parked == nullptr || parked->is_shown || !parked->shared_has_changed(process.memory())) continue;
    thread->parking.note_write_elsewhere();
    thread->unpark();
  }
}

std::optional<Answer> ParkingLot::park_poll(Thread& thread, const request::Poll& poll) {
  Process& process = thread.process();
  // Calls that found nothing and whose answers are still valid.
  const KnownCalls known = thread.empty_calls.still_empty(poll.known_calls);
  const Answer go_on{.result = protocol::kPollsAlone, .repeats = known_places(known)};
  const bool has_ended_turns = thread.parking.take_own_end();
  const bool was_parked = thread.parking.take_unparked() && !has_ended_turns;
  if (run_.options.mode != Mode::kSlices || thread.signals.has_deliverable() ||
      !processes_.is_alone(thread, run_.engine.now()))
    return go_on;
  // The change that it was parked for has happened; another turn of the same loop is unlikely.
  if (was_parked || poll.seen.cost <= Duration::zero()) return go_on;
  SeenPoll seen = poll.seen;
  seen.at = run_.engine.now();
  if (shows_something(process, seen)) return go_on;
  LoopAnalyst& analyst = analyst_of(process);
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  thread.brought_lines.use(process.region().mailbox(thread.slot()), process.memory());
  auto parked = has_ended_turns ? analyst.poll_on(slot.poll_registers, seen, known)
                                : analyst.poll_loop(slot.poll_registers, seen, known);
  thread.brought_lines.ask_for(process.memory(), slot);
  if (!parked && has_ended_turns) return go_on;
  if (!parked) {
    if (analyst.polls_to_pass() != 0) times_.note_refusal(thread, analyst.poll_refusal());
    return Answer{.result = analyst.polls_to_pass(), .repeats = go_on.repeats};
  }
  if (wake_who_changes(thread, parked->watched) || is_watched(thread, *parked)) return go_on;
  park(thread, std::move(*parked));
  return std::nullopt;
}

bool ParkingLot::wake_who_changes(Thread& thread, std::span<const spin::ByteRun> watched) {
  bool any = false;
  for (auto& other : thread.process().threads()) {
    if (other.get() == &thread || other->parking.loop() == nullptr || !other->parking.loop()->changes(watched)) continue;
    other->unpark();
    any = true;
  }
  return any;
}

bool ParkingLot::is_watched(Thread& thread, const Parked& parked) {
  return std::ranges::any_of(thread.process().threads(), [&](const auto& other) {
    return other.get() != &thread && other->parking.loop() != nullptr && parked.changes(other->parking.loop()->watched);
  });
}

bool ParkingLot::shows_something(Process& process, const SeenPoll& poll) const {
  if (poll.yields) return false;
  if (poll.entry % alignof(protocol::Cqe) != 0 || poll.entry > protocol::kArenaSize - sizeof(protocol::Cqe))
    return true;
  auto* entry = reinterpret_cast<protocol::Cqe*>(process.region().arena().data() + poll.entry);
  return std::atomic_ref(entry->sequence).load(std::memory_order_acquire) == poll.sequence &&
         instant_from_ps(entry->visible_at_ps) <= run_.engine.now();
}

// Restores, for the rest of the turn, the content that memory had when the turn began, where the rest of the
// turn reads it. Keeps the present content in changed_in_turn_. Returns whether it wrote anything.
bool ParkingLot::restore_turn_start_memory(Thread& thread, const ThreadParking::Turn& turn) {
  ProcessMemory& memory = thread.process().memory();
  std::vector<spin::ByteRun> as_it_began;
  const std::vector<spin::ByteRun>& watched = turn.parked->watched;
  std::vector<spin::ByteRun> begun = turn.parked->at_turn(watched, turn.looks);
  if (turn.parked->is_as_watched(memory.epoch())) {
    for (std::size_t n = 0; n < watched.size(); ++n) {
      if (begun[n].bytes != watched[n].bytes) as_it_began.push_back(std::move(begun[n]));
    }
    for (const spin::ByteRun& run : as_it_began) memory.write_later(run.address, std::as_bytes(std::span(run.bytes)));
    return !as_it_began.empty();
  }
  const PresentBytes present(memory, watched);
  for (std::size_t n = 0; n < watched.size(); ++n) {
    const std::span<const std::uint8_t> now = present.of(n);
    spin::ByteRun& first = begun[n];
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

ParkingLot::TurnStart ParkingLot::start_turn(Thread& thread, const ThreadParking::Turn& turn) {
  const bool is_as_parked = turn.parked->is_as_parked_before(turn.looks, thread.process().memory().epoch());
  const bool shows_past = !is_as_parked && restore_turn_start_memory(thread, turn);
  // signals are delivered with the poll that is due
  thread.process().region().slot(thread.slot()).raised_count = 0;
  // The thread must not return the token before: this covers the rest of the turn and one turn more.
  const auto polls = static_cast<std::int64_t>(2 * turn.parked->looks.size()) + protocol::kPollsAlone;
  const bool goes_on =
      !shows_past && changed_in_turn_.empty() && !turn.parked->reads_clocks() && !thread.signals.has_deliverable();
  if (goes_on) thread.parking.take_unparked();  // the poll that is due is among those it makes itself
  return {{.result = polls, .repeats = turn.parked->known_calls}, goes_on};
}

void ParkingLot::restore_present(Process& process) {
  for (const spin::ByteRun& run : changed_in_turn_)
    process.memory().write(run.address, std::as_bytes(std::span(run.bytes)));
  changed_in_turn_.clear();
}

std::string why_not_parked(Process& process) {
  if (process.analyst() == nullptr || process.analyst()->refusal().empty()) return "";
  return " (its loop could not be proven to be a wait: it " + process.analyst()->refusal() + ")";
}

}  // namespace verbatim::supervisor
