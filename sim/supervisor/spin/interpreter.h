// Executes x86-64 machine code on a copy of a thread's registers and memory. Nothing it does reaches the
// program.
//
// Every register part and flag is either known or not. A known one has exactly the value the processor would
// have; an unknown one (left by a call, or declared undefined by the architecture) may be overwritten but not
// read: reading it ends the analysis, because then what happens next is not a function of what is known.
// Unknown parts hold zero, so two states are equal when their bytes are.
#pragma once

#include <cstdint>

#include "sim/supervisor/spin/code_cache.h"
#include "sim/supervisor/spin/instruction.h"
#include "sim/supervisor/spin/memory_view.h"
#include "sim/supervisor/spin/registers.h"

namespace verbatim::spin {

struct MachineState {
  Registers registers;
  std::uint64_t known = kAllKnown;
  std::uint32_t known_flags = kArithmeticFlags;
  VectorRegisters vectors;

  friend bool operator==(const MachineState& a, const MachineState& b) {
    return a.registers.rip == b.registers.rip && a.registers == b.registers && a.known == b.known &&
           a.known_flags == b.known_flags && a.vectors == b.vectors;
  }

  void forget_gpr(unsigned index) {
    registers.gpr[index] = 0;
    known &= ~known_bits(index, 8);
  }
  void forget_flags(std::uint32_t flags) {
    registers.flags &= ~std::uint64_t{flags};
    known_flags &= ~flags;
  }
};

// Whether this is a POP of stack that a call may have overwritten. So functions drop words that align the stack, which they have
// never written. The register is unknown then. One that a call keeps is not taken for such a word.
inline bool pops_unknown(const Instruction& in, const MachineState& state, MemoryView& memory) {
  return in.op == Op::kPop && (kCallKeeps >> in.destination.index & 1) == 0 &&
         memory.is_stale(state.registers.gpr[kRsp], 8);
}

// Where and why interpretation ended.
struct Stop {
  Reason reason = Reason::kNone;
  std::uint64_t rip = 0;
  const char* mnemonic = "";
};

// Is asked about every instruction before it is executed. `address`: of its operand in memory, where it has one.
class Observer {
 public:
  virtual ~Observer() = default;
  // False: interpretation ends, for a reason that the observer knows.
  virtual bool follow(const Instruction& instruction, const MachineState& state, std::uint64_t address) = 0;
};

class Interpreter {
 public:
  Interpreter(CodeCache& code, MemoryView& memory) : code_(code), memory_(memory) {}

  MachineState state;
  // Whether numbers with binary point are computed, as if rounding to nearest, which is not known.
  bool allows_floating = false;
  // Whether any were, since this was last set to false.
  bool has_floated() const { return has_floated_; }
  void forget_floating() { has_floated_ = false; }

  // nullptr: nobody.
  void set_observer(Observer* observer) { observer_ = observer; }

  // Executes one instruction; false: stop() tells why, and the state is that before the instruction except
  // for registers it may have changed.
  bool step();
  const Stop& stop() const { return stop_; }
  // Whether the last instruction went elsewhere than to the next one.
  bool jumped() const { return jumped_; }

 private:
  bool execute(const Instruction& instruction);
  bool execute_scalar(const Instruction& instruction);
  bool execute_vector(const Instruction& instruction);
  bool execute_floating(const Instruction& instruction);
  bool get_low(const Instruction& instruction, const Operand& operand, unsigned size, std::uint64_t& value);
  bool divide(const Instruction& instruction, std::uint64_t divisor);
  bool bit_test(const Instruction& instruction);
  void bit_scan(const Instruction& instruction, std::uint64_t value);
  bool shift(const Instruction& instruction);
  bool string_operation(const Instruction& instruction);

  bool fail(Reason reason) {
    stop_.reason = reason;
    return false;
  }

  std::uint64_t address_of(const Instruction& instruction) const;
  bool get(const Instruction& instruction, const Operand& operand, unsigned size, std::uint64_t& value);
  bool put(const Instruction& instruction, const Operand& operand, unsigned size, std::uint64_t value);
  void put_gpr(unsigned index, unsigned size, std::uint64_t value);
  // Flags in `affected` take the value in `values`, and are unknown where they are in `undefined`.
  void set_flags(std::uint32_t affected, std::uint32_t values, std::uint32_t undefined = 0);
  bool push(std::uint64_t value);
  bool pop(std::uint64_t& value);

  using Lanes = std::array<std::uint64_t, 4>;
  bool get_vector(const Instruction& instruction, const Operand& operand, unsigned size, Lanes& lanes);
  void put_low(const Instruction& in, unsigned above, const Lanes& lanes);
  bool execute_fused(const Instruction& in);
  void put_vector(const Instruction& instruction, unsigned index, unsigned size, const Lanes& lanes);

  CodeCache& code_;
  MemoryView& memory_;
  Observer* observer_ = nullptr;
  std::uint64_t next_rip_ = 0;
  bool jumped_ = false;
  bool has_floated_ = false;
  Stop stop_;
};

}  // namespace verbatim::spin
