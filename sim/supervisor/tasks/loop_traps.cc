#include "sim/supervisor/tasks/loop_traps.h"

#include <algorithm>
#include <utility>

#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

void KnownLoops::add(const Loop& loop) {
  const auto is_same = [&loop](const Loop& other) {
    return other.origin.file == loop.origin.file && other.origin.offset == loop.origin.offset;
  };
  if (loop.origin.file != nullptr && loops_.size() < kMost && std::ranges::none_of(loops_, is_same)) loops_.push_back(loop);
}

void LoopTraps::note_poked(const spin::LoopJump& jump) {
  if (jump.address == 0) return;
  Loop& loop = loops_[jump.address];
  if (loop.traps && process_.patches()->trap_at(jump.address)) return;  // the poke preceded the trap
  if (std::exchange(loop.traps, false)) --traps_;  // the code was unmapped and mapped again
  protocol::PatchedInstruction instruction{.kind = protocol::DecidedInstruction::kLoopJump,
                                           .length = static_cast<std::uint8_t>(jump.length)};
  if (jump.condition) {
    instruction.source = protocol::kJumpsOnCondition;
    instruction.destination = static_cast<std::uint8_t>(*jump.condition);
  }
  process_.patches()->note_waiting(jump.address, instruction);
  known_.add({process_.patches()->origin_of(jump.address), instruction});
  if (++loop.pokes >= loop.pokes_before && traps_ < kMostTraps) trap(jump.address, instruction, loop);
}

void LoopTraps::note_known(std::uint64_t address, const protocol::PatchedInstruction& jump) {
  Loop& loop = loops_[address];
  const bool has_trapped = loop.traps || loop.pokes_before != kPokesBefore;
  if (!has_trapped && traps_ < kMostTraps && !process_.patches()->trap_at(address)) trap(address, jump, loop);
}

void LoopTraps::trap(std::uint64_t address, const protocol::PatchedInstruction& jump, Loop& loop) {
  loop.pokes = loop.vain = 0;
  process_.patches()->release_jump(process_.memory(), address);
  loop.traps = process_.patches()->trap_jump(process_.memory(), address, jump);
  loop.traps ? void(++traps_) : void(loop.pokes_before = kMostPokesBefore);
}

void LoopTraps::note_trapped(std::uint64_t address, bool waits) {
  const auto trap = process_.patches()->trap_at(address);
  // The address is the program's claim.
  if (!trap || trap->kind != protocol::DecidedInstruction::kLoopJump) return;
  Loop& loop = loops_[address];
  loop.vain = waits ? 0 : loop.vain + 1;
  if (loop.vain < kVainBefore) return;
  process_.patches()->note_not_waiting(address);
  process_.patches()->release_jump(process_.memory(), address);
  if (std::exchange(loop.traps, false)) --traps_;
  loop.pokes = loop.vain = 0;
  loop.pokes_before = std::min(loop.pokes_before * 4, kMostPokesBefore);
}

}  // namespace verbatim::supervisor
