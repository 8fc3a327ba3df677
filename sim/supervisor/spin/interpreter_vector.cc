// Vector operations that compilers use in waiting loops: moves, comparisons for equality, bitwise logic,
// integer sums, shifts and permutations of elements.
#include <algorithm>
#include <functional>

#include "sim/supervisor/spin/operands.h"

namespace verbatim::spin {

bool Interpreter::get_vector(const Instruction& in, const Operand& operand, unsigned size, Lanes& lanes) {
  if (operand.kind == Operand::Kind::kVector) {
    lanes = state.vectors.lane[operand.index];
    if (size == 16) lanes[2] = lanes[3] = 0;
    return true;
  }
  const std::uint64_t address = address_of(in);
  if (in.aligned && address % size != 0) return fail(Reason::kMisaligned);
  lanes = {};
  return memory_.load_bytes(address, size, reinterpret_cast<std::uint8_t*>(lanes.data())) ||
         fail(memory_.fault());
}

// A VEX instruction clears the bits above its result. A legacy SSE instruction keeps bits 128 and above.
void Interpreter::put_vector(const Instruction& in, unsigned index, unsigned size, const Lanes& lanes) {
  auto& lane = state.vectors.lane[index];
  lane[0] = lanes[0];
  lane[1] = lanes[1];
  state.vectors.known |= 1u << index;
  state.vectors.low_only &= ~(1u << index);
  state.vectors.lowest_only &= ~(1u << index);
  if (!in.vex) return;
  lane[2] = size == 32 ? lanes[2] : 0;
  lane[3] = size == 32 ? lanes[3] : 0;
  state.vectors.known |= 0x1'0000u << index;
  state.vectors.cleared_above |= 1u << index;
}

// Bits 64-127 are those of register `above`, and as known as those. With a 4-byte result the same is true of
// bits 32-63.
void Interpreter::put_low(const Instruction& in, unsigned above, const Lanes& lanes) {
  const std::uint32_t source = 1u << above, to = 1u << in.destination.index;
  const bool is_known = (state.vectors.known & source) != 0;
  const bool is_high_known = is_known && (state.vectors.low_only & source) == 0;
  const bool is_next_known = in.size == 8 || (is_known && (state.vectors.lowest_only & source) == 0);
  put_vector(in, in.destination.index, 16, lanes);
  if (!is_high_known) state.vectors.low_only |= to;
  if (!is_next_known) state.vectors.lowest_only |= to;
}

namespace {

std::uint64_t element_mask(unsigned element) { return ~0ull >> (64 - 8 * element); }

// Applies `operation` to each pair of elements of `element` bytes. Bits above an element's width are dropped.
template <class Operation>
std::uint64_t by_element(std::uint64_t a, std::uint64_t b, unsigned element, Operation operation) {
  std::uint64_t result = 0;
  const std::uint64_t mask = element_mask(element);
  for (unsigned shift = 0; shift < 64; shift += 8 * element)
    result |= (operation((a >> shift) & mask, (b >> shift) & mask) & mask) << shift;
  return result;
}

std::uint64_t shift_elements(std::uint64_t lane, unsigned element, bool left, unsigned count) {
  if (count >= 8 * element) return 0;
  return by_element(lane, 0, element, [=](std::uint64_t value, std::uint64_t) { return left ? value << count : value >> count; });
}

// Interleaves the elements of two 64-bit halves into 128 bits.
void unpack(std::uint64_t a, std::uint64_t b, unsigned element, std::uint64_t* to) {
  to[0] = to[1] = 0;
  const std::uint64_t mask = element_mask(element);
  unsigned at = 0;
  for (unsigned shift = 0; shift < 64; shift += 8 * element) {
    for (const std::uint64_t from : {a, b}) {
      to[at / 64] |= ((from >> shift) & mask) << (at % 64);
      at += 8 * element;
    }
  }
}

std::uint64_t byte_signs(std::uint64_t lane) {
  std::uint64_t result = 0;
  for (unsigned byte = 0; byte < 8; ++byte) result |= ((lane >> (8 * byte + 7)) & 1) << byte;
  return result;
}

std::uint64_t combine(Op op, std::uint64_t a, std::uint64_t b, unsigned element) {
  switch (op) {
    case Op::kVectorXor:
      return a ^ b;
    case Op::kVectorAnd:
      return a & b;
    case Op::kVectorAndNot:
      return ~a & b;
    case Op::kVectorOr:
      return a | b;
    case Op::kVectorAdd:
      return by_element(a, b, element, std::plus());
    case Op::kVectorSub:
      return by_element(a, b, element, std::minus());
    default:
      return by_element(a, b, element, [](std::uint64_t x, std::uint64_t y) { return x == y ? ~0ull : 0; });
  }
}

}  // namespace

bool Interpreter::execute_vector(const Instruction& in) {
  Lanes a{}, b{}, result{};
  const unsigned size = in.size;
  std::uint64_t value = 0;
  if (in.op >= Op::kFloatFromInteger) return execute_floating(in);
  switch (in.op) {
    case Op::kVectorMove:
      if (in.destination.kind == Operand::Kind::kVector) {
        if (!get_vector(in, in.source, size, a)) return false;
        in.reads_low ? put_low(in, in.source.index, a) : put_vector(in, in.destination.index, size, a);
        return true;
      } else {
        const std::uint64_t address = address_of(in);
        if (in.aligned && address % size != 0) return fail(Reason::kMisaligned);
        a = state.vectors.lane[in.source.index];
        return memory_.store_bytes(address, size, reinterpret_cast<const std::uint8_t*>(a.data())) ||
               fail(memory_.fault());
      }
    case Op::kVectorLoadLow:
      if (in.source.kind == Operand::Kind::kVector) {
        value = state.vectors.lane[in.source.index][0];
      } else if (!get(in, in.source, size, value)) {
        return false;
      }
      result[0] = value;
      put_vector(in, in.destination.index, 16, result);
      return true;
    case Op::kVectorStoreLow:
      return put(in, in.destination, size, state.vectors.lane[in.source.index][0]);
    case Op::kVectorMergeLow: {
      result = state.vectors.lane[in.source.index];
      const std::uint64_t low = state.vectors.lane[in.source2.index][0];
      result[0] = size == 8 ? low : (result[0] & ~0xffff'ffffull) | (low & 0xffff'ffff);
      put_low(in, in.source.index, result);
      return true;
    }
    case Op::kVectorMoveHigh:
      if (in.destination.kind == Operand::Kind::kMemory) {
        return put(in, in.destination, 8, state.vectors.lane[in.source.index][1]);
      }
      if (!get(in, in.source2, 8, value)) return false;
      result[0] = state.vectors.lane[in.source.index][0];
      result[1] = value;
      put_vector(in, in.destination.index, 16, result);
      return true;
    case Op::kVectorHighToLow:
      result = state.vectors.lane[in.source.index];
      result[0] = state.vectors.lane[in.source2.index][1];
      put_low(in, in.source.index, result);
      return true;
    case Op::kVectorXor:
    case Op::kVectorAnd:
    case Op::kVectorAndNot:
    case Op::kVectorOr:
    case Op::kVectorAdd:
    case Op::kVectorSub:
    case Op::kVectorCompareEqual:
      if (!get_vector(in, in.source, size, a) || !get_vector(in, in.source2, size, b)) return false;
      for (unsigned i = 0; i < 4; ++i)
        result[i] = combine(in.op, a[i], b[i], in.source_size == 0 ? 1 : in.source_size);
      put_vector(in, in.destination.index, size, result);
      return true;
    case Op::kVectorUnpackLow:
    case Op::kVectorUnpackHigh: {
      if (!get_vector(in, in.source, size, a) || !get_vector(in, in.source2, size, b)) return false;
      const unsigned from = in.op == Op::kVectorUnpackHigh ? 1 : 0;
      for (unsigned half = 0; half < 4; half += 2)
        unpack(a[half + from], b[half + from], in.source_size, result.data() + half);
      put_vector(in, in.destination.index, size, result);
      return true;
    }
    case Op::kVectorExtract: {
      const unsigned at = size == 8 ? in.immediate & 1 : in.immediate & 3;
      value = state.vectors.lane[in.source.index][at * size / 8] >> (8 * (at * size % 8));
      return put(in, in.destination, size, value & (~0ull >> (64 - 8 * size)));
    }
    case Op::kVectorInsert: {
      if (!get(in, in.source2, size, value)) return false;
      result = state.vectors.lane[in.source.index];
      const unsigned byte = static_cast<unsigned>(in.immediate * size % 16), shift = 8 * (byte % 8);
      std::uint64_t& lane = result[byte / 8];
      lane = (lane & ~(~0ull >> (64 - 8 * size) << shift)) | value << shift;
      put_vector(in, in.destination.index, 16, result);
      return true;
    }
    case Op::kVectorShiftBytesLeft:
    case Op::kVectorShiftBytesRight: {
      if (!get_vector(in, in.source, size, a)) return false;
      const unsigned bits = 8 * static_cast<unsigned>(std::min<std::uint64_t>(in.immediate & 0xff, 16));
      for (unsigned half = 0; half < 4 && bits < 128; half += 2) {
        unsigned __int128 whole = static_cast<unsigned __int128>(a[half + 1]) << 64 | a[half];
        whole = in.op == Op::kVectorShiftBytesLeft ? whole << bits : whole >> bits;
        result[half] = static_cast<std::uint64_t>(whole);
        result[half + 1] = static_cast<std::uint64_t>(whole >> 64);
      }
      put_vector(in, in.destination.index, size, result);
      return true;
    }
    case Op::kVectorShiftLeft:
    case Op::kVectorShiftRight:
      if (!get_vector(in, in.source, size, a)) return false;
      for (unsigned i = 0; i < 4; ++i) {
        result[i] = shift_elements(a[i], in.source_size, in.op == Op::kVectorShiftLeft, in.immediate & 0xff);
      }
      put_vector(in, in.destination.index, size, result);
      return true;
    case Op::kVectorExtractHalf: {
      a = state.vectors.lane[in.source.index];
      const unsigned half = in.immediate & 1 ? 2 : 0;
      put_vector(in, in.destination.index, 16, {a[half], a[half + 1], 0, 0});
      return true;
    }
    case Op::kVectorBroadcast: {
      if (in.source.kind == Operand::Kind::kVector) {
        value = state.vectors.lane[in.source.index][0];
      } else if (!get(in, in.source, in.source_size, value)) {
        return false;
      }
      const unsigned bits = 8 * in.source_size;
      value &= ~0ull >> (64 - bits);
      for (unsigned at = bits; at < 64; at *= 2) value |= value << at;
      put_vector(in, in.destination.index, size, {value, value, size == 32 ? value : 0, size == 32 ? value : 0});
      return true;
    }
    case Op::kVectorShuffle32:
      if (!get_vector(in, in.source, size, a)) return false;
      for (unsigned half = 0; half < 4; half += 2) {
        for (unsigned i = 0; i < 4; ++i) {
          const unsigned from = (in.immediate >> (2 * i)) & 3;
          const std::uint64_t word = (a[half + from / 2] >> (32 * (from % 2))) & 0xffff'ffff;
          result[half + i / 2] |= word << (32 * (i % 2));
        }
      }
      put_vector(in, in.destination.index, size, result);
      return true;
    case Op::kVectorAlign: {
      if (!get_vector(in, in.source, size, a) || !get_vector(in, in.source2, size, b)) return false;
      const std::uint64_t words[] = {b[0], b[1], a[0], a[1], 0, 0};
      const unsigned bytes = std::min<unsigned>(in.immediate & 0xff, 32), from = bytes / 8, bits = 8 * (bytes % 8);
      for (unsigned i = 0; i < 2; ++i) {
        const std::uint64_t upper = from + i + 1 < std::size(words) ? words[from + i + 1] : 0;
        const std::uint64_t lower = from + i < std::size(words) ? words[from + i] : 0;
        result[i] = bits == 0 ? lower : lower >> bits | upper << (64 - bits);
      }
      put_vector(in, in.destination.index, size, result);
      return true;
    }
    case Op::kVectorMoveMask:
      if (!get_vector(in, in.source, size, a)) return false;
      for (unsigned i = 0; i < 4; ++i) value |= byte_signs(a[i]) << (8 * i);
      put_gpr(in.destination.index, 4, value & 0xffff'ffff);
      return true;
    case Op::kVectorTest: {
      if (!get_vector(in, in.destination, size, a) || !get_vector(in, in.source, size, b)) return false;
      std::uint64_t both = 0, outside = 0;
      for (unsigned i = 0; i < 4; ++i) {
        both |= a[i] & b[i];
        outside |= ~a[i] & b[i];
      }
      set_flags(kArithmeticFlags, (both == 0 ? kZf : 0) | (outside == 0 ? kCf : 0));
      return true;
    }
    case Op::kVectorZeroUpper:
      for (unsigned i = 0; i < 16; ++i) state.vectors.lane[i][2] = state.vectors.lane[i][3] = 0;
      state.vectors.known |= 0xffff'0000u;
      state.vectors.cleared_above |= 0xffffu;
      return true;
    default:
      return fail(Reason::kUnsupported);
  }
}

}  // namespace verbatim::spin
