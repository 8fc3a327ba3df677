// Values that grow by a constant each turn of a loop: counters, statistics, time-outs by iterations.
//
// While the interpreter executes one turn, each register and memory cell also carries its step: at turn n its value is
// v + n·s modulo 2^width, v being what the interpreter has. An instruction whose result follows such a rule passes it on;
// one whose outcome stays the same for some turns (a comparison, a division, a mask) limits the number of turns that the
// whole statement holds for; any other use of a growing value ends the analysis. So when the steps at the end of the
// turn are those that were assumed at its beginning, then by induction every turn up to that number goes like this one.
//
// What is computed of clocks may follow no rule. Where so many turns are looked at, it is known by its bounds in them (range.h):
// a comparison has to come out the same for all that lies within, and a turn must not read what the one before has left so. Where
// it does not, both outcomes are bounds again: of what a SETcc, CMOVcc, ADC or SBB makes of it, and behind a jump of all that the
// two ways have left where they meet (growth_ways.cc).
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

// Memory whose value, of `size` bytes, grows by `step` each turn.
struct GrowingCell {
  std::uint64_t address = 0;
  std::uint8_t size = 0;
  std::uint64_t step = 0;  // modulo 2^(8·size)

  friend bool operator==(const GrowingCell&, const GrowingCell&) = default;
};

// Turns that are looked at, for bounds; 0: there are none. Clocks show one second only in all of them, or many.
struct Horizon {
  std::uint64_t turns = 0;
  bool crosses_seconds = false;
  // Whether a comparison may come out one way in some of them, and the other way in others.
  bool goes_both_ways = true;
};

// The same of a general register. Of four bytes: the upper half is zero in every turn.
struct GrowingRegister {
  std::uint64_t step = 0;
  std::uint8_t size = 8;

  friend bool operator==(const GrowingRegister&, const GrowingRegister&) = default;
};

inline bool overlap(std::uint64_t a, std::uint64_t a_length, std::uint64_t b, std::uint64_t b_length) {
  return a < b + b_length && b < a + a_length;
}

inline constexpr std::uint64_t kEveryTurn = ~0ull;

class Growth final : public Observer {
 public:
  explicit Growth(MemoryView& memory) : memory_(&memory) {}

  // Nothing grows but the registers given; and of the bytes in `changed`, with their values of the next turn, those that
  // the turn reads: each by as much as it changes.
  void begin(const std::array<GrowingRegister, 16>& registers, std::vector<ByteRun> changed, Horizon horizon = {});

  // The instruction is about to be executed in `state`, with its operand in memory at `address`. False: reason() says
  // why there is no saying what it does in other turns.
  bool follow(const Instruction& instruction, const MachineState& state, std::uint64_t address) override;
  Reason reason() const { return reason_; }

  // A call has been passed over that destroys the registers in `mask` (by number) and all flags.
  void forget(std::uint16_t mask);

  // Something else than an instruction puts `now` there, which grows by `step` each turn; turns() is limited to those in
  // which it is no more than `most`. False: see reason().
  bool set_register(unsigned index, unsigned size, std::uint64_t now, std::uint64_t step, std::uint64_t most);
  bool set_memory(std::uint64_t address, unsigned size, std::uint64_t now, std::uint64_t step, std::uint64_t most);
  // Or something that is known by its bounds. It needs a horizon. A clock's time is in units of its own, `ps` in the turn that is
  // followed, and grows by as much each turn whatever of it is shown: so two of the same turn are known relative to each other.
  enum class Clock : std::uint8_t { kNone, kCounter, kNanoseconds, kMicroseconds };
  struct Reading {
    Clock clock = Clock::kNone;
    std::int64_t ps = 0;
    std::uint64_t units_per_second = 0;
    Range whole;  // what is shown
  };
  // The low and the high half of what a counter shows, in two registers of four bytes.
  bool set_counter(unsigned low, unsigned high, const Reading& reading);
  bool set_time(std::uint64_t address, const Reading& reading);
  bool set_register(unsigned index, unsigned size, const Range& range);
  bool set_memory(std::uint64_t address, unsigned size, const Range& range);
  // Nothing is left to be carried into a register: turns() is limited to those in which it is not, or its bounds are known.
  void settle_rests();

  // Both ways of a jump are followed, one after the other. What one has found to be read first is so for the other as well.
  void begin_way() { ++ways_; }
  void end_way() { --ways_; }
  void take_over(const Growth& way);
  // What is known of memory that a way has stored.
  struct Content;
  std::vector<Content> contents(const std::vector<MemoryRange>& stores);
  // The other way ends `there`, where this one ends `here`; `mine` and `others` are the contents of the same memory. What is not
  // the same is known by its bounds, or unknown. False: cannot be told.
  bool join(Growth& other, const MachineState& there, MachineState& here, const std::vector<Content>& mine,
            const std::vector<Content>& others);
  // Whether something has come out both ways, which Horizon::goes_both_ways allows.
  bool went_both_ways() const { return went_both_ways_; }
  bool may_go_both_ways() const { return may_go_both_ways_; }
  void note_both_ways() { went_both_ways_ = true; }
  // Whether the way that the turn takes is not the one of all turns.
  bool is_unsettled() const { return reason_ == Reason::kUnsettled; }

  // turns() is limited to those in which value + n·step lies from `least` to `most`.
  void keep_within(__int128 value, __int128 step, __int128 least, __int128 most);
  // The bounds of value + n·step in the turns looked at.
  Range bounds(__int128 value, __int128 step) const;
  bool has_horizon() const { return horizon_ != 0; }
  bool crosses_seconds() const { return crosses_seconds_; }

  const std::array<GrowingRegister, 16>& registers() const { return registers_; }
  const std::vector<GrowingCell>& cells() const { return cells_; }
  // Those that lie in memory which `runs` names.
  std::vector<GrowingCell> cells_in(const std::vector<ByteRun>& runs) const;
  // Memory, and general registers by number, of which only bounds are known.
  std::vector<MemoryRange> bounded_memory() const;
  bool is_bounded(unsigned index) const { return register_bounds_[index].has_value(); }
  // Cells that were read before they were written, with the steps that were assumed.
  const std::vector<GrowingCell>& assumed() const { return assumed_; }
  // Whether something else than an instruction may read memory there: it is the same in each turn.
  bool may_read(std::uint64_t address, std::uint64_t length) {
    return is_constant(address, length) || fail(Reason::kGrowingCall);
  }
  // After how many more turns at the latest something else may happen: turns 0 to turns() go as followed.
  std::uint64_t turns() const { return turns_ < horizon_ || horizon_ == 0 ? turns_ : horizon_; }
  // Where a rule held for fewer turns than are looked at, so that bounds took its place: for how many; kEveryTurn: nowhere.
  std::uint64_t turns_by_rule() const { return turns_by_rule_; }

  // The value of a register of `size` bytes, seen as one of eight. Limits turns().
  GrowingRegister widened(const GrowingRegister& grows, std::uint64_t value);
  // Whether bytes there change each turn that have not been read yet; their values of the next turn go into `next`, if any.
  bool changes(std::uint64_t address, std::uint64_t length, std::uint8_t* next) const;
  // Whether all of the register follows its rule.
  bool is_whole(unsigned index) const { return constant_low_[index] == 0 && rests_[index].bits == 0 && !is_bounded(index); }

 private:
  // An operand: its value in this turn, and its step; both zero-extended from the operand's size.
  struct Value {
    std::uint64_t now = 0, step = 0;
  };
  enum class FlagsOf : std::uint8_t { kNothing, kDifference, kSum };
  // A part of a number that a counter has given in two registers.
  enum class Part : std::uint8_t { kNone, kLow, kHigh, kHighInPlace };
  // What is known by bounds: integers, or the bits of a number with binary point.
  struct Bounds {
    Range range;
    unsigned size = 8;  // bytes; a register's upper half is zero above four
    unsigned constant_low = 0;  // of a register: so many low bytes are the same in every turn, whatever the bounds say
    bool is_floating = false;
    double least = 0, most = 0;
    // By how much the number, of eight bytes, is ahead of the first look at that clock in the same turn.
    Clock clock = Clock::kNone;
    Range ahead;
    Part part = Part::kNone;  // of that reading
    unsigned reading = 0;

    void forget_clock() {
      clock = Clock::kNone;
      ahead = {};
      part = Part::kNone;
      reading = 0;
    }
    friend bool operator==(const Bounds&, const Bounds&) = default;
  };
  struct BoundedCell {
    std::uint64_t address = 0;
    Bounds bounds;
  };
  enum class Uses : std::uint8_t { kConstant, kRule, kBounds };
  // What a shift to the right has taken away from a register. While that is not carried into what is left, the register follows
  // its rule; another shift may take away what would show it. The number that was shifted is register·2^bits + low, and each turn
  // adds register's step·2^bits + step.
  struct Rest {
    unsigned bits = 0;  // 0: there is none
    unsigned size = 8;  // of the register
    __int128 low = 0, step = 0;

    friend bool operator==(const Rest&, const Rest&) = default;
  };
  // What has to be as it was when an instruction is followed in another way.
  struct Rules {
    std::array<GrowingRegister, 16> registers{};
    std::array<std::uint8_t, 16> constant_low{};
    std::array<Rest, 16> rests{};
    std::vector<GrowingCell> cells, assumed;
    std::size_t constants = 0;
    std::vector<BoundedCell> bounded;
    std::uint64_t turns = kEveryTurn;
    std::uint32_t growing_flags = 0, flags_set = 0;
  };

  bool fail(Reason reason) {
    reason_ = reason;
    return false;
  }
  bool follow_rule(const Instruction& in);
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
  bool bounded_condition(const Instruction& in);
  // Whether the condition cannot be settled, but may come out either way.
  bool may_be_either() {
    const bool may = reason_ == Reason::kUnsettled && may_go_both_ways_;
    went_both_ways_ |= may;
    return may;
  }
  // growth_clocks.cc
  Range ahead_of_first(const Reading& reading);
  std::optional<Bounds> put_together(const Bounds& a, const Bounds& b) const;
  static Bounds sum_of(const Bounds& a, const Bounds& b, const Range& result);
  static Bounds difference_of(const Bounds& a, const Bounds& b, const Range& result);
  void compare_bounds(const Bounds& a, const Bounds& b, unsigned size, std::uint32_t affected);
  // growth_ways.cc
  static bool joined(const Bounds& a, const Bounds& b, Bounds& both);
  void join_registers(Growth& other, const MachineState& there, MachineState& here);
  void join_vectors(const Growth& other, const MachineState& there, MachineState& here);
  // growth_vectors.cc
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
  // One for each kind of instruction; growth_operations.cc.
  bool follow_move(const Instruction& in);
  bool follow_sum(const Instruction& in);
  bool follow_logic(const Instruction& in);
  bool follow_one_operand(const Instruction& in);
  bool follow_bits(const Instruction& in);
  bool follow_vector(const Instruction& in);
  bool follow_string(const Instruction& in);
  bool follow_stack(const Instruction& in);
  bool follow_shift(const Instruction& in);
  bool follow_multiplication(const Instruction& in);
  bool follow_division(const Instruction& in);
  bool follow_exchange(const Instruction& in);
  bool follow_address(const Instruction& in);
  bool follow_accumulator(const Instruction& in);
  bool masked(const Value& a, std::uint64_t mask, Value& result);
  bool shifted(Op op, const Value& a, unsigned count, unsigned size, Value& result, Rest& rest);
  Rest rest_of(const Operand& operand) const;
  bool leave_rest(const Operand& operand, unsigned size, Rest rest);
  void keep_rest_within(const Rest& rest);
  void settle_rest(unsigned index);
  void settle_rests(const Instruction& in);

  bool read(const Instruction& in, const Operand& operand, unsigned size, Value& value);
  bool read_register(unsigned index, unsigned size, Value& value);
  bool write(const Operand& operand, unsigned size, std::uint64_t step);
  bool write_register(unsigned index, unsigned size, std::uint64_t step);
  bool load(std::uint64_t address, unsigned size, Value& value);
  bool store(std::uint64_t address, unsigned size, std::uint64_t step);
  bool keep_rest(const GrowingCell& of, std::uint64_t address, unsigned size);
  void keep_rest(std::uint64_t at, Bounds of, std::uint64_t address, unsigned size);
  void keep_above(std::uint64_t at, const Bounds& of, std::uint64_t from);
  // Nothing there grows; noted, as what is read after it must not grow over it.
  bool is_constant(std::uint64_t address, std::uint64_t length);

  void set_flags(FlagsOf what, const Value& a, const Value& b, unsigned size, std::uint32_t affected);
  void set_constant_flags(std::uint32_t affected) { growing_flags_ &= ~affected; }
  // The condition has the same outcome in all turns up to turns(), which is limited for it.
  bool settle(const Instruction& in, unsigned condition);
  bool settle_zero(std::uint64_t difference, std::uint64_t step, unsigned size);
  void settle_sign(__int128 value, __int128 step, bool zero_is_below);

  void keep_unsigned(const Value& value, unsigned size);
  void keep_signed(const Value& value, unsigned size);

  MemoryView* memory_;
  const MachineState* state_ = nullptr;  // of the instruction that is followed
  std::uint64_t address_ = 0;            // of its operand in memory
  std::array<GrowingRegister, 16> registers_{};
  std::array<Rest, 16> rests_{};
  std::array<std::uint8_t, 16> constant_low_{};  // so many low bytes of a growing register were overwritten
  std::vector<GrowingCell> cells_, assumed_;
  std::vector<MemoryRange> constant_;  // was read as the same in each turn
  std::vector<ByteRun> changed_;
  std::uint64_t turns_ = kEveryTurn, turns_by_rule_ = kEveryTurn;
  Reason reason_ = Reason::kNone;
  std::uint32_t growing_flags_ = 0;  // not the same in each turn as far as is known
  FlagsOf flags_of_ = FlagsOf::kNothing;
  std::uint32_t flags_set_ = 0;  // by the last instruction that compared something growing
  Value flags_a_, flags_b_;
  unsigned flags_size_ = 0;
  std::uint64_t horizon_ = 0;
  bool crosses_seconds_ = false;
  bool may_go_both_ways_ = false, went_both_ways_ = false;
  unsigned ways_ = 0;  // of a jump, within each other
  std::array<std::optional<Bounds>, 16> register_bounds_{};
  std::array<std::optional<Bounds>, 16> vector_bounds_{}, high_bounds_{};  // vectors: of the low bytes, of bits 64-127
  std::vector<BoundedCell> bounded_;
  std::vector<Bounds> readings_;  // of counters in this turn
  std::array<std::optional<std::int64_t>, 4> first_ps_{};  // of each clock
  unsigned sign_size_ = 0;  // so many bytes of rdx are the sign of as many of rax, whatever they are; 0: it is not known
  bool flags_bounded_ = false;  // then of these:
  Range flags_range_a_, flags_range_b_;
};

struct Growth::Content {
  MemoryRange range;
  std::uint64_t now = 0, step = 0;
  bool is_bounded = false;
  Bounds bounds;
};

}  // namespace verbatim::spin
