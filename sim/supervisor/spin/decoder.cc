// Translates decoded instructions of Zydis into Instruction.
#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>

#include "sim/supervisor/spin/instruction.h"
#include "sim/supervisor/spin/op_table.h"
#include "sim/supervisor/spin/registers.h"

namespace verbatim::spin {
namespace {

const ZydisDecoder& decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return instance;
}

// Translates register, immediate and memory operands. False: the operand is not representable.
class Translator {
 public:
  Translator(const ZydisDecodedInstruction& from, const ZydisDecodedOperand* operands, Instruction& out)
      : from_(from), operands_(operands), out_(out) {}

  bool operand(unsigned number, Operand& to) {
    if (number >= from_.operand_count) return false;
    const ZydisDecodedOperand& in = operands_[number];
    switch (in.type) {
      case ZYDIS_OPERAND_TYPE_REGISTER:
        return reg(in.reg.value, to);
      case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        to.kind = Operand::Kind::kImmediate;
        out_.immediate = in.imm.value.u;
        return true;
      case ZYDIS_OPERAND_TYPE_MEMORY:
        to.kind = Operand::Kind::kMemory;
        return memory(in);
      default:
        return false;
    }
  }

  unsigned bytes(unsigned number) const {
    return number < from_.operand_count ? operands_[number].size / 8 : 0;
  }

 private:
  static bool reg(ZydisRegister name, Operand& to) {
    const ZyanI8 id = ZydisRegisterGetId(name);
    switch (ZydisRegisterGetClass(name)) {
      case ZYDIS_REGCLASS_GPR8:
        if (name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH) {
          to = {Operand::Kind::kHighByte, static_cast<std::uint8_t>(name - ZYDIS_REGISTER_AH)};
          return true;
        }
        // Zydis numbers SPL … R15B after the four high-byte registers.
        to = {Operand::Kind::kRegister,
              static_cast<std::uint8_t>(name <= ZYDIS_REGISTER_BL ? name - ZYDIS_REGISTER_AL
                                                                  : name - ZYDIS_REGISTER_SPL + 4)};
        return true;
      case ZYDIS_REGCLASS_GPR16:
      case ZYDIS_REGCLASS_GPR32:
      case ZYDIS_REGCLASS_GPR64:
        if (id < 0 || id > 15) return false;
        to = {Operand::Kind::kRegister, static_cast<std::uint8_t>(id)};
        return true;
      case ZYDIS_REGCLASS_XMM:
      case ZYDIS_REGCLASS_YMM:
        if (id < 0 || id > 15) return false;
        to = {Operand::Kind::kVector, static_cast<std::uint8_t>(id)};
        return true;
      default:
        return false;
    }
  }

  bool base_or_index(ZydisRegister name, std::uint8_t& to) {
    if (name == ZYDIS_REGISTER_NONE) return true;
    Operand operand;
    const ZydisRegisterClass kind = ZydisRegisterGetClass(name);
    if (kind != ZYDIS_REGCLASS_GPR64 && kind != ZYDIS_REGCLASS_GPR32) return false;
    if (!reg(name, operand)) return false;
    to = operand.index;
    return true;
  }

  bool memory(const ZydisDecodedOperand& in) {
    if (in.mem.type != ZYDIS_MEMOP_TYPE_MEM && in.mem.type != ZYDIS_MEMOP_TYPE_AGEN) return false;
    // CS, DS, ES and SS have base 0 in 64-bit mode.
    if (in.mem.segment == ZYDIS_REGISTER_GS) return false;
    out_.fs_relative = in.mem.segment == ZYDIS_REGISTER_FS && in.mem.type != ZYDIS_MEMOP_TYPE_AGEN;
    out_.address32 = from_.address_width == 32;
    out_.displacement = in.mem.disp.has_displacement ? static_cast<std::uint64_t>(in.mem.disp.value) : 0;
    if (in.mem.base == ZYDIS_REGISTER_RIP || in.mem.base == ZYDIS_REGISTER_EIP) {
      out_.displacement += out_.next;
      return true;
    }
    out_.scale = in.mem.scale == 0 ? 1 : in.mem.scale;
    return base_or_index(in.mem.base, out_.base) && base_or_index(in.mem.index, out_.index);
  }

  const ZydisDecodedInstruction& from_;
  const ZydisDecodedOperand* operands_;
  Instruction& out_;
};

std::uint64_t operand_needs(const Operand& operand, unsigned size) {
  if (operand.kind == Operand::Kind::kRegister) return known_bits(operand.index, size);
  if (operand.kind == Operand::Kind::kHighByte) return 1ull << (16 + operand.index);
  return 0;
}

std::uint32_t vector_needs(const Operand& operand, bool whole) {
  if (operand.kind != Operand::Kind::kVector) return 0;
  return (whole ? 0x1'0001u : 0x1u) << operand.index;
}

bool same_register(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.index == b.index &&
         (a.kind == Operand::Kind::kRegister || a.kind == Operand::Kind::kVector ||
          a.kind == Operand::Kind::kHighByte);
}

bool reads_destination(Op op) {
  switch (op) {
    case Op::kMov:
    case Op::kMovsx:
    case Op::kLea:
    case Op::kBsf:
    case Op::kBsr:
    case Op::kTzcnt:
    case Op::kLzcnt:
    case Op::kPopcnt:
    case Op::kSetcc:
    case Op::kPop:
    case Op::kAndn:
    case Op::kShlx:
    case Op::kShrx:
    case Op::kSarx:
    case Op::kRorx:
    case Op::kBlsi:
    case Op::kBlsr:
    case Op::kBlsmsk:
    case Op::kBzhi:
    case Op::kBextr:
    case Op::kPdep:
    case Op::kPext:
    case Op::kMulx:
    case Op::kImul:
      return false;
    default:
      return true;
  }
}

// Computes the registers and flags that must be known before the instruction may run, including implicit uses
// of the accumulator and the stack pointer.
void work_out_needs(const ZydisDecodedInstruction& from, Instruction& out) {
  const unsigned size = out.size;
  if (from.cpu_flags != nullptr) {
    const ZydisAccessedFlags& flags = *from.cpu_flags;
    out.needs_flags = flags.tested & kArithmeticFlags;
    out.changes_flags = (flags.modified | flags.set_0 | flags.set_1 | flags.undefined) & kArithmeticFlags;
  }
  if (out.base != Instruction::kNoRegister) out.needs |= known_bits(out.base, 8);
  if (out.index != Instruction::kNoRegister) out.needs |= known_bits(out.index, 8);
  if (reads_destination(out.op)) out.needs |= operand_needs(out.destination, size);
  out.needs |= operand_needs(out.source, out.source_size) | operand_needs(out.source2, size);
  switch (out.op) {
    case Op::kXor:
    case Op::kSub:
    case Op::kSbb:
      // The result is independent of the register's value. Compilers clear registers with this instruction.
      if (same_register(out.destination, out.source)) out.needs = 0;
      break;
    case Op::kOr:
      if (out.source.kind == Operand::Kind::kImmediate && out.destination.kind == Operand::Kind::kRegister &&
          out.immediate == ~0ull) {
        out.needs = 0;
      }
      break;
    case Op::kMulx:
      out.needs &= ~operand_needs(out.source, size);
      out.needs |= operand_needs(out.source2, size) | known_bits(kRdx, size);
      if (out.base != Instruction::kNoRegister) out.needs |= known_bits(out.base, 8);
      if (out.index != Instruction::kNoRegister) out.needs |= known_bits(out.index, 8);
      break;
    case Op::kMul:
    case Op::kImulWide:
      out.needs |= known_bits(kRax, size);
      break;
    case Op::kDiv:
    case Op::kIdiv:
      out.needs |= size == 1 ? known_bits(kRax, 2) : known_bits(kRax, size) | known_bits(kRdx, size);
      break;
    case Op::kExtendAccumulator:
      out.needs = known_bits(kRax, size / 2);
      break;
    case Op::kSpreadSign:
      out.needs = known_bits(kRax, size);
      break;
    case Op::kCmpxchg:
      out.needs |= known_bits(kRax, size);
      break;
    case Op::kLeave:
      out.needs |= known_bits(kRbp, 8);
      break;
    case Op::kPush:
    case Op::kPop:
    case Op::kCall:
    case Op::kRet:
      out.needs |= known_bits(kRsp, 8);
      break;
    default:
      break;
  }
}

// STOS and MOVS have implicit register operands.
bool translate_string(const ZydisDecodedInstruction& from, const ZydisDecodedOperand* operands, Instruction& out) {
  const bool moves = out.op == Op::kMoveString;
  if (from.address_width != 64 || (moves && operands[1].mem.segment != ZYDIS_REGISTER_DS)) return false;
  out.size = static_cast<std::uint8_t>(operands[0].size / 8);
  out.repeated = (from.attributes & ZYDIS_ATTRIB_HAS_REP) != 0;
  out.needs = known_bits(kRdi, 8) | (moves ? known_bits(kRsi, 8) : known_bits(kRax, out.size));
  if (out.repeated) out.needs |= known_bits(kRcx, 8);
  return true;
}

bool translate_integer(const ZydisDecodedInstruction& from, Translator& translator, Instruction& out) {
  const unsigned visible = from.operand_count_visible;
  out.size = static_cast<std::uint8_t>(translator.bytes(0));
  switch (out.op) {
    case Op::kNop:
    case Op::kClc:
    case Op::kStc:
    case Op::kCmc:
      return true;  // a long NOP does not access its operand
    case Op::kExtendAccumulator:
    case Op::kSpreadSign:
      out.size = static_cast<std::uint8_t>(from.operand_width / 8);
      return true;
    case Op::kLeave:
      return from.operand_width == 64;
    case Op::kRet:
      if (from.operand_width != 64 || from.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return false;
      if (visible == 0) return true;
      return translator.operand(0, out.source) && out.source.kind == Operand::Kind::kImmediate;
    case Op::kJmp:
    case Op::kCall:
    case Op::kJcc:
      if (from.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return false;
      if (!translator.operand(0, out.source)) return false;
      out.size = out.source_size = 8;
      if (out.source.kind == Operand::Kind::kImmediate) {
        out.target = out.next + out.immediate;
        return true;
      }
      return translator.bytes(0) == 8;
    case Op::kPush:
      if (from.operand_width != 64 || !translator.operand(0, out.source)) return false;
      out.size = out.source_size = 8;
      return true;
    case Op::kPop:
      if (from.operand_width != 64 || !translator.operand(0, out.destination)) return false;
      out.size = 8;
      return out.destination.kind == Operand::Kind::kRegister;
    default:
      break;
  }
  if (out.size != 1 && out.size != 2 && out.size != 4 && out.size != 8) {
    if (out.op != Op::kLea) return false;
  }
  if (!translator.operand(0, out.destination)) return false;
  if (out.destination.kind == Operand::Kind::kVector || out.destination.kind == Operand::Kind::kImmediate)
    return false;
  if (visible >= 2 && !translator.operand(1, out.source)) return false;
  if (visible >= 3 && !translator.operand(2, out.source2)) return false;
  if (visible > 3 || out.source.kind == Operand::Kind::kVector) return false;
  out.source_size = static_cast<std::uint8_t>(translator.bytes(1));
  if (out.source.kind == Operand::Kind::kImmediate) out.source_size = out.size;

  switch (out.op) {
    case Op::kImul:
      if (visible == 1) {
        out.op = Op::kImulWide;
      } else if (visible == 2) {
        out.source2 = out.source;
        out.source = out.destination;
        out.source_size = out.size;
      }
      return true;
    case Op::kBswap:
      return out.size >= 4;  // 16-bit BSWAP is undefined
    case Op::kBt:
    case Op::kBts:
    case Op::kBtr:
    case Op::kBtc:
      // With a register as bit offset the operand in memory is a string of 2^64 bits.
      return out.destination.kind != Operand::Kind::kMemory || out.source.kind == Operand::Kind::kImmediate;
    case Op::kCmpxchg:
    case Op::kXadd:
      return out.op == Op::kXadd || out.destination.kind == Operand::Kind::kMemory;
    default:
      return true;
  }
}

bool translate_floating(const ZydisDecodedInstruction& from, Translator& translator, unsigned visible, Instruction& out) {
  out.reads_low = true;
  out.reads_lowest = out.source_size == 4;
  if (out.op >= Op::kFloatFused132) {
    out.size = out.source_size;
    out.immediate = from.opcode >> 1 & 3;  // Intel SDM 2, VFMADD132SD and its family
    out.needs_vectors =
        vector_needs(out.destination, false) | vector_needs(out.source, false) | vector_needs(out.source2, false);
    return visible == 3 && is_vector(out.destination) && is_vector(out.source);
  }
  if (out.op == Op::kFloatCompare) {
    out.size = out.source_size;
    out.needs_vectors = vector_needs(out.destination, false) | vector_needs(out.source, false);
    return visible == 2 && is_vector(out.destination);
  }
  if (visible == 2) {
    out.source2 = out.source;
    out.source = out.destination;
  }
  const unsigned element = out.source_size;
  switch (out.op) {
    case Op::kFloatFromInteger:
      out.size = static_cast<std::uint8_t>(element);
      out.source_size = static_cast<std::uint8_t>(translator.bytes(visible - 1));
      out.needs = operand_needs(out.source2, out.source_size);
      return is_vector(out.destination) && is_vector(out.source);
    case Op::kFloatConvert:
      out.size = element == 4 ? 8 : 4;
      out.needs_vectors = vector_needs(out.source2, false);
      return is_vector(out.destination) && is_vector(out.source);
    case Op::kFloatTruncate:
      out.size = static_cast<std::uint8_t>(translator.bytes(0));
      out.needs_vectors = vector_needs(out.source2, false);
      return visible == 2 && out.destination.kind == Operand::Kind::kRegister;
    default:
      out.size = static_cast<std::uint8_t>(element);
      break;
  }
  out.needs_vectors = vector_needs(out.source, false) | vector_needs(out.source2, false);
  return is_vector(out.destination) && is_vector(out.source);
}

bool translate_vector(const ZydisDecodedInstruction& from, Translator& translator, Instruction& out) {
  if (out.op == Op::kVectorZeroUpper) return true;
  const unsigned visible = from.operand_count_visible;
  if (visible < 2 || !translator.operand(0, out.destination) || !translator.operand(1, out.source))
    return false;
  if (visible > 2 && !translator.operand(2, out.source2)) return false;
  if (out.op >= Op::kFloatFromInteger) return translate_floating(from, translator, visible, out);
  out.size = static_cast<std::uint8_t>(translator.bytes(0));
  switch (out.op) {
    case Op::kVectorMove:
      if (visible != 2 || (out.size != 16 && out.size != 32)) return false;
      switch (from.mnemonic) {
        case ZYDIS_MNEMONIC_MOVAPS:
        case ZYDIS_MNEMONIC_VMOVAPS:
        case ZYDIS_MNEMONIC_MOVAPD:
        case ZYDIS_MNEMONIC_VMOVAPD:
        case ZYDIS_MNEMONIC_MOVDQA:
        case ZYDIS_MNEMONIC_VMOVDQA:
          out.aligned = true;
          break;
        default:
          break;
      }
      if (is_vector(out.source)) out.needs_vectors = vector_needs(out.source, out.size == 32);
      out.reads_low = out.reads_lowest = is_vector(out.destination) && is_vector(out.source) && out.size == 16;
      return is_vector(out.destination) || is_vector(out.source);
    case Op::kVectorLoadLow: {
      if (visible != 2) return false;
      out.reads_low = true;
      const unsigned bytes =
          from.mnemonic == ZYDIS_MNEMONIC_MOVD || from.mnemonic == ZYDIS_MNEMONIC_VMOVD ? 4 : 8;
      if (!is_vector(out.destination)) {
        if (!is_vector(out.source)) return false;
        out.op = Op::kVectorStoreLow;
      }
      out.size = out.source_size = static_cast<std::uint8_t>(bytes);
      out.reads_lowest = bytes == 4;
      if (is_vector(out.source)) out.needs_vectors = vector_needs(out.source, false);
      out.needs |= operand_needs(out.source, bytes);
      return true;
    }
    case Op::kVectorMergeLow:
      out.size = out.source_size;
      out.reads_low = true;
      out.reads_lowest = out.size == 4;
      if (visible == 2 && is_vector(out.destination) && is_memory(out.source)) {
        out.op = Op::kVectorLoadLow;
        return true;
      }
      if (visible == 2 && is_memory(out.destination) && is_vector(out.source)) {
        out.op = Op::kVectorStoreLow;
        out.needs_vectors = vector_needs(out.source, false);
        return true;
      }
      if (!is_vector(out.destination) || !is_vector(out.source)) return false;
      if (visible == 2) {
        out.source2 = out.source;
        out.source = out.destination;
      }
      if (!is_vector(out.source2)) return false;
      out.needs_vectors = vector_needs(out.source, false) | vector_needs(out.source2, false);
      return true;
    case Op::kVectorMoveHigh:
      out.size = 8;
      if (visible == 2 && is_memory(out.destination) && is_vector(out.source)) {
        out.needs_vectors = vector_needs(out.source, false);
        return true;
      }
      if (!is_vector(out.destination)) return false;
      if (visible == 2) {
        out.source2 = out.source;
        out.source = out.destination;
      }
      if (!is_vector(out.source) || !is_memory(out.source2)) return false;
      out.needs_vectors = vector_needs(out.source, false);
      return true;
    case Op::kVectorHighToLow:
      out.size = 8;
      if (visible == 2) {
        out.source2 = out.source;
        out.source = out.destination;
      }
      out.needs_vectors = vector_needs(out.source2, false);
      return is_vector(out.destination) && is_vector(out.source) && is_vector(out.source2);
    case Op::kVectorXor:
    case Op::kVectorAnd:
    case Op::kVectorAndNot:
    case Op::kVectorOr:
    case Op::kVectorCompareEqual:
    case Op::kVectorAdd:
    case Op::kVectorSub:
    case Op::kVectorUnpackLow:
    case Op::kVectorUnpackHigh:
      if (!is_vector(out.destination) || (out.size != 16 && out.size != 32)) return false;
      if (visible == 2) {
        out.source2 = out.source;
        out.source = out.destination;
      }
      if (!is_vector(out.source) || (!is_vector(out.source2) && !is_memory(out.source2))) return false;
      // Legacy SSE arithmetic traps on unaligned memory; VEX does not.
      out.aligned = !out.vex && is_memory(out.source2);
      out.needs_vectors =
          vector_needs(out.source, out.size == 32) | vector_needs(out.source2, out.size == 32);
      if (same_register(out.source, out.source2) &&
          (out.op == Op::kVectorXor || out.op == Op::kVectorSub || out.op == Op::kVectorCompareEqual)) {
        out.needs_vectors = 0;  // all zeros or all ones for any register value
      }
      return true;
    case Op::kVectorShuffle32:
      if (visible != 3 || !is_vector(out.destination) || (out.size != 16 && out.size != 32)) return false;
      if (out.source2.kind != Operand::Kind::kImmediate) return false;
      out.aligned = !out.vex && is_memory(out.source);
      out.needs_vectors = vector_needs(out.source, out.size == 32);
      return is_vector(out.source) || is_memory(out.source);
    case Op::kVectorAlign:
      if (visible != 3 || !is_vector(out.destination) || out.size != 16) return false;
      if (out.source2.kind != Operand::Kind::kImmediate) return false;
      out.source2 = out.source;
      out.source = out.destination;
      out.aligned = is_memory(out.source2);
      out.needs_vectors = vector_needs(out.source, false) | vector_needs(out.source2, false);
      return is_vector(out.source2) || is_memory(out.source2);
    case Op::kVectorShiftBytesLeft:
    case Op::kVectorShiftBytesRight:
    case Op::kVectorShiftLeft:
    case Op::kVectorShiftRight:
      if (!is_vector(out.destination) || (out.size != 16 && out.size != 32)) return false;
      if (visible == 2) {
        out.source2 = out.source;
        out.source = out.destination;
      }
      out.needs_vectors = vector_needs(out.source, out.size == 32);
      return is_vector(out.source) && out.source2.kind == Operand::Kind::kImmediate;
    case Op::kVectorExtractHalf:
      out.size = 16;
      out.needs_vectors = vector_needs(out.source, true);
      return visible == 3 && is_vector(out.destination) && is_vector(out.source);
    case Op::kVectorExtract:
      out.size = out.source_size;
      out.needs_vectors = vector_needs(out.source, false);
      return visible == 3 && is_vector(out.source) && out.source2.kind == Operand::Kind::kImmediate &&
             !is_vector(out.destination) && translator.bytes(0) == out.size;
    case Op::kVectorBroadcast:
      if (visible != 2 || !is_vector(out.destination) || (out.size != 16 && out.size != 32)) return false;
      if (from.mnemonic == ZYDIS_MNEMONIC_VMOVDDUP && out.size == 32) {  // separately in each half
        out.op = Op::kVectorUnpackLow;
        out.source2 = out.source;
      }
      out.needs_vectors = vector_needs(out.source, out.op == Op::kVectorUnpackLow);
      return is_vector(out.source) || is_memory(out.source);
    case Op::kVectorInsert: {
      Operand at = out.source2;
      if (visible == 3) {
        out.source2 = out.source;
        out.source = out.destination;
      } else if (!translator.operand(3, at)) {
        return false;
      }
      out.size = out.source_size;
      out.needs = operand_needs(out.source2, out.size);
      out.needs_vectors = vector_needs(out.source, false);
      return is_vector(out.destination) && is_vector(out.source) && at.kind == Operand::Kind::kImmediate &&
             (out.source2.kind == Operand::Kind::kRegister || is_memory(out.source2));
    }
    case Op::kVectorMoveMask:
      if (out.destination.kind != Operand::Kind::kRegister || !is_vector(out.source)) return false;
      out.size = static_cast<std::uint8_t>(translator.bytes(1));
      out.needs_vectors = vector_needs(out.source, out.size == 32);
      return out.size == 16 || out.size == 32;
    case Op::kVectorTest:
      if (!is_vector(out.destination) || (out.size != 16 && out.size != 32)) return false;
      out.aligned = !out.vex && is_memory(out.source);
      out.needs_vectors =
          vector_needs(out.destination, out.size == 32) | vector_needs(out.source, out.size == 32);
      return is_vector(out.source) || is_memory(out.source);
    default:
      return false;
  }
}

}  // namespace

Instruction decode(std::uint64_t address, const std::uint8_t* bytes, unsigned available) {
  Instruction out;
  out.address = address;
  if (available > sizeof out.bytes) available = sizeof out.bytes;
  ZydisDecodedInstruction from;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  const ZyanStatus status = available == 0
                                ? ZYDIS_STATUS_NO_MORE_DATA
                                : ZydisDecoderDecodeFull(&decoder(), bytes, available, &from, operands);
  if (ZYAN_FAILED(status)) {
    out.refusal =
        available == 0 || status == ZYDIS_STATUS_NO_MORE_DATA ? Reason::kUnreadable : Reason::kUndecodable;
    out.length = static_cast<std::uint8_t>(available);
    std::copy_n(bytes, available, out.bytes);
    return out;
  }
  out.length = from.length;
  std::memcpy(out.bytes, bytes, from.length);
  out.next = address + from.length;
  out.mnemonic = ZydisMnemonicGetString(from.mnemonic);
  out.vex = from.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;

  const auto refuse = [&] {
    out.op = Op::kRefused;
    out.refusal = refusal_reason(from.mnemonic);
    return out;
  };
  // 3DNow!, XOP, EVEX and MVEX are not interpreted. REP prefixes affect string operations only.
  if (from.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && !out.vex) return refuse();
  const Operation operation = find_operation(from.mnemonic);
  out.op = operation.op;
  out.condition = operation.condition;
  out.source_size = operation.element;
  if (out.op == Op::kRefused) return refuse();
  Translator translator(from, operands, out);
  if (out.op >= Op::kVectorMove) {
    if (!translate_vector(from, translator, out)) return refuse();
    if (out.base != Instruction::kNoRegister) out.needs |= known_bits(out.base, 8);
    if (out.index != Instruction::kNoRegister) out.needs |= known_bits(out.index, 8);
  } else if (out.op == Op::kStoreString || out.op == Op::kMoveString) {
    if (!translate_string(from, operands, out)) return refuse();
  } else {
    if (!translate_integer(from, translator, out)) return refuse();
    work_out_needs(from, out);
  }
  return out;
}

}  // namespace verbatim::spin
