// Loops that have waited for memory to change, without a call, are told of by themselves the next time: the jump by which each
// turn goes back traps (code::CodePatches::trap_jump), and the thread asks at once whether it waits, instead of running until it
// is poked. Nothing depends on it but real time.
//
// A jump that is executed while nothing is waited for costs a trap each time. So it is as it was after a few such traps in a row,
// and the loop has to be found by ever more pokes before its jump traps again.
#pragma once

#include <cstdint>
#include <map>

#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::supervisor {

class Process;

// Of one process.
class LoopTraps {
 public:
  explicit LoopTraps(Process& process) : process_(process) {}

  // A poke has found the thread in a loop that waits, whose turns go back by `jump`, if by one.
  void note_poked(const spin::LoopJump& jump);
  // The thread that was trapped at `address` waits, or does not.
  void note_trapped(std::uint64_t address, bool waits);

 private:
  static constexpr unsigned kPokesBefore = 2, kMostPokesBefore = 1u << 20;
  static constexpr unsigned kVainBefore = 4;   // in a row, each of which lets twice as many turns pass as the one before
  static constexpr unsigned kMostTraps = 64;   // of a process, at a time

  struct Loop {
    unsigned pokes = 0;               // since its jump was as it was
    unsigned pokes_before = kPokesBefore;  // it traps
    unsigned vain = 0;                // in a row
    bool traps = false;
  };

  Process& process_;
  std::map<std::uint64_t, Loop> loops_;  // by address of the jump
  unsigned traps_ = 0;
};

}  // namespace verbatim::supervisor
