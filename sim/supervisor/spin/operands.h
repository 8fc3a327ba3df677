// Access to operands, for the files that execute instructions.
#pragma once

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/interpreter.h"

namespace verbatim::spin {

inline std::uint64_t Interpreter::address_of(const Instruction& instruction) const {
  const auto& gpr = state.registers.gpr;
  std::uint64_t address = instruction.displacement;
  if (instruction.base != Instruction::kNoRegister) address += gpr[instruction.base];
  if (instruction.index != Instruction::kNoRegister) address += gpr[instruction.index] * instruction.scale;
  if (instruction.address32) address = static_cast<std::uint32_t>(address);
  if (instruction.fs_relative) address += state.registers.fs_base;
  return address;
}

inline bool Interpreter::get(const Instruction& instruction, const Operand& operand, unsigned size,
                             std::uint64_t& value) {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      value = state.registers.gpr[operand.index] & size_mask(size);
      return true;
    case Operand::Kind::kHighByte:
      value = (state.registers.gpr[operand.index] >> 8) & 0xff;
      return true;
    case Operand::Kind::kImmediate:
      value = instruction.immediate & size_mask(size);
      return true;
    case Operand::Kind::kMemory:
      return memory_.load(address_of(instruction), size, value) || fail(memory_.fault());
    default:
      return fail(Reason::kUnsupported);
  }
}

inline void Interpreter::put_gpr(unsigned index, unsigned size, std::uint64_t value) {
  std::uint64_t& gpr = state.registers.gpr[index];
  // A 32-bit write clears the upper half. Shorter writes keep the rest.
  gpr = size >= 4 ? value : (gpr & ~size_mask(size)) | value;
  state.known |= known_bits(index, size);
}

inline bool Interpreter::put(const Instruction& instruction, const Operand& operand, unsigned size,
                             std::uint64_t value) {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      put_gpr(operand.index, size, value & size_mask(size));
      return true;
    case Operand::Kind::kHighByte: {
      std::uint64_t& gpr = state.registers.gpr[operand.index];
      gpr = (gpr & ~0xff00ull) | ((value & 0xff) << 8);
      state.known |= 1ull << (16 + operand.index);
      return true;
    }
    case Operand::Kind::kMemory:
      return memory_.store(address_of(instruction), size, value) || fail(memory_.fault());
    default:
      return fail(Reason::kUnsupported);
  }
}

inline void Interpreter::set_flags(std::uint32_t affected, std::uint32_t values, std::uint32_t undefined) {
  const std::uint32_t defined = affected & ~undefined;
  state.registers.flags = (state.registers.flags & ~std::uint64_t{affected}) | (values & defined);
  state.known_flags = (state.known_flags & ~affected) | defined;
}

}  // namespace verbatim::spin
