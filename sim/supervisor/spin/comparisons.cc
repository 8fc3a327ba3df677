#include "sim/supervisor/spin/comparisons.h"

#include <algorithm>
#include <tuple>

#include "sim/supervisor/spin/alu.h"

namespace verbatim::spin {
namespace {

bool compares(Op op) { return op == Op::kCmp || op == Op::kTest; }

bool evaluates_condition(Op op) { return op == Op::kJcc || op == Op::kSetcc || op == Op::kCmovcc; }

// True if no flag keeps its value. A shift by 0 changes none.
bool replaces_flags(const Instruction& in) {
  const bool is_shift = in.op == Op::kShl || in.op == Op::kShr || in.op == Op::kSar;
  const bool is_counted = in.source.kind == Operand::Kind::kImmediate && (in.immediate & (in.size == 8 ? 63 : 31)) != 0;
  return in.changes_flags == kArithmeticFlags && (!is_shift || is_counted);
}

}  // namespace

bool Comparison::has_same_outcome(std::uint64_t value) const {
  value &= size_mask(size);
  const std::uint32_t flags = is_test           ? result_flags(value & other, size)
                              : memory_is_first ? subtract(value, other, 0, size).flags
                                                : subtract(other, value, 0, size).flags;
  for (unsigned condition = 0; condition < 16; ++condition) {
    if ((evaluated >> condition & 1) != 0 &&
        condition_holds(condition, flags) != ((held >> condition & 1) != 0))
      return false;
  }
  return true;
}

void Comparisons::begin() {
  noted_.clear();
  is_open_ = false;
}

void Comparisons::end() {
  memory_.set_comparing(false);
  is_open_ = false;
}

bool Comparisons::is_constant(const Operand& operand) const {
  if (operand.kind == Operand::Kind::kImmediate) return true;
  return operand.kind == Operand::Kind::kRegister && growth_.registers()[operand.index].step == 0 &&
         growth_.is_whole(operand.index);
}

// Keeps the uses of the last comparison's flags.
void Comparisons::note_flags(const Instruction& in, const MachineState& state) {
  Comparison& last = noted_.back();
  if (evaluates_condition(in.op)) {
    const auto condition = static_cast<unsigned>(in.condition);
    last.evaluated |= static_cast<std::uint16_t>(1u << condition);
    if (condition_holds(condition, state.registers.flags))
      last.held |= static_cast<std::uint16_t>(1u << condition);
    return;
  }
  if (in.needs_flags == 0 && in.changes_flags == 0) return;
  // A part of the flags may remain for a later condition.
  if (in.needs_flags != 0 || !replaces_flags(in)) last.is_exact = true;
  is_open_ = false;
}

bool Comparisons::follow(const Instruction& in, const MachineState& state, std::uint64_t address) {
  if (is_open_) note_flags(in, state);
  const bool is_first = is_memory(in.destination);
  const bool is_noted = compares(in.op) && (is_first ? is_constant(in.source)
                                                     : is_memory(in.source) && is_constant(in.destination));
  memory_.set_comparing(is_noted);
  if (is_noted) {
    const Operand& operand = is_first ? in.source : in.destination;
    const std::uint64_t other =
        operand.kind == Operand::Kind::kImmediate ? in.immediate : state.registers.gpr[operand.index];
    Comparison one;
    one.address = address;
    one.other = other & size_mask(in.size);
    one.size = in.size;
    one.is_test = in.op == Op::kTest;
    one.memory_is_first = is_first;
    noted_.push_back(one);
    is_open_ = true;
  }
  return growth_.follow(in, state, address);
}

std::vector<Comparison> Comparisons::found() const {
  std::vector<Comparison> found;
  const auto key = [](const Comparison& one) {
    return std::tie(one.address, one.other, one.size, one.is_test, one.memory_is_first);
  };
  for (const Comparison& one : noted_) {
    const auto same =
        std::ranges::find_if(found, [&](const Comparison& other) { return key(one) == key(other); });
    if (same == found.end()) {
      found.push_back(one);
      continue;
    }
    same->is_exact |= one.is_exact;
    same->evaluated |= one.evaluated;
    same->held |= one.held;
  }
  std::vector<MemoryRange> exact;
  for (const Comparison& one : found) {
    const MemoryRange range{one.address, one.size};
    if (one.is_exact || !memory_.is_only_compared(range)) exact.push_back(range);
  }
  for (const std::vector<GrowingCell>* const cells : {&growth_.cells(), &growth_.assumed()}) {
    for (const GrowingCell& cell : *cells) exact.push_back({cell.address, cell.size});
  }
  std::erase_if(found, [&](const Comparison& one) {
    return std::ranges::any_of(exact, [&](const MemoryRange& range) {
      return overlap(one.address, one.size, range.address, range.length);
    });
  });
  return found;
}

}  // namespace verbatim::spin
