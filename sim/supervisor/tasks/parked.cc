// Parked loops with growing values, and the memory that their proofs concern, see parking.h.
#include <algorithm>
#include <iterator>

#include "sim/hca/inspector.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/tasks/mapped_twice.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {

bool overlap(const spin::ByteRun& a, const spin::ByteRun& b) {
  return a.address < b.address + b.bytes.size() && b.address < a.address + a.bytes.size();
}

// Sets entry `i` of the frame that POLL_ENTRY has stored below the stack pointer of `at_entry`.
void show_kept_register(Process& process, protocol::ThreadSlot& slot, const spin::Registers& at_entry, std::size_t i,
                        std::uint64_t value) {
  process.memory().write_later(at_entry.gpr[spin::kRsp] - 8 * (i + 1), std::as_bytes(std::span(&value, 1)));
  slot.poll_registers[protocol::kPollFrame[i]] = value;
}

}  // namespace

void show_kept_registers(Process& process, protocol::ThreadSlot& slot, const spin::Registers& registers) {
  for (std::size_t i = 0; i < std::size(protocol::kPollFrame); ++i) {
    const std::uint64_t value = registers.gpr[protocol::kPollFrame[i]];
    if (value != slot.poll_registers[protocol::kPollFrame[i]]) show_kept_register(process, slot, registers, i, value);
  }
}

bool Parked::polls(std::uint32_t context, std::uint32_t cq_number) const {
  return std::any_of(queues.begin(), queues.end(), [&](const PolledQueue& queue) {
    return queue.context == context && queue.number == cq_number;
  });
}

Instant Parked::time_of(std::int64_t look) const {
  return since + turn * turn_of(look) + looks[static_cast<std::size_t>(look - beginning(look))];
}

std::int64_t Parked::look_due(Instant when) const {
  const std::int64_t passed = to_ps(std::max(when, since) - since);
  const Duration into_turn(passed % to_ps(turn));
  const auto next = std::lower_bound(looks.begin(), looks.end(), into_turn);
  const std::int64_t look = passed / to_ps(turn) * static_cast<std::int64_t>(looks.size()) + (next - looks.begin());
  return std::max<std::int64_t>(look, 1);
}

// Instructions in memory may be replaced, and then differ from those of the proof.
void Parked::watch_code(const ProcessMemory& memory, std::span<const spin::ByteRun> code) {
  const PresentBytes present(memory, code);
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::span<const std::uint8_t> now = present.of(i);
    watched.push_back({code[i].address, {now.begin(), now.end()}});
  }
}

// Whole turns leave these bytes in memory. The next turn begins with them.
void Parked::start(ProcessMemory& memory) const {
  if (growing == nullptr || (left_at != 0 && left_at == memory.epoch())) return;
  memory.write_changed(std::span(watched).last(growing->writes.size()));
}

void Parked::show(ProcessMemory& memory, std::int64_t look) {
  if (growing == nullptr || is_shown) return;
  if (reads_clocks() && look == 0) {  // no turn was skipped
    if (!as_parked.empty()) show(memory, as_parked);
    return;
  }
  if (reads_clocks() && as_parked.empty()) as_parked = watched;
  const auto turns = static_cast<std::uint64_t>(turn_of(look));
  const auto poll = static_cast<std::size_t>(look - beginning(look));
  std::vector<spin::ByteRun> then = watched;
  spin::show_turn(*growing, turns, poll, then);
  show(memory, std::move(then));
}

void Parked::show(ProcessMemory& memory, std::vector<spin::ByteRun> then) {
  is_shown = true;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (then[i].bytes == watched[i].bytes) continue;
    memory.write_later(then[i].address, std::as_bytes(std::span(then[i].bytes)));
    ++writes;
  }
  watched = std::move(then);
  is_shown = false;
}

void Parked::show_registers(Process& process, protocol::ThreadSlot& slot, std::int64_t look) {
  if (growing == nullptr || (reads_clocks() && look == 0)) return;
  const auto turns = static_cast<std::uint64_t>(turn_of(look));
  const spin::Registers& first = growing->begun;
  for (std::size_t i = 0; i < std::size(protocol::kPollFrame); ++i) {
    const unsigned index = protocol::kPollFrame[i];
    if (growing->registers[index].step == 0) continue;
    show_kept_register(process, slot, first, i, spin::grown(growing->registers[index], first.gpr[index], turns));
    ++writes;
  }
}

std::vector<spin::ByteRun> Parked::at_turn(std::vector<spin::ByteRun> runs, std::int64_t look) const {
  if (growing == nullptr || (reads_clocks() && look == 0)) return runs;
  spin::show_turn(*growing, static_cast<std::uint64_t>(turn_of(look)), 0, runs);
  return runs;
}

bool Parked::touches_before(std::int64_t look, const spin::MemoryRange& bytes) const {
  const auto overlaps = [&bytes](std::uint64_t address, std::uint64_t length) {
    return address < bytes.address + bytes.length && bytes.address < address + length;
  };
  const auto last = static_cast<std::size_t>(look - beginning(look));
  if (last == 0) return false;
  const auto is_code = [&](const spin::ByteRun& run) { return overlaps(run.address, run.bytes.size()); };
  if (std::ranges::any_of(proof->code, is_code)) return true;  // not known between which polls it is executed
  for (std::size_t i = 1; i <= last; ++i) {
    const spin::PollAccesses& accesses = *proof->polls[i].accesses;
    const bool is_read =
        std::ranges::any_of(accesses.read, [&](const spin::MemoryRange& range) { return overlaps(range.address, range.length); });
    const bool is_written =
        std::ranges::any_of(accesses.written, [&](const spin::ByteRun& run) { return overlaps(run.address, run.bytes.size()); });
    if (is_read || is_written) return true;
  }
  return false;
}

bool Parked::shared_has_changed(const ProcessMemory& memory) const {
  if (!shared_) shared_ = memory.shared_among(watched);
  if (shared_->empty()) return false;
  std::vector<spin::ByteRun> runs;
  for (const std::size_t i : *shared_) runs.push_back(watched[i]);
  const PresentBytes now(memory, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!now.equal(i, runs[i])) return true;
  }
  return false;
}

void Parked::note_write(std::uint64_t address, std::uint64_t length) {
  constexpr std::size_t kMost = 16;
  ++writes;
  if (!written.empty() && written.back().address + written.back().length == address) {
    written.back().length += length;
  } else if (written.size() < kMost) {
    written.push_back({address, length});
  } else {
    is_incomplete = true;
  }
}

// Each write and each run of a program of the host begins an epoch.
bool Parked::nothing_has_run(std::uint64_t epoch_now) const { return epoch_now - epoch == writes; }

bool Parked::is_as_watched(std::uint64_t epoch_now) const {
  if (!nothing_has_run(epoch_now) || is_incomplete || is_written_elsewhere) return false;
  return std::ranges::none_of(written, [&](const spin::MemoryRange& range) {
    return std::ranges::any_of(watched, [&](const spin::ByteRun& run) {
      return range.address < run.address + run.bytes.size() && run.address < range.address + range.length;
    });
  });
}

bool Parked::is_as_parked_before(std::int64_t look, std::uint64_t epoch_now) const {
  if (growing != nullptr || !nothing_has_run(epoch_now) || is_incomplete || is_written_elsewhere) return false;
  return std::ranges::none_of(written, [&](const spin::MemoryRange& range) { return touches_before(look, range); });
}

bool Parked::changes(std::span<const spin::ByteRun> runs) const {
  if (growing == nullptr) return false;
  return std::any_of(growing->writes.begin(), growing->writes.end(), [&](const spin::ByteRun& written) {
    return std::any_of(runs.begin(), runs.end(), [&](const spin::ByteRun& run) { return overlap(written, run); });
  });
}

bool Parked::may_change(const ProcessMemory& memory, std::span<const spin::MemoryRange> places) const {
  if (growing == nullptr) return false;
  const std::vector<spin::MemoryRange>& changing = growing->changing;
  if (!changes_in_private_) changes_in_private_ = are_private(memory, changing);
  if (!*changes_in_private_) return true;
  const auto end_of = [](const spin::MemoryRange& range) { return range.address + range.length; };
  return std::ranges::any_of(places, [&](const spin::MemoryRange& place) {
    const auto next = std::ranges::upper_bound(changing, place.address, {}, end_of);
    return next != changing.end() && next->address < place.address + place.length;
  });
}

void show_growth(Process& process, std::span<const spin::MemoryRange> accessed) {
  if (process.analyst() != nullptr) process.analyst()->write_followed();
  for (auto& thread : process.threads()) {
    const Parked* const parked = thread->parking.loop();
    if (parked != nullptr && parked->may_change(process.memory(), accessed)) thread->parking.show_growth();
  }
}

void show_growth(Process& process) {
  if (process.analyst() != nullptr) process.analyst()->write_followed();
  for (auto& thread : process.threads()) {
    if (thread->parking.loop() != nullptr) thread->parking.show_growth();
  }
}

// True if no other process can see the bytes that vary, and the loop reads no byte at another address than it changes it.
bool LoopAnalyst::changes_in_private(const spin::PollLoopProof& proof) const {
  return are_private(process_.memory(), proof.varying) &&
         !are_mapped_twice(process_.memory(), proof.changed, proof.reads, proof.writes);
}

// True if memory is as a turn leaves it. A turn may write a byte without having read it. Until it has done so once, the byte may
// have another value, which the program sees if the wait ends within the first turn.
bool LoopAnalyst::has_left(std::span<const spin::ByteRun> left) const {
  const PresentBytes present(process_.memory(), left, true);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!present.equal(i, left[i])) return false;
  }
  return true;
}

// True if a turn changes memory that an adapter may read.
bool LoopAnalyst::writes_registered(const spin::PollLoopProof& proof) const {
  const std::vector<DeviceContext*> contexts = process_.devices().own();
  const auto is_registered = [&](std::uint64_t address, std::uint64_t size) {
    return std::ranges::any_of(contexts, [&](DeviceContext* context) {
      return context->hca().inspector().is_registered(context->handle(), address, size);
    });
  };
  const auto any = [&](const auto& places, const auto& size) {
    return std::ranges::any_of(places, [&](const auto& place) { return is_registered(place.address, size(place)); });
  };
  return any(proof.cells, [](const spin::GrowingCell& cell) { return cell.size; }) ||
         any(proof.remade, [](const spin::MemoryRange& range) { return range.length; }) ||
         any(proof.writes, [](const spin::ByteRun& run) { return run.bytes.size(); });
}

}  // namespace verbatim::supervisor
