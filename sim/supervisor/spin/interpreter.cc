#include "sim/supervisor/spin/interpreter.h"

#include <bit>

#include "sim/supervisor/spin/operands.h"

namespace verbatim::spin {

bool Interpreter::step() {
  const std::uint64_t rip = state.registers.rip;
  const Instruction* const instruction = code_.fetch(rip, memory_);
  if (instruction == nullptr) {
    stop_ = {Reason::kWritesCode, rip, ""};
    return false;
  }
  if ((instruction->needs & ~state.known) != 0 || (instruction->needs_flags & ~state.known_flags) != 0 ||
      (instruction->needs_vectors & ~state.vectors.known) != 0 ||
      (!instruction->reads_low && (instruction->needs_vectors & state.vectors.low_only) != 0) ||
      (!instruction->reads_lowest && (instruction->needs_vectors & state.vectors.lowest_only) != 0)) [[unlikely]] {
    stop_ = {Reason::kUndefinedValue, rip, instruction->mnemonic};
    return false;
  }
  if (observer_ != nullptr && !observer_->follow(*instruction, state, address_of(*instruction))) [[unlikely]] {
    stop_ = {Reason::kObserver, rip, instruction->mnemonic};
    return false;
  }
  next_rip_ = instruction->next;
  if (!execute(*instruction)) [[unlikely]] {
    stop_.rip = rip;
    stop_.mnemonic = instruction->mnemonic;
    return false;
  }
  jumped_ = next_rip_ != instruction->next;
  state.registers.rip = next_rip_;
  return true;
}

bool Interpreter::push(std::uint64_t value) {
  std::uint64_t& rsp = state.registers.gpr[kRsp];
  if (!memory_.store(rsp - 8, 8, value)) return fail(memory_.fault());
  rsp -= 8;
  return true;
}

bool Interpreter::pop(std::uint64_t& value) {
  std::uint64_t& rsp = state.registers.gpr[kRsp];
  if (!memory_.load(rsp, 8, value)) return fail(memory_.fault());
  rsp += 8;
  return true;
}

bool Interpreter::execute(const Instruction& in) {
  std::uint64_t a = 0, b = 0;
  const unsigned size = in.size;
  switch (in.op) {
    case Op::kRefused:
      return fail(in.refusal);
    case Op::kNop:
      return true;
    case Op::kMov:
      return get(in, in.source, in.source_size, a) && put(in, in.destination, size, a);
    case Op::kMovsx:
      return get(in, in.source, in.source_size, a) &&
             put(in, in.destination, size, sign_extend(a, in.source_size));
    case Op::kLea:
      return put(in, in.destination, size, address_of(in));
    case Op::kAdd:
    case Op::kAdc: {
      if (!get(in, in.destination, size, a) || !get(in, in.source, size, b)) return false;
      const unsigned carry = in.op == Op::kAdc && (state.registers.flags & kCf) ? 1 : 0;
      const AluResult result = add(a, b, carry, size);
      if (!put(in, in.destination, size, result.value)) return false;
      set_flags(kArithmeticFlags, result.flags);
      return true;
    }
    case Op::kSub:
    case Op::kSbb:
    case Op::kCmp: {
      if (!get(in, in.destination, size, a) || !get(in, in.source, size, b)) return false;
      const unsigned borrow = in.op == Op::kSbb && (state.registers.flags & kCf) ? 1 : 0;
      const AluResult result = subtract(a, b, borrow, size);
      if (in.op != Op::kCmp && !put(in, in.destination, size, result.value)) return false;
      set_flags(kArithmeticFlags, result.flags);
      return true;
    }
    case Op::kTest:
      if (!get(in, in.destination, size, a) || !get(in, in.source, size, b)) return false;
      set_flags(kArithmeticFlags, result_flags(a & b, size), kAf);
      return true;
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor: {
      if (!get(in, in.destination, size, a) || !get(in, in.source, size, b)) return false;
      const std::uint64_t value = in.op == Op::kAnd ? a & b : in.op == Op::kOr ? a | b : a ^ b;
      if (!put(in, in.destination, size, value)) return false;
      set_flags(kArithmeticFlags, result_flags(value, size), kAf);
      return true;
    }
    case Op::kInc:
    case Op::kDec: {
      if (!get(in, in.destination, size, a)) return false;
      const AluResult result = in.op == Op::kInc ? add(a, 1, 0, size) : subtract(a, 1, 0, size);
      if (!put(in, in.destination, size, result.value)) return false;
      set_flags(kArithmeticFlags & ~kCf, result.flags);
      return true;
    }
    case Op::kJcc:
      if (condition_holds(static_cast<unsigned>(in.condition), state.registers.flags)) next_rip_ = in.target;
      return true;
    case Op::kJmp:
      if (in.source.kind == Operand::Kind::kImmediate) {
        next_rip_ = in.target;
        return true;
      }
      return get(in, in.source, 8, next_rip_);
    case Op::kCall:
      a = in.target;
      if (in.source.kind != Operand::Kind::kImmediate && !get(in, in.source, 8, a)) return false;
      if (!push(in.next)) return false;
      next_rip_ = a;
      return true;
    case Op::kRet:
      if (!pop(next_rip_)) return false;
      if (in.source.kind == Operand::Kind::kImmediate) state.registers.gpr[kRsp] += in.immediate & 0xffff;
      return true;
    case Op::kPush:
      return get(in, in.source, 8, a) && push(a);
    case Op::kPop:
      if (pops_unknown(in, state, memory_)) {
        state.registers.gpr[kRsp] += 8;
        state.forget_gpr(in.destination.index);
        return true;
      }
      if (!pop(a)) return false;
      put_gpr(in.destination.index, 8, a);
      return true;
    case Op::kLeave:
      state.registers.gpr[kRsp] = state.registers.gpr[kRbp];
      state.known |= known_bits(kRsp, 8);
      return pop(state.registers.gpr[kRbp]);
    default:
      return in.op >= Op::kVectorMove ? execute_vector(in) : execute_scalar(in);
  }
}

bool Interpreter::execute_scalar(const Instruction& in) {
  std::uint64_t a = 0, b = 0;
  const unsigned size = in.size;
  auto& gpr = state.registers.gpr;
  switch (in.op) {
    case Op::kAndn: {
      if (!get(in, in.source, size, a) || !get(in, in.source2, size, b)) return false;
      const std::uint64_t value = ~a & b;
      if (!put(in, in.destination, size, value)) return false;
      set_flags(kArithmeticFlags, result_flags(value, size), kAf | kPf);
      return true;
    }
    case Op::kShlx:
    case Op::kShrx:
    case Op::kSarx: {
      if (!get(in, in.source, size, a) || !get(in, in.source2, size, b)) return false;
      const unsigned count = static_cast<unsigned>(b) & (size == 8 ? 63 : 31);
      const std::uint64_t value = in.op == Op::kShlx   ? a << count
                                  : in.op == Op::kShrx ? a >> count
                                                       : static_cast<std::uint64_t>(
                                                             static_cast<std::int64_t>(sign_extend(a, size)) >> count);
      return put(in, in.destination, size, value);
    }
    case Op::kRorx:
      if (!get(in, in.source, size, a) || !get(in, in.source2, size, b)) return false;
      return put(in, in.destination, size, rotate_right(a, static_cast<unsigned>(b) & (size == 8 ? 63 : 31), size).value);
    case Op::kBlsi:
    case Op::kBlsr:
    case Op::kBlsmsk: {
      if (!get(in, in.source, size, a)) return false;
      const std::uint64_t wide = in.op == Op::kBlsi ? a & (0 - a) : in.op == Op::kBlsr ? a & (a - 1) : a ^ (a - 1);
      const std::uint64_t value = wide & size_mask(size);
      const bool carry = in.op == Op::kBlsi ? a != 0 : a == 0;
      set_flags(kArithmeticFlags, result_flags(value, size) | (carry ? kCf : 0), kAf | kPf);
      return put(in, in.destination, size, value);
    }
    case Op::kBzhi: {
      if (!get(in, in.source, size, a) || !get(in, in.source2, size, b)) return false;
      const unsigned from = static_cast<unsigned>(b) & 0xff;
      const bool has_all = from >= 8 * size;
      const std::uint64_t value = has_all ? a : a & ((1ull << from) - 1);
      set_flags(kArithmeticFlags, result_flags(value, size) | (has_all ? kCf : 0), kAf | kPf);
      return put(in, in.destination, size, value);
    }
    case Op::kBextr: {
      if (!get(in, in.source, size, a) || !get(in, in.source2, size, b)) return false;
      const unsigned from = static_cast<unsigned>(b) & 0xff, length = static_cast<unsigned>(b >> 8) & 0xff;
      const std::uint64_t shifted = from < 64 ? a >> from : 0;
      const std::uint64_t value = length < 64 ? shifted & ((1ull << length) - 1) : shifted;
      set_flags(kArithmeticFlags, value == 0 ? kZf : 0, kAf | kSf | kPf);
      return put(in, in.destination, size, value);
    }
    case Op::kPdep:
    case Op::kPext: {
      if (!get(in, in.source, size, a) || !get(in, in.source2, size, b)) return false;
      std::uint64_t value = 0;
      for (unsigned i = 0; b != 0; ++i, b &= b - 1) {
        const std::uint64_t place = b & (0 - b), low = 1ull << i;
        if (a & (in.op == Op::kPdep ? low : place)) value |= in.op == Op::kPdep ? place : low;
      }
      return put(in, in.destination, size, value);
    }
    case Op::kMulx: {
      if (!get(in, in.source2, size, a)) return false;
      const unsigned __int128 product = static_cast<unsigned __int128>(a) * (gpr[kRdx] & size_mask(size));
      put_gpr(in.source.index, size, static_cast<std::uint64_t>(product) & size_mask(size));
      put_gpr(in.destination.index, size, static_cast<std::uint64_t>(product >> (8 * size)) & size_mask(size));
      return true;
    }
    case Op::kNot:
      return get(in, in.destination, size, a) && put(in, in.destination, size, ~a);
    case Op::kNeg: {
      if (!get(in, in.destination, size, a)) return false;
      const AluResult result = subtract(0, a, 0, size);
      if (!put(in, in.destination, size, result.value)) return false;
      set_flags(kArithmeticFlags, result.flags);
      return true;
    }
    case Op::kShl:
    case Op::kShr:
    case Op::kSar:
    case Op::kRol:
    case Op::kRor:
      return shift(in);
    case Op::kMul:
    case Op::kImulWide:
    case Op::kImul: {
      if (in.op != Op::kImul) {
        if (!get(in, in.destination, size, a)) return false;
        b = gpr[kRax] & size_mask(size);
      } else if (!get(in, in.source, size, a) || !get(in, in.source2, size, b)) {
        return false;
      }
      unsigned __int128 product;
      bool fits;
      if (in.op == Op::kMul) {
        product = static_cast<unsigned __int128>(a) * b;
        fits = (product >> (8 * size)) == 0;
      } else {
        const __int128 wide = static_cast<__int128>(static_cast<std::int64_t>(sign_extend(a, size))) *
                              static_cast<std::int64_t>(sign_extend(b, size));
        product = static_cast<unsigned __int128>(wide);
        fits = wide == static_cast<std::int64_t>(sign_extend(static_cast<std::uint64_t>(product), size));
      }
      const auto low = static_cast<std::uint64_t>(product) & size_mask(size);
      if (in.op == Op::kImul) {
        if (!put(in, in.destination, size, low)) return false;
      } else if (size == 1) {
        put_gpr(kRax, 2, static_cast<std::uint64_t>(product) & 0xffff);
      } else {
        put_gpr(kRax, size, low);
        put_gpr(kRdx, size, static_cast<std::uint64_t>(product >> (8 * size)) & size_mask(size));
      }
      set_flags(kArithmeticFlags, fits ? 0 : kCf | kOf, kSf | kZf | kAf | kPf);
      return true;
    }
    case Op::kDiv:
    case Op::kIdiv:
      return get(in, in.destination, size, a) && divide(in, a);
    case Op::kBt:
    case Op::kBts:
    case Op::kBtr:
    case Op::kBtc:
      return bit_test(in);
    case Op::kBsf:
    case Op::kBsr:
    case Op::kTzcnt:
    case Op::kLzcnt:
      if (!get(in, in.source, size, a)) return false;
      bit_scan(in, a);
      return true;
    case Op::kPopcnt:
      if (!get(in, in.source, size, a)) return false;
      set_flags(kArithmeticFlags, a == 0 ? kZf : 0);
      return put(in, in.destination, size, static_cast<std::uint64_t>(std::popcount(a)));
    case Op::kBswap:
      a = gpr[in.destination.index];
      put_gpr(in.destination.index, size,
              size == 8 ? __builtin_bswap64(a) : __builtin_bswap32(static_cast<std::uint32_t>(a)));
      return true;
    case Op::kExtendAccumulator:
      put_gpr(kRax, size, sign_extend(gpr[kRax] & size_mask(size / 2), size / 2) & size_mask(size));
      return true;
    case Op::kSpreadSign:
      put_gpr(kRdx, size, gpr[kRax] & sign_bit(size) ? size_mask(size) : 0);
      return true;
    case Op::kClc:
      set_flags(kCf, 0);
      return true;
    case Op::kStc:
      set_flags(kCf, kCf);
      return true;
    case Op::kCmc:
      set_flags(kCf, ~static_cast<std::uint32_t>(state.registers.flags) & kCf);
      return true;
    case Op::kSetcc:
      return put(in, in.destination, 1, condition_holds(static_cast<unsigned>(in.condition), state.registers.flags));
    case Op::kCmovcc:
      // The source is read and the upper half is cleared even if the condition is false.
      if (!get(in, in.destination, size, a) || !get(in, in.source, size, b)) return false;
      return put(in, in.destination, size,
                 condition_holds(static_cast<unsigned>(in.condition), state.registers.flags) ? b : a);
    case Op::kXchg:
      return get(in, in.destination, size, a) && get(in, in.source, size, b) &&
             put(in, in.destination, size, b) && put(in, in.source, size, a);
    case Op::kXadd: {
      if (!get(in, in.destination, size, a) || !get(in, in.source, size, b)) return false;
      const AluResult result = add(a, b, 0, size);
      if (!put(in, in.source, size, a) || !put(in, in.destination, size, result.value)) return false;
      set_flags(kArithmeticFlags, result.flags);
      return true;
    }
    case Op::kCmpxchg: {
      if (!get(in, in.destination, size, a) || !get(in, in.source, size, b)) return false;
      const AluResult result = subtract(gpr[kRax] & size_mask(size), a, 0, size);
      // The destination is written with its own value if the comparison fails.
      const bool equal = result.flags & kZf;
      if (!put(in, in.destination, size, equal ? b : a)) return false;
      if (!equal) put_gpr(kRax, size, a);
      set_flags(kArithmeticFlags, result.flags);
      return true;
    }
    case Op::kStoreString:
    case Op::kMoveString:
      return string_operation(in);
    default:
      return fail(Reason::kUnsupported);
  }
}

// Always upwards. The ABI requires a clear direction flag at calls, and prove_spin() refuses a set one.
bool Interpreter::string_operation(const Instruction& in) {
  auto& gpr = state.registers.gpr;
  constexpr std::uint64_t kMostElements = 4096;
  const std::uint64_t count = in.repeated ? gpr[kRcx] : 1;
  if (count > kMostElements) return fail(Reason::kTooMuchMemory);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t value = gpr[kRax] & size_mask(in.size);
    if (in.op == Op::kMoveString && !memory_.load(gpr[kRsi], in.size, value)) return fail(memory_.fault());
    if (!memory_.store(gpr[kRdi], in.size, value)) return fail(memory_.fault());
    gpr[kRdi] += in.size;
    if (in.op == Op::kMoveString) gpr[kRsi] += in.size;
    if (in.repeated) --gpr[kRcx];
  }
  return true;
}

bool Interpreter::shift(const Instruction& in) {
  std::uint64_t a = 0, wanted = 0;
  if (!get(in, in.destination, in.size, a) || !get(in, in.source, 1, wanted)) return false;
  const unsigned count = static_cast<unsigned>(wanted) & (in.size == 8 ? 63 : 31);
  if (count == 0)
    return put(in, in.destination, in.size, a);  // no flag changes; the upper half is cleared all the same
  ShiftResult result;
  switch (in.op) {
    case Op::kShl:
      result = shift_left(a, count, in.size);
      break;
    case Op::kShr:
      result = shift_right(a, count, in.size);
      break;
    case Op::kSar:
      result = shift_arithmetic(a, count, in.size);
      break;
    case Op::kRol:
      result = rotate_left(a, count, in.size);
      break;
    default:
      result = rotate_right(a, count, in.size);
      break;
  }
  if (!put(in, in.destination, in.size, result.value)) return false;
  set_flags(result.affected, result.flags, result.undefined);
  return true;
}

bool Interpreter::divide(const Instruction& in, std::uint64_t divisor) {
  if (divisor == 0) return fail(Reason::kDivideError);
  const unsigned size = in.size;
  auto& gpr = state.registers.gpr;
  const unsigned bits = 8 * size;
  const unsigned __int128 dividend =
      size == 1 ? gpr[kRax] & 0xffff
                : (static_cast<unsigned __int128>(gpr[kRdx] & size_mask(size)) << bits) |
                      (gpr[kRax] & size_mask(size));
  std::uint64_t quotient, remainder;
  if (in.op == Op::kDiv) {
    const unsigned __int128 wide = dividend / divisor;
    if (wide >> bits) return fail(Reason::kDivideError);
    quotient = static_cast<std::uint64_t>(wide);
    remainder = static_cast<std::uint64_t>(dividend % divisor);
  } else {
    const unsigned unused = 128 - 2 * bits;
    const __int128 number = static_cast<__int128>(dividend << unused) >> unused;
    const __int128 by = static_cast<std::int64_t>(sign_extend(divisor, size));
    // The most negative number divided by -1 overflows even in 128 bits.
    if (by == -1 && number == static_cast<__int128>(1) << 127) return fail(Reason::kDivideError);
    const __int128 wide = number / by;
    if (wide !=
        static_cast<std::int64_t>(sign_extend(static_cast<std::uint64_t>(wide) & size_mask(size), size))) {
      return fail(Reason::kDivideError);
    }
    quotient = static_cast<std::uint64_t>(wide) & size_mask(size);
    remainder = static_cast<std::uint64_t>(number % by) & size_mask(size);
  }
  if (size == 1) {
    put_gpr(kRax, 2, quotient | remainder << 8);
  } else {
    put_gpr(kRax, size, quotient);
    put_gpr(kRdx, size, remainder);
  }
  set_flags(kArithmeticFlags, 0, kArithmeticFlags);
  return true;
}

bool Interpreter::bit_test(const Instruction& in) {
  std::uint64_t a = 0, offset = 0;
  if (!get(in, in.destination, in.size, a) || !get(in, in.source, in.size, offset)) return false;
  const std::uint64_t bit = 1ull << (offset % (8 * in.size));
  const bool was_set = a & bit;
  if (in.op != Op::kBt) {
    const std::uint64_t value = in.op == Op::kBts ? a | bit : in.op == Op::kBtr ? a & ~bit : a ^ bit;
    if (!put(in, in.destination, in.size, value)) return false;
  }
  set_flags(kArithmeticFlags & ~kZf, was_set ? kCf : 0, kOf | kSf | kAf | kPf);
  return true;
}

void Interpreter::bit_scan(const Instruction& in, std::uint64_t value) {
  const unsigned bits = 8 * in.size, to = in.destination.index;
  const unsigned leading = value == 0 ? bits : static_cast<unsigned>(std::countl_zero(value)) - (64 - bits);
  const unsigned trailing = value == 0 ? bits : static_cast<unsigned>(std::countr_zero(value));
  switch (in.op) {
    case Op::kBsf:
    case Op::kBsr:
      set_flags(kArithmeticFlags, value == 0 ? kZf : 0, kArithmeticFlags & ~kZf);
      if (value == 0) {
        state.forget_gpr(to);  // undefined by the architecture; processors differ in the upper half
      } else {
        put_gpr(to, in.size, in.op == Op::kBsf ? trailing : bits - 1 - leading);
      }
      return;
    default: {
      const unsigned count = in.op == Op::kTzcnt ? trailing : leading;
      set_flags(kArithmeticFlags, (count == bits ? kCf : 0) | (count == 0 ? kZf : 0), kOf | kSf | kAf | kPf);
      put_gpr(to, in.size, count);
      return;
    }
  }
}

}  // namespace verbatim::spin
