// Scalar floating-point arithmetic, as used to compute times. The rounding mode of the program (MXCSR) is
// unknown. Results are rounded to nearest, and the caller must allow for other modes (growth.h).
#include <cmath>
#include <cstring>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/interpreter.h"

namespace verbatim::spin {
namespace {

double from_bits(std::uint64_t bits, unsigned size) {
  if (size == 4) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}

std::uint64_t to_bits(double value, unsigned size) {
  std::uint64_t bits = 0;
  if (size == 4) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(&bits, &narrow, 4);
  } else {
    std::memcpy(&bits, &value, 8);
  }
  return bits;
}

double compute(Op op, double a, double b) {
  switch (op) {
    case Op::kFloatAdd:
      return a + b;
    case Op::kFloatSub:
      return a - b;
    case Op::kFloatMul:
      return a * b;
    default:
      return a / b;
  }
}

}  // namespace

bool Interpreter::get_low(const Instruction& in, const Operand& operand, unsigned size, std::uint64_t& value) {
  if (operand.kind != Operand::Kind::kVector) return get(in, operand, size, value);
  value = state.vectors.lane[operand.index][0] & size_mask(size);
  return true;
}

bool Interpreter::execute_fused(const Instruction& in) {
  std::uint64_t bits = 0;
  if (!get_low(in, in.source2, in.size, bits)) return false;
  const double third = from_bits(bits, in.size), second = from_bits(state.vectors.lane[in.source.index][0], in.size),
               first = from_bits(state.vectors.lane[in.destination.index][0], in.size);
  if (!std::isfinite(first) || !std::isfinite(second) || !std::isfinite(third)) return fail(Reason::kUnsupported);
  double a = first, b = third, addend = second;
  if (in.op == Op::kFloatFused213) {
    b = second, addend = third;
  } else if (in.op == Op::kFloatFused231) {
    a = second, addend = first;
  }
  if ((in.immediate & kNegatesProduct) != 0) a = -a;
  if ((in.immediate & kSubtractsAddend) != 0) addend = -addend;
  const double result = in.size == 4 ? std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(addend))
                                     : std::fma(a, b, addend);
  if (!std::isfinite(result)) return fail(Reason::kUnsupported);
  Lanes lanes = state.vectors.lane[in.destination.index];
  lanes[0] = (in.size == 4 ? lanes[0] & ~0xffff'ffffull : 0) | to_bits(result, in.size);
  put_low(in, in.destination.index, lanes);
  return true;
}

bool Interpreter::execute_floating(const Instruction& in) {
  if (!allows_floating) return fail(Reason::kUnsupported);
  has_floated_ = true;
  if (in.op >= Op::kFloatFused132) return execute_fused(in);
  std::uint64_t bits_a = 0, bits_b = 0;
  const bool compares = in.op == Op::kFloatCompare, computes = in.op >= Op::kFloatAdd && in.op <= Op::kFloatDiv;
  if (!get_low(in, compares ? in.source : in.source2, in.source_size, bits_b)) return false;
  const double b = from_bits(bits_b, in.source_size == 4 ? 4 : 8);
  if (in.op != Op::kFloatFromInteger && !std::isfinite(b)) return fail(Reason::kUnsupported);
  if (in.op == Op::kFloatTruncate) {
    const double most = in.size == 4 ? 0x1p31 : 0x1p63;
    if (!(std::fabs(b) < most)) return fail(Reason::kUnsupported);
    put_gpr(in.destination.index, in.size, static_cast<std::uint64_t>(static_cast<std::int64_t>(b)) & size_mask(in.size));
    return true;
  }
  if (compares || computes) bits_a = state.vectors.lane[compares ? in.destination.index : in.source.index][0];
  const double a = from_bits(bits_a & size_mask(in.source_size), in.source_size);
  if ((compares || computes) && !std::isfinite(a)) return fail(Reason::kUnsupported);
  if (compares) {
    set_flags(kArithmeticFlags, a < b ? kCf : a == b ? kZf : 0);
    return true;
  }
  double result = b;
  if (computes) result = in.size == 4 ? compute(in.op, static_cast<float>(a), static_cast<float>(b)) : compute(in.op, a, b);
  if (in.op == Op::kFloatFromInteger) {
    const auto integer = static_cast<std::int64_t>(sign_extend(bits_b, in.source_size));
    result = in.size == 4 ? static_cast<float>(integer) : static_cast<double>(integer);
  }
  if (!std::isfinite(result)) return fail(Reason::kUnsupported);
  Lanes lanes = state.vectors.lane[in.source.index];
  lanes[0] = (in.size == 4 ? lanes[0] & ~0xffff'ffffull : 0) | to_bits(result, in.size);
  put_low(in, in.source.index, lanes);
  return true;
}

}  // namespace verbatim::spin
