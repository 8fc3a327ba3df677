// Poll loops that deviate every so many polls: a time-out counted in iterations, a look elsewhere, an
// allocator with cyclic addresses. A turn then includes the deviation and may have many polls. The program's
// paths between polls show its length, because a rare path occurs once per turn. A path is identified by a
// hash of its jumps (path_hash_).
#include <unordered_map>

#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {
namespace {

constexpr int kFarAttempts = 3;  // a turn may be part of a longer one

}  // namespace

// Proves a turn of `polls` polls as a short turn is proven. Adds the instructions interpreted to `steps`.
PollLoopProof SpinProver::prove_turn_of(unsigned polls, const PollLoop& loop, unsigned& steps) {
  restart(loop.at_entry);
  unsigned turn = polls - 1;  // recur() looks for a longer one
  PollLoopProof proof = recur(loop, turn);
  steps += steps_;
  if (turn != polls) return proof;
  if (loop.limits.ends_with_shortest && clock_.reads() != 0) {
    proof.refusal = {Reason::kClockAmongPolls, loop.at_entry.rip, ""};
    return proof;
  }
  proof = grow(loop, turn);
  steps += steps_;
  return proof;
}

// The number of polls between the first and the second occurrence of a path, if it is more than
// `longer_than`. 0: there is none within the limits.
unsigned SpinProver::find_far_turn(const PollLoop& loop, unsigned longer_than) {
  struct Taken {
    unsigned first = 0, times = 0;
  };
  std::unordered_map<std::uint64_t, Taken> paths;  // looked up, never walked
  std::optional<PollEntry> poll = loop.is_poll(loop.at_entry.rip);
  memory_.begin_tracking();
  for (unsigned polls = 1; polls <= loop.limits.polls; ++polls) {
    path_hash_ = interpreter_.state.registers.gpr[kRdi];
    if (!pass_poll(loop, poll)) return 0;
    clock_.poll();
    Taken& taken = paths[path_hash_];
    if (++taken.times == 1) taken.first = polls;
    if (taken.times == 2 && polls - taken.first > longer_than) return polls - taken.first;
  }
  return 0;
}

// Finds the length of the turn and proves it, with limits.far_polls and limits.far_steps.
PollLoopProof SpinProver::prove_far_turn(const PollLoop& loop) {
  Limits within = loop.limits;
  within.polls = within.far_polls;
  within.steps = within.far_steps;
  const PollLoop further{loop.at_entry, loop.is_poll, within};
  PollLoopProof proof;
  unsigned polls = loop.limits.polls, steps = 0;
  for (int attempt = 0; attempt < kFarAttempts && !proof.proven; ++attempt) {
    restart(loop.at_entry);
    polls = find_far_turn(further, polls);
    steps += steps_;
    if (polls == 0) break;
    proof = prove_turn_of(polls, further, steps);
    if (loop.limits.ends_with_shortest) break;
  }
  proof.far_steps = steps;
  return proof;
}

}  // namespace verbatim::spin
