// Traps in loops that were found to wait for memory without a call: the backward jump of each turn traps
// (code::CodePatches::trap_jump), and the thread requests an analysis at once instead of running until it is
// poked. Only real time depends on this.
//
// A jump executed while the loop is not waiting costs a trap each time. After a few of these traps in a row
// the jump is restored, and the number of pokes required before it traps again is multiplied.
//
// Copies of a process (machine/zygotes.h) begin with traps in the loops in which earlier copies have waited. Other
// processes of the run with the same code trap in the loops in which one of them was found to wait (KnownLoops).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/supervisor/code/code_patches.h"
#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::supervisor {

class Process;

// Loops in which a process of the run was found to wait, in the order in which they were found.
class KnownLoops {
 public:
  struct Loop {
    code::CodePatches::Origin origin;  // of the jump
    protocol::PatchedInstruction jump;
  };
  static constexpr std::size_t kMost = 64;

  // Ignored if the loop is known, its code is not from a file, or kMost are known.
  void add(const Loop& loop);
  std::span<const Loop> loops() const { return loops_; }

 private:
  std::vector<Loop> loops_;
};

// Traps of one process.
class LoopTraps {
 public:
  LoopTraps(Process& process, KnownLoops& known) : process_(process), known_(known) {}

  // A poke found the thread in a waiting loop that jumps back at `jump`. After enough of these pokes the jump
  // traps. Address 0: there is no single jump of this kind.
  void note_poked(const spin::LoopJump& jump);
  // Another process was found to wait in a loop that jumps back at `address` here.
  void note_known(std::uint64_t address, const protocol::PatchedInstruction& jump);
  // The thread trapped at `address`. `waits`: the analysis proved that it waits.
  void note_trapped(std::uint64_t address, bool waits);

 private:
  static constexpr unsigned kPokesBefore = 2, kMostPokesBefore = 1u << 20;
  static constexpr unsigned kVainBefore = 4;   // in a row; after each the shim lets twice as many turns pass
  static constexpr unsigned kMostTraps = 64;   // in one process at a time

  struct Loop {
    unsigned pokes = 0;               // since the jump was last restored or patched
    unsigned pokes_before = kPokesBefore;  // required before it traps
    unsigned vain = 0;                // traps in a row without a proof
    bool traps = false;
  };

  void trap(std::uint64_t address, const protocol::PatchedInstruction& jump, Loop& loop);

  Process& process_;
  KnownLoops& known_;
  std::map<std::uint64_t, Loop> loops_;  // by address of the jump
  unsigned traps_ = 0;
};

}  // namespace verbatim::supervisor
