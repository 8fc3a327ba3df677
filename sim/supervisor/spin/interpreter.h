// Executes x86-64 machine code on a copy of a thread's registers and memory. It never changes the program.
//
// Each register part and flag is known or unknown. A known one has exactly the value that the processor would
// have. An unknown one (after a call, or undefined by the architecture) may be overwritten but not read.
// Reading it ends the analysis, because the program's further behaviour is not a function of the known state.
// Unknown parts hold zero: two states are equal if their bytes are.
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

// True for a POP of stack that a call may have overwritten. Functions remove alignment padding in this
// manner, which they have never written. The register becomes unknown. A POP into a callee-saved register is
// never taken for one of padding.
inline bool pops_unknown(const Instruction& in, const MachineState& state, MemoryView& memory) {
  return in.op == Op::kPop && (kCallKeeps >> in.destination.index & 1) == 0 &&
         memory.is_stale(state.registers.gpr[kRsp], 8);
}

// Place and reason of the end of interpretation.
struct Stop {
  Reason reason = Reason::kNone;
  std::uint64_t rip = 0;
  const char* mnemonic = "";
};

// Called for each instruction before it is executed. `address` is that of its memory operand, if it has one.
class Observer {
 public:
  virtual ~Observer() = default;
  // False: interpretation ends with Reason::kObserver; the observer has the reason.
  virtual bool follow(const Instruction& instruction, const MachineState& state, std::uint64_t address) = 0;
};

class Interpreter {
 public:
  Interpreter(CodeCache& code, MemoryView& memory) : code_(code), memory_(memory) {}

  MachineState state;
  // Enables floating-point operations, computed with rounding to nearest. The program's rounding mode is
  // unknown.
  bool allows_floating = false;
  // True if a floating-point operation was executed since forget_floating().
  bool has_floated() const { return has_floated_; }
  void forget_floating() { has_floated_ = false; }

  // nullptr: no observer.
  void set_observer(Observer* observer) { observer_ = observer; }

  // Executes one instruction. False: see stop(); the state is that before the instruction, except for
  // registers that it may already have changed.
  bool step();
  const Stop& stop() const { return stop_; }
  // True if the last instruction did not continue at the next one.
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
  // Flags in `affected` get the values in `values`; those also in `undefined` become unknown.
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
