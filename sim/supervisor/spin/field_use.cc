// Use of undefined bytes: the thread's code is interpreted, and registers and bytes derived from the
// undefined ones are tracked, until a jump, a condition or an address depends on one. Copies and larger loads
// are not uses.
#include <array>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

namespace {

// Identifies the field from which a value is derived: its index plus one; 0: none.
using Origin = std::uint16_t;

bool changes_no_flag(Op op) {
  switch (op) {
    case Op::kMov:
    case Op::kMovsx:
    case Op::kLea:
    case Op::kNot:
    case Op::kBswap:
    case Op::kXchg:
    case Op::kExtendAccumulator:
    case Op::kSpreadSign:
    case Op::kSetcc:
    case Op::kCmovcc:
    case Op::kMulx:
    case Op::kPdep:
    case Op::kPext:
    case Op::kNop:
      return true;
    default:
      return is_flagless_shift(op);
  }
}

bool only_compares(Op op) { return op == Op::kCmp || op == Op::kTest || op == Op::kBt; }
bool writes_whole(Op op) { return op == Op::kMov || op == Op::kMovsx || op == Op::kLea || op == Op::kSetcc || op == Op::kPop; }
bool is_register(const Operand& operand) {
  return operand.kind == Operand::Kind::kRegister || operand.kind == Operand::Kind::kHighByte;
}

class UseWatcher final : public Observer {
 public:
  explicit UseWatcher(std::span<const MemoryRange> fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) cells_.push_back({fields[i], static_cast<Origin>(i + 1)});
  }

  Origin used() const { return used_; }

  // False: the instruction uses an undefined field.
  bool follow(const Instruction& in, const MachineState& state, std::uint64_t address) override {
    if (in.needs_flags != 0 && in.op != Op::kCmovcc && in.op != Op::kSetcc && flags_ != 0) return use(flags_);
    const bool has_memory = is_memory(in.source) || is_memory(in.destination) || is_memory(in.source2);
    const Origin place = has_memory || in.op == Op::kLea ? either(of_register(in.base), of_register(in.index)) : 0;
    if (place != 0 && in.op != Op::kLea) return use(place);
    Origin value = of_inputs(in, address, place);
    if (in.op == Op::kCmovcc) {  // compilers load values that they then do not select
      const bool is_taken = condition_holds(static_cast<unsigned>(in.condition), state.registers.flags);
      value = either(flags_, of(is_taken ? in.source : in.destination, address, in.size));
    }
    if ((in.op == Op::kJmp || in.op == Op::kCall) && value != 0) return use(value);
    if (in.op == Op::kJcc || in.op == Op::kJmp || in.op == Op::kCall || in.op == Op::kRet || in.op == Op::kPush) return true;
    if (!changes_no_flag(in.op) && in.op < Op::kVectorMove) flags_ = value;
    if (only_compares(in.op) || in.op >= Op::kVectorMove) return true;
    if (is_register(in.destination)) set(in.destination.index, value);
    if (is_memory(in.destination)) store(address, in.size, value);
    if (in.op == Op::kMul || in.op == Op::kImulWide || in.op == Op::kDiv || in.op == Op::kIdiv) {
      set(kRax, value);
      set(kRdx, value);
    }
    if (in.op == Op::kXchg && is_register(in.source)) set(in.source.index, value);
    return true;
  }

 private:
  struct Cell {
    MemoryRange range;
    Origin origin = 0;
  };

  static Origin either(Origin a, Origin b) { return a != 0 ? a : b; }
  bool use(Origin origin) {
    used_ = origin;
    return false;
  }
  Origin of_register(unsigned index) const { return index < registers_.size() ? registers_[index] : Origin{0}; }
  void set(unsigned index, Origin origin) { registers_[index % registers_.size()] = origin; }
  // The origin of bytes that lie within one cell.
  Origin of_memory(std::uint64_t address, unsigned size) const {
    for (const Cell& cell : cells_) {
      if (size == 0 || address < cell.range.address) continue;
      if (address - cell.range.address + size <= cell.range.length) return cell.origin;
    }
    return 0;
  }
  Origin of(const Operand& operand, std::uint64_t address, unsigned size) const {
    if (is_register(operand)) return of_register(operand.index);
    return is_memory(operand) ? of_memory(address, size) : Origin{0};
  }
  Origin of_inputs(const Instruction& in, std::uint64_t address, Origin place) const {
    if (in.op == Op::kLea) return place;
    if (in.op == Op::kPop || in.op >= Op::kVectorMove) return 0;
    // XOR or SUB of a register with itself: the result is constant.
    const bool clears = (in.op == Op::kXor || in.op == Op::kSub) && is_register(in.source) && is_register(in.destination) &&
                        in.source.index == in.destination.index;
    if (clears) return 0;
    const unsigned source_size = in.op == Op::kMov || in.op == Op::kMovsx ? in.source_size : in.size;
    Origin value = either(of(in.source, address, source_size), of(in.source2, address, in.size));
    if (!writes_whole(in.op)) value = either(value, of(in.destination, address, in.size));
    if (in.op == Op::kSetcc) value = flags_;
    if (in.op == Op::kExtendAccumulator || in.op == Op::kSpreadSign || in.op == Op::kMul || in.op == Op::kImulWide)
      value = either(value, of_register(kRax));
    return value;
  }
  void store(std::uint64_t address, unsigned size, Origin origin) {
    std::erase_if(cells_, [&](const Cell& cell) {
      return cell.range.address < address + size && address < cell.range.address + cell.range.length;
    });
    constexpr std::size_t kMost = 1024;
    if (origin != 0 && size != 0 && cells_.size() < kMost) cells_.push_back({{address, size}, origin});
  }

  std::vector<Cell> cells_;
  std::array<Origin, 16> registers_{};
  Origin flags_ = 0;
  Origin used_ = 0;
};

}  // namespace

std::optional<FieldUse> SpinProver::find_use(const Registers& at_return, CodeMemory& memory, const Limits& limits,
                                             const MemoryRange& code, std::span<const MemoryRange> fields) {
  clock_.begin(nullptr);
  follows_growth_ = false;
  const Analysis analysis(*this, at_return, memory, limits);
  interpreter_.allows_floating = false;
  MachineState& state = interpreter_.state;
  state.vectors = {};
  state.forget_flags(kArithmeticFlags);
  for (unsigned i = 0; i < state.registers.gpr.size(); ++i) {
    if (i != kRax && (kCallKeeps >> i & 1) == 0) state.forget_gpr(i);
  }
  memory_.begin_tracking();
  UseWatcher watcher(fields);
  const auto rip = refused_by(watcher, limits, code);
  return rip ? std::optional(FieldUse{*rip, watcher.used() - 1u}) : std::nullopt;
}

}  // namespace verbatim::spin
