// Poll loops that do something else every so many polls: a time-out by iterations, a look elsewhere, an allocator whose
// addresses come round. Such a turn is as good as a short one, if it is known how many polls it has. The ways tell, from jump to
// jump, that the program takes from one poll to the next: a rare one comes once in a turn.
#include <algorithm>
#include <unordered_map>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {
namespace {

constexpr int kFarAttempts = 3;  // a turn may be part of a longer one

Limits far(Limits limits) {
  limits.polls = limits.far_polls;
  limits.steps = limits.far_steps;
  return limits;
}

}  // namespace

// As a short turn is proven; what it took is added to `steps`.
PollLoopProof SpinProver::prove_turn_of(unsigned polls, const Registers& at_entry, const PollPredicate& is_poll,
                                        const Limits& within, unsigned& steps) {
  restart(at_entry);
  unsigned turn = polls - 1;  // longer than that
  PollLoopProof proof = recur(at_entry, is_poll, within, turn);
  steps += steps_;
  if (turn != polls) return proof;
  proof = grow(at_entry, interpreter_.state.registers, is_poll, within, turn);
  steps += steps_;
  return proof;
}

// Between which polls a way that was taken once before is taken for the second time, if they are more than `longer_than`;
// 0: there is none within the limits.
unsigned SpinProver::find_far_turn(const Registers& at_entry, const PollPredicate& is_poll, const Limits& limits,
                                   unsigned longer_than) {
  struct Taken {
    unsigned first = 0, times = 0;
  };
  std::unordered_map<std::uint64_t, Taken> ways;  // looked up, never walked
  std::optional<PollEntry> poll = is_poll(at_entry.rip);
  memory_.begin_tracking();
  for (unsigned polls = 1; polls <= limits.polls; ++polls) {
    way_ = interpreter_.state.registers.gpr[kRdi];
    const bool goes_on = reads_zeros(*poll) && return_empty(poll->empty_result, limits) &&
                         run_to_poll(is_poll, limits, poll) && arguments_known(*poll);
    if (!goes_on) return 0;
    clock_.poll();
    Taken& taken = ways[way_];
    if (++taken.times == 1) taken.first = polls;
    if (taken.times == 2 && polls - taken.first > longer_than) return polls - taken.first;
  }
  return 0;
}

// With the limits of a far turn.
PollLoopProof SpinProver::prove_far_turn(const Registers& at_entry, const PollPredicate& is_poll, const Limits& limits) {
  const Limits within = far(limits);
  PollLoopProof proof;
  unsigned polls = limits.polls, steps = 0;
  for (int attempt = 0; attempt < kFarAttempts && !proof.proven; ++attempt) {
    restart(at_entry);
    polls = find_far_turn(at_entry, is_poll, within, polls);
    steps += steps_;
    if (polls == 0) break;
    proof = prove_turn_of(polls, at_entry, is_poll, within, steps);
  }
  proof.far_steps = steps;
  return proof;
}

}  // namespace verbatim::spin
