// Comparisons of memory with constants, in a turn of a poll loop. A program that compares the number of its
// credits with a limit takes the same path for many numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/supervisor/spin/growth.h"
#include "sim/supervisor/spin/interpreter.h"
#include "sim/supervisor/spin/memory_view.h"

namespace verbatim::spin {

// CMP or TEST of `size` bytes of memory with a value that is the same in each turn.
struct Comparison {
  std::uint64_t address = 0, other = 0;
  std::uint8_t size = 0;
  bool is_test = false, memory_is_first = false;
  bool is_exact = false;  // the flags have another use than conditions
  // Conditions of the flags that the turn evaluated, and those among them that held; bit n for condition code
  // n.
  std::uint16_t evaluated = 0, held = 0;

  // True if these conditions have the same outcome for `value` in memory.
  bool has_same_outcome(std::uint64_t value) const;
};

// Passes the instructions of a turn to Growth and notes its comparisons.
class Comparisons final : public Observer {
 public:
  Comparisons(MemoryView& memory, Growth& growth) : memory_(memory), growth_(growth) {}

  // Begins a turn.
  void begin();
  bool follow(const Instruction& instruction, const MachineState& state, std::uint64_t address) override;
  // The turn has ended.
  void end();
  // The comparisons whose memory has no other use in the turn.
  std::vector<Comparison> found() const;

 private:
  bool is_constant(const Operand& operand) const;
  void note_flags(const Instruction& in, const MachineState& state);

  MemoryView& memory_;
  Growth& growth_;
  std::vector<Comparison> noted_;
  bool is_open_ = false;  // the flags are those of the last one
};

}  // namespace verbatim::spin
