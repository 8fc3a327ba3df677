// Proves that only the outside can end a loop.
//
// Exactly one program thread runs at a time and nobody else writes its memory meanwhile. So if a thread's
// complete state (registers, and every byte written in between) recurs, it goes through the same cycle for
// ever, until some byte that it reads is changed by somebody else. The result depends on the program's state
// alone: not on when, by the wall clock, somebody asked, nor on what was analysed before.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/spin/code_cache.h"
#include "sim/supervisor/spin/code_memory.h"
#include "sim/supervisor/spin/growth.h"
#include "sim/supervisor/spin/instruction.h"
#include "sim/supervisor/spin/interpreter.h"
#include "sim/supervisor/spin/memory_view.h"
#include "sim/supervisor/spin/registers.h"
#include "sim/supervisor/spin/turn_clock.h"

namespace verbatim::spin {

struct Limits {
  unsigned steps = 20'000;  // instructions of one search
  unsigned pages = 64;      // pages of data the loop may touch
  unsigned polls = 64;      // of a turn of a poll loop, at most
  unsigned shortest_turn = 1;  // the same, at least, unless its state recurs
  // A turn may have many more polls, if it goes the same ways between them as the one before: how far such a turn is looked
  // for, in polls and instructions. 0: it is not.
  unsigned far_polls = 0, far_steps = 0;
  // A turn of so many polls, within far_steps, is tried before anything else; 0: none.
  unsigned likely_polls = 0;
  // A loop that does something else after fewer polls is not proven: to park the thread costs more than to execute them.
  unsigned fewest_polls = 16'384;
  // Whether a proof of clocks may hold over many seconds, for which the times themselves have to be made anew.
  bool far_times = true;
  // Bytes of stack a poll function may use. Below that may lie data: stacks of coroutines are on the heap.
  unsigned poll_stack = 16'384;
  // Code that must not be interpreted because what it does takes virtual time or leaves the thread: the
  // shim's images and the gate.
  std::span<const MemoryRange> libraries;
  // But for these functions in it, which take no time and go on to the program's own of the same names.
  std::span<const MemoryRange> interposed;

  bool in_library(std::uint64_t address) const { return lies_in(libraries, address) && !lies_in(interposed, address); }
  static bool lies_in(std::span<const MemoryRange> ranges, std::uint64_t address) {
    for (const MemoryRange& range : ranges) {
      if (address - range.address < range.length) return true;
    }
    return false;
  }
};

// Why there is no proof.
struct Refusal {
  Reason reason = Reason::kNone;
  std::uint64_t rip = 0;
  std::string mnemonic;

  // One clause for messages: "reads the time stamp counter (rdtsc) at 0x401136".
  std::string describe() const;
};

// A direct jump that leads back to the beginning of each turn of a loop.
struct LoopJump {
  std::uint64_t address = 0;  // 0: there is none
  unsigned length = 0;        // bytes
  std::optional<Condition> condition;  // nullopt: it always jumps
};

struct SpinProof {
  bool proven = false;
  Refusal refusal;

  // The state of the cycle with the least (rip, registers), whichever state the analysis began with. Flags
  // and vector halves that are unknown there are left to the caller: nothing in the cycle reads them before
  // writing them.
  Registers canonical;
  std::uint32_t known_flags = 0;
  VectorRegisters vectors;
  std::vector<ByteRun> to_write;  // bytes of memory that differ in the canonical state from what they are now

  // What the cycle depends on: bytes that it reads, starting from the canonical state, before it writes them,
  // with their values. A lock that is tried with XCHG is read and written; it is among them.
  std::vector<ByteRun> reads;
  // Bytes the cycle writes, with their values in the canonical state. Somebody else's store to one of these
  // would be overwritten by the running loop, so it too has to wake the thread.
  std::vector<ByteRun> writes;
  unsigned cycle_length = 0;  // instructions
  unsigned steps = 0;         // instructions interpreted for the whole analysis
  // Executed once in each turn; of several the one that spans most code.
  LoopJump jump;
};

// A function that the supervisor answers, at whose entry a thread can wait.
struct PollEntry {
  std::uint32_t kind = 0;  // the caller's own number
  std::uint64_t empty_result =
      0;  // what it returns when there is nothing: 0 for poll_cq, ENOENT for start_poll
  // Bytes of rdi, rsi and rdx that are arguments: poll_cq(cq, int count, wc).
  std::array<std::uint8_t, 3> argument_sizes{8, 4, 8};
  // Bytes that the call reads where its second argument points to, if anywhere: it is as said while they are zero.
  unsigned reads_zeros = 0;
};
// Asked for every address that is jumped to.
using PollPredicate = std::function<std::optional<PollEntry>(std::uint64_t rip)>;

// One poll of the cycle, at its entry: rip, rdi, esi and rdx of `registers` are the function and its
// arguments.
struct PollPoint {
  PollEntry entry;
  Registers registers;           // unknown registers hold 0
  std::uint16_t known = 0;       // general registers that are known, by number
  std::vector<ByteRun> written;  // bytes written since the poll before, with their values here
  std::vector<MemoryRange> read;  // where was read since then
  std::vector<GrowingCell> cells;  // those of them that are others in other turns, with what they grow by each turn
  std::int64_t look_ps = 0;        // when it looks, from the look of the first; where period_ps is not 0
};

struct PollLoopProof {
  bool proven = false;
  Refusal refusal;
  bool ran_out = false;  // whatever stands against it: turns of more polls than were looked at may be proven with more steps

  // In the order of the cycle; the first is the one the analysis began at.
  std::vector<PollPoint> polls;
  // Bytes the cycle depends on, with their values.
  std::vector<ByteRun> reads;
  // What one whole cycle leaves in memory; mostly what was there before. After k >= 1 whole cycles the
  // program's memory has these values, and at poll i of the next cycle also those of polls[1..i].written. Without the stack
  // that the first poll may use: there are its own frames.
  std::vector<ByteRun> writes;
  // Values that grow: `reads` has them as they are in the first turn, `writes` as it leaves them. A register of the turn
  // that begins after n whole ones has its value of polls.front() and n steps.
  std::array<GrowingRegister, 16> registers{};
  std::vector<GrowingCell> cells;
  bool grows() const;
  // Only bounds are known of what a turn leaves here, or in registers; each turn writes it anew before it reads it. Who goes
  // on in a turn has to execute the whole one before it.
  bool remakes = false;
  std::vector<MemoryRange> remade;
  // So many turns, from the first, go as said; what happens after them is another question. kEveryTurn: all. Where they are
  // too few (Reason::kFewTurns), the polls in them.
  std::uint64_t turns = kEveryTurn;
  // What a turn that reads clocks takes, from look to look; 0: it reads none. What it does between two looks it does at
  // times of its own.
  std::int64_t period_ps = 0;
  unsigned cycle_length = 0;
  unsigned steps = 0;
  unsigned far_steps = 0;  // of these, spent on a turn of many polls

  // For still_holds: both lists as ranges for one batched read, and the values of `reads` expected there.
  std::vector<MemoryRange> ranges;
  std::vector<std::uint8_t> expected;
};

// Whether what was proven is true again for a thread at the same poll: the registers that matter and the
// bytes the cycle depends on are the same. One batched read; nothing is interpreted. Bytes the cycle writes
// before it reads them may differ: a caller that skips whole cycles writes `proof.writes`.
bool still_holds(const PollLoopProof& proof, const Registers& at_entry, CodeMemory& memory);

// The value of the register when `turns` whole turns have passed.
std::uint64_t grown(const GrowingRegister& grows, std::uint64_t value, std::uint64_t turns);
// Gives `bytes`, memory that begins at `address`, the values that it has when `turns` whole turns of the loop have passed and
// the poll of that number in the next one (0: the first) is due. Bytes that no turn writes are left alone.
void show_turn(const PollLoopProof& proof, std::uint64_t turns, std::size_t poll, ByteRun& run);

// Bytes above the stack pointer that a row of clock reads may write: frames of callers.
inline constexpr std::uint64_t kRowStack = 65'536;

// From one read of a clock to the next that is made at the same place.
struct ClockStep {
  bool goes_on = false;        // nothing else happens in between
  Registers at_entry;          // of the next one; unknown registers hold 0
  std::int64_t cost_ps = 0;    // that it takes
  std::vector<ByteRun> writes;  // in between, to the stack, with their values
};

// An instruction by which a thread decides something, or an address is made, of the n-th of some bytes.
struct FieldUse {
  std::uint64_t rip = 0;
  std::size_t field = 0;
};

// One per program; keeps decoded code and buffers from one analysis to the next.
class SpinProver {
 public:
  // The thread is anywhere in its code. Vector registers that are not given are unknown.
  SpinProof prove_spin(const Registers& start, CodeMemory& memory, const Limits& limits,
                       const VectorRegisters* vectors = nullptr);

  // The thread is at the entry of a poll function (the return address on the stack), and this poll and every
  // other of the loop returns its empty result and changes nothing the program may look at.
  // Without a model, or with nullptr, reading a clock ends the analysis.
  PollLoopProof prove_poll_loop(const Registers& at_entry, const PollPredicate& is_poll, CodeMemory& memory,
                                const Limits& limits, const ClockModel* clock = nullptr);

  // A row of clock reads is followed: the thread is at the entry of clock_gettime or gettimeofday. Until end_row() nothing else
  // is asked of this prover, and nobody may change what the thread reads.
  void begin_row(const Registers& at_entry, CodeMemory& memory, const Limits& limits);
  // The read that the thread is at takes no more time: it shows the model's look. It is one of a row that began at
  // `row_began_ps`. Does not go on where anything is unknown, another call is made, the same one from another place, or memory
  // other than the stack is written; then the row has to be ended.
  ClockStep step_in_row(const Limits& limits, const ClockModel& model, std::int64_t row_began_ps);
  void end_row() { memory_.end(); }

  // A call has just returned, which has left these registers; the others are unknown, and so are flags. Whether the thread goes
  // on to use one of `fields` as long as it executes `code` and nothing is unknown, within limits.steps instructions.
  std::optional<FieldUse> find_use(const Registers& at_return, CodeMemory& memory, const Limits& limits, const MemoryRange& code,
                                   std::span<const MemoryRange> fields);

  // Whether the thread goes on to read a byte of `range` which is not among `known`, likewise; the address of the instruction.
  std::optional<std::uint64_t> find_read(const Registers& start, const VectorRegisters& vectors, CodeMemory& memory,
                                         const Limits& limits, const MemoryRange& code, const MemoryRange& range,
                                         std::span<const ByteRun> known);

  // Decoded code is forgotten; see CodeCache::invalidate.
  void invalidate() { code_.invalidate(); }

 private:
  // While it lives memory is kept for an analysis.
  class Analysis {
   public:
    Analysis(SpinProver& prover, const Registers& start, CodeMemory& memory, const Limits& limits) : prover_(prover) {
      prover_.begin(start, memory, limits);
    }
    ~Analysis() { prover_.memory_.end(); }
    Analysis(const Analysis&) = delete;
    Analysis& operator=(const Analysis&) = delete;

   private:
    SpinProver& prover_;
  };
  void begin(const Registers& start, CodeMemory& memory, const Limits& limits);
  void restart(const Registers& start);
  bool step(const Limits& limits);
  Refusal refusal() const;
  bool find_cycle(const Limits& limits, SpinProof& proof);
  void go_to_canonical(SpinProof& proof);
  void replay(unsigned steps);
  LoopJump replay_turn(unsigned steps);
  bool return_empty(std::uint64_t result, const Limits& limits);
  bool reads_zeros(const PollEntry& poll);
  bool arguments_known(const PollEntry& poll);
  bool arguments_grow(const PollEntry& poll) const;
  PollLoopProof recur(const Registers& at_entry, const PollPredicate& is_poll, const Limits& limits, unsigned& turn);
  PollLoopProof grow(const Registers& at_entry, Registers next, const PollPredicate& is_poll, const Limits& limits,
                     unsigned turn);
  PollLoopProof grow_within(const Registers& at_entry, const Registers& next, const std::vector<ByteRun>& differ,
                            const PollPredicate& is_poll, const Limits& limits, unsigned turn, PollLoopProof proof);
  PollLoopProof grow_to(const Registers& at_entry, const Registers& next, const std::vector<ByteRun>& differ,
                        const PollPredicate& is_poll, const Limits& limits, unsigned turn, Horizon horizon);
  PollLoopProof follow_to(const Registers& at_entry, const Registers& next, const std::vector<ByteRun>& differ,
                          const PollPredicate& is_poll, const Limits& limits, unsigned turn, Horizon horizon);
  void look_further(const Registers& at_entry, const Registers& next, const std::vector<ByteRun>& differ,
                    const PollPredicate& is_poll, const Limits& limits, unsigned turn, PollLoopProof& proof);
  bool follow_turn(const PollEntry& first, const PollPredicate& is_poll, const Limits& limits, unsigned turn,
                   std::vector<PollPoint>& polls);
  void finish(PollLoopProof& proof, const Limits& limits) const;
  // far_turn.cc
  PollLoopProof prove_turn_of(unsigned polls, const Registers& at_entry, const PollPredicate& is_poll, const Limits& within,
                              unsigned& steps);
  PollLoopProof prove_far_turn(const Registers& at_entry, const PollPredicate& is_poll, const Limits& limits);
  unsigned find_far_turn(const Registers& at_entry, const PollPredicate& is_poll, const Limits& limits, unsigned longer_than);
  bool step_to_poll(const PollPredicate& is_poll, const Limits& limits, std::optional<PollEntry>& poll);
  bool run_to_poll(const PollPredicate& is_poll, const Limits& limits, std::optional<PollEntry>& poll);
  PollPoint poll_point(const PollEntry& entry);
  // both_ways.cc
  struct Place {
    std::uint64_t rip = 0, stack = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  Place place() const { return {interpreter_.state.registers.rip, interpreter_.state.registers.gpr[kRsp]}; }
  bool go_both_ways(const Limits& limits);
  bool follow_way(const Limits& limits, std::span<const Place> until, std::vector<Place>* places);
  bool step_to_read(const Registers& at_entry, std::uint64_t return_address, const Limits& limits);
  // clock_reads.cc
  bool pass_clock(const Limits& limits);
  bool refuse_clock(Reason reason);
  bool is_fixed_argument(unsigned index, unsigned size);
  bool call_gettime(const Limits& limits);
  bool call_timeofday(const Limits& limits);
  bool call_time(const Limits& limits);
  bool show_time(std::int64_t base_ns, std::int64_t unit_ps, std::uint64_t to, const Limits& limits);
  Range seconds_from(std::int64_t seconds, std::int64_t ps) const;
  bool show_seconds(std::int64_t seconds, std::int64_t ps, std::uint64_t to);
  bool show_part(std::uint64_t to, std::int64_t ps, std::int64_t unit_ps);
  bool read_counter();
  bool show_counter(std::int64_t ps, std::uint64_t counter, bool with_processor);
  bool call_kernel();

  CodeCache code_;
  MemoryView memory_;
  Interpreter interpreter_{code_, memory_};
  Growth growth_{memory_};
  bool follows_growth_ = false;
  unsigned ways_ = 0;  // of jumps, within each other
  std::uint64_t way_ = 0;  // a number for the jumps since it was 0
  TurnClock clock_;
  std::int64_t period_ps_ = 0;  // of a turn that reads clocks, once it is known
  unsigned steps_ = 0;
  Stop own_stop_;  // a stop that is the prover's, not the interpreter's
};

}  // namespace verbatim::spin
