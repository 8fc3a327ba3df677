// Poll loops that deviate every so many polls: a time-out counted in iterations, a look elsewhere, an
// allocator with cyclic addresses. A turn then includes the deviation and may have many polls. The program's
// paths between polls show its length, because a rare path occurs once per turn. A path is identified by a
// hash of its jumps (path_hash_).
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

// Proves a turn of `polls` polls as a short turn is proven. Adds the instructions interpreted to `steps`.
PollLoopProof SpinProver::prove_turn_of(unsigned polls, const Registers& at_entry, const PollPredicate& is_poll,
                                        const Limits& within, unsigned& steps) {
  restart(at_entry);
  unsigned turn = polls - 1;  // recur() looks for a longer one
  PollLoopProof proof = recur(at_entry, is_poll, within, turn);
  steps += steps_;
  if (turn != polls) return proof;
  if (within.ends_with_shortest && clock_.reads() != 0) {
    proof.refusal = {Reason::kClockAmongPolls, at_entry.rip, ""};
    return proof;
  }
  proof = grow(at_entry, interpreter_.state.registers, is_poll, within, turn);
  steps += steps_;
  return proof;
}

// The number of polls between the first and the second occurrence of a path, if it is more than
// `longer_than`. 0: there is none within the limits.
unsigned SpinProver::find_far_turn(const Registers& at_entry, const PollPredicate& is_poll, const Limits& limits,
                                   unsigned longer_than) {
  struct Taken {
    unsigned first = 0, times = 0;
  };
  std::unordered_map<std::uint64_t, Taken> ways;  // looked up, never walked
  std::optional<PollEntry> poll = is_poll(at_entry.rip);
  memory_.begin_tracking();
  for (unsigned polls = 1; polls <= limits.polls; ++polls) {
    path_hash_ = interpreter_.state.registers.gpr[kRdi];
    const bool goes_on = reads_zeros(*poll) && return_empty(poll->empty_result, limits) &&
                         run_to_poll(is_poll, limits, poll) && arguments_known(*poll);
    if (!goes_on) return 0;
    clock_.poll();
    Taken& taken = ways[path_hash_];
    if (++taken.times == 1) taken.first = polls;
    if (taken.times == 2 && polls - taken.first > longer_than) return polls - taken.first;
  }
  return 0;
}

// Finds the length of the turn and proves it, with limits.far_polls and limits.far_steps.
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
    if (limits.ends_with_shortest) break;
  }
  proof.far_steps = steps;
  return proof;
}

}  // namespace verbatim::spin
