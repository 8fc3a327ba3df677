// Growing values: registers and memory that change by a constant in each turn (induction variables), such as
// counters, statistics and time-outs counted in iterations. A turn is one period of the loop.
//
// While the interpreter executes one turn, each register and memory cell also carries a step: its value in
// turn n is v + n·s modulo 2^width, where v is the interpreter's value. An instruction whose result follows
// this rule gets a step. An instruction whose outcome is constant for some turns (comparison, division, mask)
// limits the number of turns for which the proof holds. Any other use of a growing value ends the analysis.
// If the steps at the end of the turn equal those assumed at its beginning, then by induction every turn up
// to that number behaves like this one.
//
// Values computed from clocks may follow no rule. For a given number of turns (the horizon) they have bounds
// (range.h): a comparison must have one outcome for all values within the bounds, and a turn must not read
// bounded values of the turn before.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/supervisor/spin/instruction.h"
#include "sim/supervisor/spin/interpreter.h"
#include "sim/supervisor/spin/memory_view.h"
#include "sim/supervisor/spin/range.h"

namespace verbatim::spin {

// Set of the registers and cells whose growth was assumed at the beginning of the turn: bit r for register r, bit 16 + i for
// cell i, and the last bit for all further cells.
using Sources = std::uint64_t;

// A memory cell of `size` bytes that grows by `step` each turn.
struct GrowingCell {
  std::uint64_t address = 0;
  std::uint8_t size = 0;
  std::uint64_t step = 0;  // modulo 2^(8·size)
  Sources sources = 0;     // from which the value was computed

  friend bool operator==(const GrowingCell& a, const GrowingCell& b) {
    return a.address == b.address && a.size == b.size && a.step == b.step;
  }
};

// The turns in which an instruction has the same outcome, if the values from `sources` are those of turn n: all with
// n % period <= last, or with n <= last if `period` is 0.
struct TurnLimit {
  Sources sources = 0;
  std::uint64_t last = 0, period = 0;
};

// Growth of a general register. With size 4 the upper half is zero in every turn.
struct GrowingRegister {
  std::uint64_t step = 0;
  std::uint8_t size = 8;
  Sources sources = 0;  // from which the value was computed

  friend bool operator==(const GrowingRegister& a, const GrowingRegister& b) { return a.step == b.step && a.size == b.size; }
};

inline bool overlap(std::uint64_t a, std::uint64_t a_length, std::uint64_t b, std::uint64_t b_length) {
  return a < b + b_length && b < a + a_length;
}

inline constexpr std::uint64_t kEveryTurn = ~0ull;

class Growth final : public Observer {
 public:
  // Growth of a 64-bit half of a vector register.
  struct GrowingHalf {
    std::uint64_t step = 0;
    Sources sources = 0;  // from which the value was computed
  };
  using Halves = std::array<GrowingHalf, 2>;  // bits 0-63 and 64-127

  explicit Growth(MemoryView& memory) : memory_(&memory) {}

  // Begins a turn. The registers have the given steps. `changed` has bytes with their values in the next
  // turn: each that the turn reads gets the difference as its step. All else is constant. `horizon`: number of
  // turns for which bounds are computed; 0: no bounds.
  void begin(const std::array<GrowingRegister, 16>& registers, std::vector<ByteRun> changed, std::uint64_t horizon = 0);

  // Called before the instruction is executed in `state`; `address` is that of its memory operand. False: its
  // effect in other turns is unknown, see reason().
  bool follow(const Instruction& instruction, const MachineState& state, std::uint64_t address) override;
  Reason reason() const { return reason_; }

  // A call was skipped that destroys the registers in `mask` (by number), all flags and vector registers.
  void forget(std::uint16_t mask);

  // A value `now` with this `step` was written other than by an instruction. Limits turns() to those in which
  // it is at most `most`. False: see reason().
  bool set_register(unsigned index, unsigned size, std::uint64_t now, std::uint64_t step, std::uint64_t most);
  bool set_memory(std::uint64_t address, unsigned size, std::uint64_t now, std::uint64_t step, std::uint64_t most);
  // Bounded values, which need a horizon.
  bool set_register(unsigned index, unsigned size, const Range& range);
  bool set_memory(std::uint64_t address, unsigned size, const Range& range);

  // Limits turns() to those in which value + n·step is from `least` to `most`.
  void keep_within(__int128 value, __int128 step, __int128 least, __int128 most);
  // Bounds of value + n·step in the turns considered.
  Range bounds(__int128 value, __int128 step) const;
  bool has_horizon() const { return horizon_ != 0; }

  const std::array<GrowingRegister, 16>& registers() const { return registers_; }
  const Halves& vector(unsigned index) const { return halves_[index]; }
  const std::vector<GrowingCell>& cells() const { return cells_; }
  // Growing cells that overlap `runs`.
  std::vector<GrowingCell> cells_in(const std::vector<ByteRun>& runs) const;
  // Memory, and general registers by number, for which only bounds are known.
  std::vector<MemoryRange> bounded_memory() const;
  bool is_bounded(unsigned index) const { return register_bounds_[index].has_value(); }
  // Cells that were read before they were written, with their assumed steps.
  const std::vector<GrowingCell>& assumed() const { return assumed_; }
  // True if the memory is the same in each turn and may therefore be read other than by an instruction.
  bool may_read(std::uint64_t address, std::uint64_t length) {
    return is_constant(address, length) || fail(Reason::kGrowingCall);
  }
  // The proof holds for turns 0 to turns().
  std::uint64_t turns() const { return turns_ < horizon_ || horizon_ == 0 ? turns_ : horizon_; }
  // The limits of turns(), and sets of sources that one instruction has combined. Without a horizon only.
  const std::vector<TurnLimit>& limits() const { return limits_; }
  const std::vector<Sources>& combined() const { return combined_; }
  // The lowest number of turns for which the rule of an instruction held before bounds replaced it;
  // kEveryTurn: none was replaced.
  std::uint64_t turns_by_rule() const { return turns_by_rule_; }

  // The growth of a register of `size` bytes as that of an 8-byte register. Limits turns().
  GrowingRegister widened(const GrowingRegister& grows, std::uint64_t value);
  // True if some of the bytes change in each turn and have not been read yet. Their values in the next turn
  // are stored in `next` unless it is null.
  bool changes(std::uint64_t address, std::uint64_t length, std::uint8_t* next) const;
  // True if the whole register follows its rule.
  bool is_whole(unsigned index) const { return constant_low_[index] == 0 && !is_bounded(index); }

 private:
  // An operand: its value in this turn and its step, both zero-extended from the operand's size.
  struct Value {
    std::uint64_t now = 0, step = 0;
  };
  enum class FlagsOf : std::uint8_t { kNothing, kDifference, kSum };
  // Bounds of a value: of an integer, or of a floating-point number.
  struct Bounds {
    Range range;
    unsigned size = 8;  // bytes; with 4 the upper half of a register is zero
    // Registers only: number of low bytes that are constant in every turn, regardless of the bounds.
    unsigned constant_low = 0;
    bool is_floating = false;
    double least = 0, most = 0;

    friend bool operator==(const Bounds&, const Bounds&) = default;
  };
  struct BoundedCell {
    std::uint64_t address = 0;
    Bounds bounds;
  };
  enum class Uses : std::uint8_t { kConstant, kRule, kBounds };
  using GrowingHalves = std::array<Halves, 16>;
  static bool grows(const Halves& halves) { return halves[0].step != 0 || halves[1].step != 0; }
  // State that is restored when bounds replace the rule of an instruction.
  struct Rules {
    std::array<GrowingRegister, 16> registers{};
    std::array<std::uint8_t, 16> constant_low{};
    GrowingHalves halves{};
    std::vector<GrowingCell> cells, assumed;
    std::size_t constants = 0;
    std::vector<BoundedCell> bounded;
    std::uint64_t turns = kEveryTurn;
    std::uint32_t growing_flags = 0, flags_set = 0;
  };
  static constexpr unsigned kFirstCell = 16, kMostSources = 64;

  bool fail(Reason reason) {
    reason_ = reason;
    return false;
  }
  bool follow_rule(const Instruction& in);
  // The proof holds for turns 0 to `turns`, as far as the current instruction is concerned.
  void limit(std::uint64_t turns);
  bool settle_growing(unsigned condition);
  // growth_bounds.cc
  Uses uses(const Instruction& in) const;
  Uses uses_memory(std::uint64_t address, std::uint64_t length) const;
  bool follow_bounds(const Instruction& in);
  bool bounded_move(const Instruction& in);
  bool bounded_sum(const Instruction& in);
  bool bounded_logic(const Instruction& in);
  bool bounded_shift(const Instruction& in);
  bool bounded_product(const Instruction& in);
  bool bounded_quotient(const Instruction& in);
  bool bounded_accumulator(const Instruction& in);
  // growth_vectors.cc
  bool follow_vector(const Instruction& in);
  bool reads_growth(const Instruction& in);
  bool follow_halves(const Instruction& in);
  bool half_step(const Instruction& in, const Operand& operand, unsigned half, std::uint64_t& step);
  void write_steps(unsigned index, std::uint64_t low, std::uint64_t high);
  void bound_halves(const Operand& operand);
  bool bounded_vector(const Instruction& in);
  bool bounded_halves(const Instruction& in);
  bool half_bounds(const Operand& operand, unsigned half, Bounds& bounds);
  void write_half(unsigned index, unsigned half, const Bounds& bounds);
  bool read_bounds(const Instruction& in, const Operand& operand, unsigned size, Bounds& bounds);
  bool read_register_bounds(unsigned index, unsigned size, Bounds& bounds);
  bool load_bounds(std::uint64_t address, unsigned size, Bounds& bounds);
  bool read_range(const Instruction& in, const Operand& operand, unsigned size, Range& range);
  bool write_bounds(const Operand& operand, unsigned size, const Bounds& bounds);
  bool write_range(const Operand& operand, unsigned size, const Range& range);
  bool write_register_bounds(unsigned index, unsigned size, const Bounds& bounds);
  bool store_bounds(std::uint64_t address, unsigned size, const Bounds& bounds);
  void set_bounded_flags(FlagsOf what, const Range& a, const Range& b, unsigned size, std::uint32_t affected,
                         std::uint32_t usable);
  bool settle_bounds(unsigned condition);
  // growth_floating.cc
  bool floating_bounds(const Instruction& in, const Operand& operand, unsigned size, Bounds& bounds);
  bool bounded_floating(const Instruction& in);
  bool fused_operation(const Instruction& in);
  bool floating_operation(const Instruction& in);
  bool floating_sign(const Instruction& in);
  bool floating_comparison(const Instruction& in);
  // One function for each kind of instruction; growth_operations.cc.
  bool follow_move(const Instruction& in);
  bool follow_sum(const Instruction& in);
  bool follow_logic(const Instruction& in);
  bool follow_one_operand(const Instruction& in);
  bool follow_bits(const Instruction& in);
  bool follow_string(const Instruction& in);
  bool follow_stack(const Instruction& in);
  bool follow_shift(const Instruction& in);
  bool follow_multiplication(const Instruction& in);
  bool follow_division(const Instruction& in);
  bool follow_exchange(const Instruction& in);
  bool follow_address(const Instruction& in);
  bool follow_accumulator(const Instruction& in);
  bool masked(const Value& a, std::uint64_t mask, Value& result);
  bool shifted(Op op, const Value& a, unsigned count, unsigned size, Value& result);

  bool read(const Instruction& in, const Operand& operand, unsigned size, Value& value);
  bool read_register(unsigned index, unsigned size, Value& value);
  bool write(const Operand& operand, unsigned size, std::uint64_t step);
  bool write_register(unsigned index, unsigned size, std::uint64_t step);
  bool load(std::uint64_t address, unsigned size, Value& value);
  bool store(std::uint64_t address, unsigned size, std::uint64_t step);
  // Keep the bytes of a cell that a store of `size` bytes at `address` does not overwrite.
  bool keep_rest(const GrowingCell& of, std::uint64_t address, unsigned size);
  void keep_rest(std::uint64_t at, Bounds of, std::uint64_t address, unsigned size);
  void keep_above(std::uint64_t at, const Bounds& of, std::uint64_t from);
  // True if no byte there grows. The range is noted, because a value read later must not grow over it.
  bool is_constant(std::uint64_t address, std::uint64_t length);

  void set_flags(FlagsOf what, const Value& a, const Value& b, unsigned size, std::uint32_t affected);
  // Limits turns() to those in which the condition has the same outcome.
  bool settle(const Instruction& in, unsigned condition);
  bool settle_zero(std::uint64_t difference, std::uint64_t step, unsigned size);
  void settle_sign(__int128 value, __int128 step, bool zero_is_below);

  void keep_unsigned(const Value& value, unsigned size);
  void keep_signed(const Value& value, unsigned size);

  MemoryView* memory_;
  const MachineState* state_ = nullptr;  // of the current instruction
  std::uint64_t address_ = 0;            // of its memory operand
  std::array<GrowingRegister, 16> registers_{};
  std::array<std::uint8_t, 16> constant_low_{};  // number of overwritten low bytes of a growing register
  GrowingHalves halves_{};
  std::vector<GrowingCell> cells_, assumed_;
  std::vector<MemoryRange> constant_;  // ranges that were read as constant
  std::vector<ByteRun> changed_;
  std::uint64_t turns_ = kEveryTurn, turns_by_rule_ = kEveryTurn;
  std::vector<TurnLimit> limits_;
  std::vector<Sources> combined_;
  Sources sources_ = 0;  // of the growing operands of the current instruction
  // After this number of turns, the bits that the current instruction compares are the same again; 0: they are not.
  std::uint64_t period_ = 0;
  Reason reason_ = Reason::kNone;
  std::uint32_t growing_flags_ = 0;  // flags that may differ between turns
  FlagsOf flags_of_ = FlagsOf::kNothing;
  std::uint32_t flags_set_ = 0;  // flags set by the last instruction with growing operands
  Value flags_a_, flags_b_;
  unsigned flags_size_ = 0;
  Sources flags_sources_ = 0;
  std::uint64_t flags_period_ = 0;  // as period_
  std::uint64_t horizon_ = 0;
  std::array<std::optional<Bounds>, 16> register_bounds_{};
  std::array<std::optional<Bounds>, 16> vector_bounds_{}, high_bounds_{};  // of bits 0-63 and of bits 64-127
  std::vector<BoundedCell> bounded_;
  // The low bytes of rdx that are known to be the sign of as many bytes of rax; 0: none.
  unsigned sign_size_ = 0;
  bool flags_bounded_ = false;  // flags compare these:
  Range flags_range_a_, flags_range_b_;
};

}  // namespace verbatim::spin
