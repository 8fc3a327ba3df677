// Traps in loops that were found to wait for memory without a call: the backward jump of each turn traps
// (code::CodePatches::trap_jump), and the thread requests an analysis at once instead of running until it is
// poked. Only real time depends on this.
//
// A jump executed while the loop is not waiting costs a trap each time. After a few of these traps in a row
// the jump is restored, and the number of pokes required before it traps again is multiplied.
//
// Copies of a process (machine/zygotes.h) begin with traps in the loops in which earlier copies have waited.
#pragma once

#include <cstdint>
#include <map>

#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::supervisor {

class Process;

// Traps of one process.
class LoopTraps {
 public:
  explicit LoopTraps(Process& process) : process_(process) {}

  // A poke found the thread in a waiting loop that jumps back at `jump`. After enough of these pokes the jump
  // traps. Address 0: there is no single jump of this kind.
  void note_poked(const spin::LoopJump& jump);
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

  Process& process_;
  std::map<std::uint64_t, Loop> loops_;  // by address of the jump
  unsigned traps_ = 0;
};

}  // namespace verbatim::supervisor
