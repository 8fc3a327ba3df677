// Growing values, and the number of turns in which comparisons keep their outcome. The rules of each kind of
// instruction are in growth_operations.cc.
#include "sim/supervisor/spin/growth.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/supervisor/spin/alu.h"

namespace verbatim::spin {
namespace {

// Inverse of an odd number modulo 2^64 (Newton: each iteration doubles the number of correct bits).
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t result = odd;
  for (int i = 0; i < 5; ++i) result *= 2 - odd * result;
  return result;
}

constexpr __int128 kFar = static_cast<__int128>(1) << 100;

}  // namespace

void Growth::begin(const std::array<GrowingRegister, 16>& registers, std::vector<ByteRun> changed, std::uint64_t horizon) {
  registers_ = registers;
  for (unsigned index = 0; index < registers_.size(); ++index) registers_[index].sources = Sources{1} << index;
  limits_.clear();
  combined_.clear();
  sources_ = flags_sources_ = 0;
  period_ = flags_period_ = 0;
  constant_low_ = {};
  halves_ = {};
  cells_.clear();
  assumed_.clear();
  constant_.clear();
  changed_ = std::move(changed);
  turns_ = turns_by_rule_ = kEveryTurn;
  reason_ = Reason::kNone;
  growing_flags_ = flags_set_ = 0;
  horizon_ = horizon;
  register_bounds_ = vector_bounds_ = high_bounds_ = {};
  bounded_.clear();
  sign_size_ = 0;
  flags_bounded_ = false;
}

void Growth::forget(std::uint16_t mask) {
  for (unsigned index = 0; index < 16; ++index) {
    if ((mask >> index & 1) == 0) continue;
    registers_[index] = {};
    constant_low_[index] = 0;
    register_bounds_[index].reset();
  }
  halves_ = {};
  vector_bounds_ = high_bounds_ = {};
  growing_flags_ = flags_set_ = 0;
  flags_bounded_ = false;
  sign_size_ = 0;
}

GrowingRegister Growth::widened(const GrowingRegister& grows, std::uint64_t value) {
  if (grows.size == 8 || grows.step == 0) return grows;
  sources_ |= grows.sources;
  keep_unsigned({value & size_mask(grows.size), grows.step}, grows.size);
  return {sign_extend(grows.step, grows.size), 8, grows.sources};
}

bool Growth::read_register(unsigned index, unsigned size, Value& value) {
  const GrowingRegister& grows = registers_[index];
  const std::uint64_t now = state_->registers.gpr[index];
  value = {now & size_mask(size), 0};
  if (register_bounds_[index] && size > constant_low_[index]) return fail(Reason::kGrowingResult);
  if (grows.step == 0 || size <= constant_low_[index]) return true;
  if (constant_low_[index] != 0) return fail(Reason::kGrowingPart);
  sources_ |= grows.sources;
  value.step = (size <= grows.size ? grows : widened(grows, now)).step & size_mask(size);
  return true;
}

bool Growth::read(const Instruction& in, const Operand& operand, unsigned size, Value& value) {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      return read_register(operand.index, size, value);
    case Operand::Kind::kHighByte:
      value = {state_->registers.gpr[operand.index] >> 8 & 0xff, 0};
      if (register_bounds_[operand.index]) return fail(Reason::kGrowingPart);
      return registers_[operand.index].step == 0 || constant_low_[operand.index] >= 2 || fail(Reason::kGrowingPart);
    case Operand::Kind::kImmediate:
      value = {in.immediate & size_mask(size), 0};
      return true;
    case Operand::Kind::kMemory:
      return load(address_, size, value);
    default:
      return fail(Reason::kUnsupported);
  }
}

bool Growth::write_register(unsigned index, unsigned size, std::uint64_t step) {
  if (index == kRax || index == kRdx) sign_size_ = 0;
  GrowingRegister& grows = registers_[index];
  step &= size_mask(size);
  if (size >= 4) {
    grows = step == 0 ? GrowingRegister{} : GrowingRegister{step, static_cast<std::uint8_t>(size), sources_};
    constant_low_[index] = 0;
    register_bounds_[index].reset();
    return true;
  }
  if (step != 0) return fail(Reason::kGrowingPart);
  if (grows.step != 0 || register_bounds_[index])
    constant_low_[index] = std::max(constant_low_[index], static_cast<std::uint8_t>(size));
  return true;
}

bool Growth::write(const Operand& operand, unsigned size, std::uint64_t step) {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      return write_register(operand.index, size, step);
    case Operand::Kind::kHighByte:
      sign_size_ = 0;
      return (step == 0 && registers_[operand.index].step == 0 && !register_bounds_[operand.index]) ||
             fail(Reason::kGrowingPart);
    case Operand::Kind::kMemory:
      return store(address_, size, step);
    default:
      return fail(Reason::kUnsupported);
  }
}

bool Growth::changes(std::uint64_t address, std::uint64_t length, std::uint8_t* next) const {
  bool any = false;
  for (const ByteRun& run : changed_) {
    if (!overlap(address, length, run.address, run.bytes.size())) continue;
    for (std::uint64_t at = std::max(address, run.address); at < std::min(address + length, run.address + run.bytes.size());
         ++at) {
      const bool was_read = std::any_of(assumed_.begin(), assumed_.end(), [&](const GrowingCell& cell) {
        return overlap(at, 1, cell.address, cell.size);
      });
      if (was_read) continue;
      any = true;
      if (next != nullptr) next[at - address] = run.bytes[at - run.address];
    }
  }
  return any;
}

std::vector<GrowingCell> Growth::cells_in(const std::vector<ByteRun>& runs) const {
  std::vector<GrowingCell> within;
  for (const GrowingCell& cell : cells_) {
    const bool is_in = std::any_of(runs.begin(), runs.end(), [&](const ByteRun& run) {
      return overlap(cell.address, cell.size, run.address, run.bytes.size());
    });
    if (is_in) within.push_back(cell);
  }
  return within;
}

bool Growth::is_constant(std::uint64_t address, std::uint64_t length) {
  const bool grows = std::any_of(cells_.begin(), cells_.end(), [&](const GrowingCell& cell) {
    return overlap(address, length, cell.address, cell.size);
  });
  constant_.push_back({address, length});
  return !grows && uses_memory(address, length) != Uses::kBounds && !changes(address, length, nullptr);
}

bool Growth::load(std::uint64_t address, unsigned size, Value& value) {
  value.step = 0;
  if (uses_memory(address, size) == Uses::kBounds) return fail(Reason::kGrowingResult);
  if (!memory_->load(address, size, value.now)) return fail(memory_->fault());
  std::uint64_t next = value.now;
  const bool is_new = changes(address, size, reinterpret_cast<std::uint8_t*>(&next));
  for (const GrowingCell& cell : cells_) {
    if (!overlap(address, size, cell.address, cell.size)) continue;
    // The low bytes of a number grow by the low bytes of its step.
    if (is_new || cell.address != address || size > cell.size) return fail(Reason::kGrowingPart);
    value.step = cell.step & size_mask(size);
    sources_ |= cell.sources;
    return true;
  }
  if (!is_new) {
    constant_.push_back({address, size});
    return true;
  }
  // The upper bytes of a value may be constant for some turns only.
  for (const MemoryRange& range : constant_) {
    if (overlap(address, size, range.address, range.length)) return fail(Reason::kGrowingPart);
  }
  for (const GrowingCell& cell : assumed_) {
    if (overlap(address, size, cell.address, cell.size)) return fail(Reason::kGrowingPart);
  }
  value.step = (next - value.now) & size_mask(size);
  const Sources source = Sources{1} << std::min<std::size_t>(kFirstCell + assumed_.size(), kMostSources - 1);
  sources_ |= source;
  assumed_.push_back({address, static_cast<std::uint8_t>(size), value.step, source});
  cells_.push_back(assumed_.back());
  return true;
}

// Keeps the parts of a growing cell that a store does not overwrite. The low bytes grow by the low bytes of
// the step.
bool Growth::keep_rest(const GrowingCell& of, std::uint64_t address, unsigned size) {
  const std::uint64_t end = of.address + of.size;
  if (address > of.address) {
    const auto low = static_cast<std::uint8_t>(address - of.address);
    if (const std::uint64_t step = of.step & size_mask(low); step != 0) cells_.push_back({of.address, low, step, of.sources});
  }
  if (address + size >= end) return true;
  if (horizon_ == 0) return fail(Reason::kGrowingPart);
  std::uint64_t now = 0;
  if (!memory_->load(of.address, of.size, now)) return fail(memory_->fault());
  Bounds whole{.range = as_unsigned(bounds(now, as_signed(of.step, of.size)), of.size), .size = of.size};
  keep_above(of.address, whole, address + size);
  return true;
}

void Growth::keep_rest(std::uint64_t at, Bounds of, std::uint64_t address, unsigned size) {
  if (of.is_floating) of = {.range = {0, static_cast<__int128>(size_mask(of.size))}, .size = of.size};
  if (address > at) {
    const auto low = static_cast<unsigned>(address - at);
    const Range range = as_unsigned(of.range, low);
    if (!range.is_single()) bounded_.push_back({at, {.range = range, .size = low}});
  }
  if (address + size < at + of.size) keep_above(at, of, address + size);
}

// Keeps the bytes from `from` on.
void Growth::keep_above(std::uint64_t at, const Bounds& of, std::uint64_t from) {
  const auto below = static_cast<unsigned>(from - at);
  const Range all = as_unsigned(of.range, of.size), range{all.least >> (8 * below), all.most >> (8 * below)};
  if (!range.is_single()) bounded_.push_back({from, {.range = range, .size = of.size - below}});
}

bool Growth::store(std::uint64_t address, unsigned size, std::uint64_t step) {
  for (std::size_t i = 0; i < cells_.size();) {
    const GrowingCell& cell = cells_[i];
    if (!overlap(address, size, cell.address, cell.size)) {
      ++i;
      continue;
    }
    const GrowingCell part = cell;
    cells_.erase(cells_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!keep_rest(part, address, size)) return false;
  }
  for (std::size_t i = 0; i < bounded_.size();) {
    const std::uint64_t at = bounded_[i].address, length = bounded_[i].bounds.size;
    if (!overlap(address, size, at, length)) {
      ++i;
      continue;
    }
    const Bounds part = bounded_[i].bounds;
    bounded_.erase(bounded_.begin() + static_cast<std::ptrdiff_t>(i));
    keep_rest(at, part, address, size);
  }
  step &= size <= 8 ? size_mask(size) : 0;
  if (step != 0) cells_.push_back({address, static_cast<std::uint8_t>(size), step, sources_});
  return true;
}

bool Growth::set_register(unsigned index, unsigned size, std::uint64_t now, std::uint64_t step, std::uint64_t most) {
  keep_within(now, step, 0, most);
  return write_register(index, size, step);
}

bool Growth::set_memory(std::uint64_t address, unsigned size, std::uint64_t now, std::uint64_t step, std::uint64_t most) {
  keep_within(now, step, 0, most);
  return store(address, size, step);
}

void Growth::limit(std::uint64_t turns) {
  turns_ = std::min(turns_, turns);
  if (horizon_ != 0) return;
  const auto same = std::ranges::find_if(limits_, [&](const TurnLimit& one) {
    return one.sources == sources_ && one.period == period_;
  });
  if (same == limits_.end()) {
    limits_.push_back({sources_, turns, period_});
  } else {
    same->last = std::min(same->last, turns);
  }
}

void Growth::keep_within(__int128 value, __int128 step, __int128 least, __int128 most) {
  __int128 turns = kFar;
  if (value < least || value > most) {
    turns = 0;
  } else if (step > 0) {
    turns = (most - value) / step;
  } else if (step < 0) {
    turns = (value - least) / -step;
  }
  if (turns < static_cast<__int128>(kEveryTurn)) limit(static_cast<std::uint64_t>(turns));
}

void Growth::keep_unsigned(const Value& value, unsigned size) {
  if (value.step == 0) return;
  keep_within(value.now, as_signed(value.step, size), 0, size_mask(size));
}

void Growth::keep_signed(const Value& value, unsigned size) {
  if (value.step == 0) return;
  const __int128 half = sign_bit(size);
  keep_within(as_signed(value.now, size), as_signed(value.step, size), -half, half - 1);
}

void Growth::set_flags(FlagsOf what, const Value& a, const Value& b, unsigned size, std::uint32_t affected) {
  if (a.step == 0 && b.step == 0 && what != FlagsOf::kNothing) {
    growing_flags_ &= ~affected;
    flags_set_ &= ~affected;
    return;
  }
  flags_bounded_ = false;
  growing_flags_ |= affected;
  flags_set_ = what == FlagsOf::kNothing ? 0 : affected;
  flags_of_ = what;
  flags_a_ = a;
  flags_b_ = b;
  flags_size_ = size;
  flags_sources_ = sources_;
  flags_period_ = period_;
}

// Limits turns() to those before difference + n·step becomes 0 modulo 2^(8·size): the solution of a linear
// congruence.
bool Growth::settle_zero(std::uint64_t difference, std::uint64_t step, unsigned size) {
  difference &= size_mask(size);
  step &= size_mask(size);
  if (step == 0) return true;
  if (difference == 0) {
    limit(0);
    return true;
  }
  const unsigned zeros = static_cast<unsigned>(std::countr_zero(step));
  const std::uint64_t negated = (0 - difference) & size_mask(size);
  if ((negated & ((1ull << zeros) - 1)) != 0) return true;  // it never becomes zero
  const std::uint64_t mask = ~0ull >> (64 - (8 * size - zeros));
  const std::uint64_t turn = ((negated >> zeros) * inverse(step >> zeros)) & mask;
  limit(turn - 1);
  return true;
}

void Growth::settle_sign(__int128 value, __int128 step, bool zero_is_below) {
  const __int128 most_below = zero_is_below ? 0 : -1;
  value <= most_below ? keep_within(value, step, -kFar, most_below) : keep_within(value, step, most_below + 1, kFar);
}

bool Growth::settle(const Instruction& in, unsigned condition) {
  if ((in.needs_flags & growing_flags_) == 0) return true;
  if ((in.needs_flags & ~flags_set_) != 0) return fail(Reason::kGrowingFlags);
  if (flags_bounded_) return settle_bounds(condition);
  sources_ |= flags_sources_;
  period_ = flags_period_;
  const bool is_settled = settle_growing(condition);
  period_ = 0;
  return is_settled;
}

bool Growth::settle_growing(unsigned condition) {
  const unsigned size = flags_size_;
  const bool is_sum = flags_of_ == FlagsOf::kSum;
  const Value &a = flags_a_, &b = flags_b_;
  const std::uint64_t result = is_sum ? a.now + b.now : a.now - b.now;
  const std::uint64_t step = is_sum ? a.step + b.step : a.step - b.step;
  const __int128 step_a = as_signed(a.step, size), step_b = as_signed(b.step, size);
  const bool with_zero = (condition >> 1) == 3 || (condition >> 1) == 7;
  switch (condition >> 1) {
    case 2:  // ZF
      return settle_zero(result, step, size);
    case 1:  // CF
    case 3:
      if (is_sum) return fail(Reason::kGrowingFlags);
      keep_unsigned(a, size);
      keep_unsigned(b, size);
      settle_sign(static_cast<__int128>(a.now) - b.now, step_a - step_b, with_zero);
      return true;
    case 4:  // SF
      if ((step & size_mask(size)) != 0) {
        keep_signed({result, step}, size);
        settle_sign(as_signed(result, size), as_signed(step, size), false);
      }
      return true;
    case 6:  // SF != OF: the sign of the exact difference or sum
    case 7: {
      keep_signed(a, size);
      keep_signed(b, size);
      const __int128 other = as_signed(b.now, size);
      settle_sign(as_signed(a.now, size) + (is_sum ? other : -other), step_a + (is_sum ? step_b : -step_b), with_zero);
      return true;
    }
    default:
      return fail(Reason::kGrowingFlags);
  }
}

}  // namespace verbatim::spin
