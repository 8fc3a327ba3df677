// Proves that only an outside event can end a loop.
//
// One program thread runs at a time, and nothing else writes its memory meanwhile. If the thread's complete
// state (registers, and every byte written in between) recurs, the thread repeats the same cycle until an
// outside store changes a byte that it reads. The result depends on the program's state only, not on the time
// of the analysis or on earlier analyses. A turn is one period of the loop.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/spin/code_cache.h"
#include "sim/supervisor/spin/code_memory.h"
#include "sim/supervisor/spin/comparisons.h"
#include "sim/supervisor/spin/growth.h"
#include "sim/supervisor/spin/instruction.h"
#include "sim/supervisor/spin/interpreter.h"
#include "sim/supervisor/spin/memory_view.h"
#include "sim/supervisor/spin/registers.h"
#include "sim/supervisor/spin/turn_clock.h"
#include "sim/supervisor/spin/turn_groups.h"

namespace verbatim::spin {

struct Limits {
  unsigned steps = 20'000;  // instructions of one search
  unsigned pages = 256;     // pages of data that the loop may access (a turn of an interpreter: about 70)
  unsigned polls = 64;      // maximum number of polls of a turn
  unsigned shortest_turn = 1;  // minimum number of polls of a turn, unless its state recurs
  // Limits, in polls and instructions, of the search for a turn of more polls, whose program paths repeat
  // (far_turn.cc). 0: no search.
  unsigned far_polls = 0, far_steps = 0;
  // This search ends with the shortest turn, if that reads no clock. A proof of a few turns of it may be possible
  // (SpinProver::take_short_proof).
  bool ends_with_shortest = false;
  // A turn of this many polls, within far_steps, is tried first; 0: none.
  unsigned likely_polls = 0;
  // A loop that deviates after fewer polls is not proven, because parking the thread costs more than
  // executing them.
  unsigned fewest_polls = 16'384;
  // Permits bounds where a rule holds for a short time (PollLoopProof::remakes).
  bool may_remake = true;
  // Bytes of stack that a poll function may use. Memory below may hold data: stacks of coroutines are on the
  // heap.
  unsigned poll_stack = 16'384;
  // Code that must not be interpreted, because it takes virtual time or leaves the thread: the shim's images
  // and the gate.
  std::span<const MemoryRange> libraries;
  // Exceptions within it: functions that take no time and continue with the program's own function of the
  // same name.
  std::span<const MemoryRange> interposed;

  bool in_library(std::uint64_t address) const { return lies_in(libraries, address) && !lies_in(interposed, address); }
  static bool lies_in(std::span<const MemoryRange> ranges, std::uint64_t address) {
    for (const MemoryRange& range : ranges) {
      if (address - range.address < range.length) return true;
    }
    return false;
  }
};

// The reason why there is no proof.
struct Refusal {
  Reason reason = Reason::kNone;
  std::uint64_t rip = 0;
  std::string mnemonic;

  // One clause for messages: "reads the time stamp counter (rdtsc) at 0x401136".
  std::string describe() const;
};

// A direct jump back to the beginning of each turn of a loop.
struct LoopJump {
  std::uint64_t address = 0;  // 0: there is none
  unsigned length = 0;        // bytes
  std::optional<Condition> condition;  // nullopt: unconditional
};

struct SpinProof {
  bool proven = false;
  Refusal refusal;

  // The state of the cycle with the least (rip, registers), independent of the state at the beginning of the
  // analysis. The caller keeps flags and vector halves that are unknown there: the cycle writes them before
  // it reads them.
  Registers canonical;
  std::uint32_t known_flags = 0;
  VectorRegisters vectors;
  std::vector<ByteRun> to_write;  // bytes of memory that differ between the canonical and the current state

  // Bytes on which the cycle depends: those that it reads before it writes them, from the canonical state on,
  // with their values. A lock tried with XCHG is read and written, and is included.
  std::vector<ByteRun> reads;
  // Bytes that the cycle writes, with their values in the canonical state. An outside store to one of them
  // must wake the thread as well, because the running loop would overwrite it.
  std::vector<ByteRun> writes;
  std::vector<MemoryRange> changed;  // those among them that have several values in a cycle
  std::vector<ByteRun> code;  // executed code that changes unnoticed (CodeMemory)
  unsigned cycle_length = 0;  // instructions
  unsigned steps = 0;         // instructions interpreted in the whole analysis
  // The jump back that is executed once in each turn; of several the one with the longest distance.
  LoopJump jump;
};

// A function answered by the supervisor, at whose entry a thread can wait.
struct PollEntry {
  std::uint32_t kind = 0;  // chosen by the caller
  std::uint64_t empty_result = 0;  // result when nothing is found: 0 of poll_cq, ENOENT of start_poll
  // Sizes of the arguments in rdi, rsi and rdx: poll_cq(cq, int count, wc).
  std::array<std::uint8_t, 3> argument_sizes{8, 4, 8};
  // Bytes that the call reads at its second argument, unless that is null. The result is `empty_result` only
  // if they are zero.
  unsigned reads_zeros = 0;
};
// Called for every jump target.
using PollPredicate = std::function<std::optional<PollEntry>(std::uint64_t rip)>;

// Accesses of a turn between two polls.
struct PollAccesses {
  std::vector<ByteRun> written;    // with the values at the end, in the proof's first turn
  std::vector<MemoryRange> read;
  std::vector<GrowingCell> cells;  // growing cells among those written
};

// One poll of the cycle, at its entry. `registers` has its function in rip and its arguments in rdi, rsi and
// rdx.
struct PollPoint {
  PollEntry entry;
  Registers registers;      // unknown registers are 0
  std::uint16_t known = 0;  // known general registers, by number
  // Since the previous poll. Shared by the proofs of later turns.
  std::shared_ptr<PollAccesses> accesses = std::make_shared<PollAccesses>();
  std::int64_t look_ps = 0;  // time of the look after the look of the first poll; only if period_ps is not 0
};

// The polls of a turn. Copies share them: the proof of later turns has those of its first turn.
class PollPoints {
 public:
  std::size_t size() const { return points_->size(); }
  const PollPoint* begin() const { return points_->data(); }
  const PollPoint* end() const { return points_->data() + points_->size(); }
  const PollPoint& front() const { return points_->front(); }
  const PollPoint& operator[](std::size_t i) const { return (*points_)[i]; }
  // To be changed; no copy may exist.
  std::vector<PollPoint>& own() { return *points_; }

 private:
  std::shared_ptr<std::vector<PollPoint>> points_ = std::make_shared<std::vector<PollPoint>>();
};

struct PollLoopProof {
  bool proven = false;
  Refusal refusal;
  // The instruction limit was reached in a search; with more steps a longer turn may be proven.
  bool ran_out = false;

  // In the order of the cycle. The analysis began at the first.
  PollPoints polls;
  // Registers at the first poll in the first turn of this proof.
  Registers begun;
  // Bytes on which the cycle depends, with their values.
  std::vector<ByteRun> reads;
  // Bytes that a whole cycle leaves in memory, most of them unchanged. After k >= 1 cycles the program's
  // memory has these values, and at poll i of the next cycle also those of polls[1..i].written. The stack
  // below the first poll's stack pointer is excluded: the poll's own frames are there.
  std::vector<ByteRun> writes;
  // Bytes that may differ between two polls, sorted and merged: `writes`, and those written before a poll of the turn.
  std::vector<MemoryRange> changing;
  // Executed code that changes unnoticed (CodeMemory). The proof holds again only if it is the same.
  std::vector<ByteRun> code;
  // Bytes that a turn changes, sorted and merged, even if they have their former values at each poll.
  std::vector<MemoryRange> changed;
  // Bytes that another party may find with several values, sorted and merged: growing and recomputed ones, and those that have
  // not the same value at each poll. If the turn reads clocks, time passes elsewhere too, and all of `changed` are included.
  std::vector<MemoryRange> varying;
  // Growing values. `reads` has their values in the first turn, `writes` those after it. After n whole turns
  // a register has its value in `begun` plus n steps.
  std::array<GrowingRegister, 16> registers{};
  std::vector<GrowingCell> cells;
  // Without a clock and bounds only. Each growing register and cell belongs to the group that contains its sources.
  std::vector<TurnGroup> groups;
  // Set by from_turn(): `polls` has the values of an earlier turn. This proof begins this many turns after it,
  // for each group; empty: `polls` has those of the first turn.
  std::vector<std::uint64_t> passed;
  // Without a clock and bounds only: the proof holds for other values of these bytes, if the comparisons have the same outcome.
  std::vector<Comparison> compared;
  bool grows() const;
  // Index in `groups` of a growing value with these sources; groups.size(): there is none.
  std::size_t group_of(Sources sources) const;
  // If true, only bounds are known of the values that a turn leaves in `remade` or in registers; each turn
  // writes them before it reads them. A thread that resumes in a turn must execute the whole turn before it.
  bool remakes = false;
  std::vector<MemoryRange> remade;
  // Number of turns, from the first, for which the proof holds; kEveryTurn: no limit. With Reason::kFewTurns:
  // the number of polls in them.
  std::uint64_t turns = kEveryTurn;
  // Time from look to look of a turn that reads clocks; 0: it reads none. Its actions between two looks have
  // times of their own.
  std::int64_t period_ps = 0;
  unsigned cycle_length = 0;
  unsigned steps = 0;
  unsigned far_steps = 0;  // instructions spent on a turn of many polls

  // For still_holds(): `reads` as ranges for one batched read, and their expected values.
  std::vector<MemoryRange> ranges;
  std::vector<std::uint8_t> expected;
};

// The value of the register after `turns` whole turns; `value` is that before them.
std::uint64_t grown(const GrowingRegister& grows, std::uint64_t value, std::uint64_t turns);
// Sets `runs` to the values of their bytes after `turns` whole turns, at poll number `poll` of the next one (0:
// the first). With 0 turns they are those that the turn before the first one leaves. Bytes that no turn writes are
// kept.
void show_turn(const PollLoopProof& proof, std::uint64_t turns, std::size_t poll, std::span<ByteRun> runs);
inline void show_turn(const PollLoopProof& proof, std::uint64_t turns, std::size_t poll, ByteRun& run) {
  show_turn(proof, turns, poll, {&run, 1});
}

// Bytes above the stack pointer that the code between two clock reads may write: frames of callers.
inline constexpr std::uint64_t kRowStack = 65'536;

// The code between two reads of a clock at the same place.
struct ClockStep {
  bool goes_on = false;        // the next read was reached
  Registers at_entry;          // of the next read; unknown registers are 0
  std::int64_t cost_ps = 0;    // time that the next read takes
  std::vector<ByteRun> writes;  // bytes of the stack that were written, with their values
};

// An instruction whose jump, condition or address depends on field number `field`.
struct FieldUse {
  std::uint64_t rip = 0;
  std::size_t field = 0;
};

// One per program. Keeps decoded code and buffers between analyses.
class SpinProver {
 public:
  // The thread is anywhere in its code. Without `vectors` its vector registers are unknown.
  SpinProof prove_spin(const Registers& start, CodeMemory& memory, const Limits& limits,
                       const VectorRegisters* vectors = nullptr);

  // The thread is at the entry of a poll function (with the return address on the stack). This poll and every
  // other of the loop returns its empty result and changes nothing that the program may look at.
  // Without a clock model, reading a clock ends the analysis.
  PollLoopProof prove_poll_loop(const Registers& at_entry, const PollPredicate& is_poll, CodeMemory& memory,
                                const Limits& limits, const ClockModel* clock = nullptr);
  // After prove_poll_loop() has refused with Reason::kFewTurns: the proof of these turns, if none reads a clock.
  std::optional<PollLoopProof> take_short_proof() { return std::exchange(short_proof_, std::nullopt); }

  // Begins a series of clock reads: the thread is at the entry of clock_gettime or gettimeofday. Until
  // end_row() this prover must not be used otherwise, and nothing may change memory that the thread reads.
  void begin_row(const Registers& at_entry, CodeMemory& memory, const Limits& limits);
  // Interprets the current read, which takes no more time and shows the time of the model's look, and the
  // code up to the next read at the same place. The series began at `row_began_ps`. `goes_on` is false if a
  // value is unknown, another function or another place calls, or memory other than the stack is written; the
  // series must then be ended.
  ClockStep step_in_row(const Limits& limits, const ClockModel& model, std::int64_t row_began_ps);
  void end_row() { memory_.end(); }

  // A call has just returned with these registers; the caller-saved registers other than rax, and the flags,
  // are unknown. Finds the first use of one of `fields`, as long as the thread executes `code`, all values
  // are known, and at most limits.steps instructions are executed.
  std::optional<FieldUse> find_use(const Registers& at_return, CodeMemory& memory, const Limits& limits, const MemoryRange& code,
                                   std::span<const MemoryRange> fields);

  // Finds, with the same limits, the first instruction that reads a byte of `range` that is not in `known`.
  // Returns its address.
  std::optional<std::uint64_t> find_read(const Registers& start, const VectorRegisters& vectors, CodeMemory& memory,
                                         const Limits& limits, const MemoryRange& code, const MemoryRange& range,
                                         std::span<const ByteRun> known);

  // Drops decoded code; see CodeCache::invalidate().
  void invalidate() { code_.invalidate(); }

 private:
  // Scope of one analysis: ends the use of memory_ when destroyed.
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
  // The arguments of prove_poll_loop().
  struct PollLoop {
    const Registers& at_entry;
    const PollPredicate& is_poll;
    const Limits& limits;
  };
  // A turn whose state at its end differs from that at its beginning.
  struct GrowingTurn {
    const PollLoop& loop;
    unsigned polls;               // of the turn
    Registers next;               // at its end
    std::vector<ByteRun> differ;  // bytes that were read, with their other values at its end
    // Minimum number of turns for which a proof is worthwhile; and if a clock ends them: it is lower, because the
    // deviation is near, but executing the turns until then costs something too.
    std::uint64_t fewest() const;
    std::uint64_t fewest_by_clock() const;
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
  PollLoopProof recur(const PollLoop& loop, unsigned& turn);
  // growing_loop.cc
  PollLoopProof grow(const PollLoop& loop, unsigned polls);
  PollLoopProof grow_within(const GrowingTurn& turn, PollLoopProof proof);
  PollLoopProof grow_to(const GrowingTurn& turn, std::uint64_t horizon);
  bool follow_turn(const GrowingTurn& turn, std::vector<PollPoint>& polls);
  // Fills the proof of the turn that was interpreted last.
  void complete(PollLoopProof& proof, const std::vector<ByteRun>& reads, const std::array<GrowingRegister, 16>& registers,
                std::uint64_t horizon);
  // True if the turn has written data to memory where the poll at its beginning may have frames: what a later turn leaves
  // there could not be shown while the thread is in that poll. Frames of the turn's own calls are no data.
  bool writes_below_stack() const;
  void finish(PollLoopProof& proof, const Limits& limits);
  // far_turn.cc
  PollLoopProof prove_turn_of(unsigned polls, const PollLoop& loop, unsigned& steps);
  PollLoopProof prove_far_turn(const PollLoop& loop);
  unsigned find_far_turn(const PollLoop& loop, unsigned longer_than);
  bool pass_poll(const PollLoop& loop, std::optional<PollEntry>& poll);
  bool run_to_poll(const PollLoop& loop, std::optional<PollEntry>& poll);
  PollPoint poll_point(const PollEntry& entry);
  // Interprets `code` until `watcher` refuses an instruction. Returns its address; nullopt: something else ended it.
  std::optional<std::uint64_t> refused_by(Observer& watcher, const Limits& limits, const MemoryRange& code);
  bool step_to_read(const Registers& at_entry, std::uint64_t return_address, const Limits& limits);
  // clock_reads.cc
  bool pass_clock(const Limits& limits);
  bool refuse_clock(Reason reason);
  bool is_fixed_argument(unsigned index, unsigned size);
  bool call_gettime(const Limits& limits);
  bool call_timeofday(const Limits& limits);
  bool call_time(const Limits& limits);
  bool show_time(std::int64_t base_ns, std::int64_t unit_ps, std::uint64_t to, const Limits& limits);
  bool show_seconds(std::int64_t seconds, std::int64_t ps, std::uint64_t to);
  bool show_part(std::uint64_t to, std::int64_t ps, std::int64_t unit_ps);
  bool read_counter();
  bool show_counter(std::uint64_t counter, bool with_processor);
  bool call_kernel();

  CodeCache code_;
  MemoryView memory_;
  Interpreter interpreter_{code_, memory_};
  Growth growth_{memory_};
  Comparisons comparisons_{memory_, growth_};
  bool follows_growth_ = false;
  std::uint64_t path_hash_ = 0;  // hash of the jumps since it was reset
  TurnClock clock_;
  std::optional<PollLoopProof> short_proof_;
  std::int64_t period_ps_ = 0;  // duration of a turn that reads clocks, once known
  unsigned steps_ = 0;
  // Lowest address at which the first poll may have frames, and the lowest stack pointer since restart() that is not below.
  std::uint64_t poll_frames_ = 0, lowest_stack_ = 0;
  Stop own_stop_;  // a stop by the prover, not by the interpreter
};

}  // namespace verbatim::spin
