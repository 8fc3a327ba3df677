// Loops around calls that find nothing. A call is not interpreted. By the ABI (System V x86-64, 3.2.1) it
// keeps rbx, rsp, rbp and r12-r15. All other registers, the flags, the vector registers and the stack below
// become unknown; a loop that reads them cannot be proven.
#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/entry_state.h"
#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

bool same_at_entry(const Registers& a, const Registers& b, const PollEntry& poll) {
  if (a.rip != b.rip || a.fs_base != b.fs_base) return false;
  for (const unsigned index : kPreserved) {
    if (a.gpr[index] != b.gpr[index]) return false;
  }
  for (unsigned i = 0; i < std::size(kArguments); ++i) {
    const unsigned size = poll.argument_sizes[i];
    if (size != 0 && ((a.gpr[kArguments[i]] ^ b.gpr[kArguments[i]]) & size_mask(size)) != 0) return false;
  }
  return true;
}

namespace {

constexpr unsigned kScratch[] = {kRcx, kRdx, kRsi, kRdi, kR8, kR9, kR10, kR11};

// All registers that a call may change, including its result.
constexpr std::uint16_t kDestroyed =
    1u << kRax | 1u << kRcx | 1u << kRdx | 1u << kRsi | 1u << kRdi | 1u << kR8 | 1u << kR9 | 1u << kR10 | 1u << kR11;

// Adds to `to` the bytes of `runs` that have another value in `last`. Both are sorted.
void add_other_values(const std::vector<ByteRun>& runs, const std::vector<ByteRun>& last, std::vector<MemoryRange>& to) {
  auto in = last.begin();
  for (const ByteRun& run : runs) {
    for (std::size_t i = 0; i < run.bytes.size(); ++i) {
      const std::uint64_t at = run.address + i;
      while (in != last.end() && in->address + in->bytes.size() <= at) ++in;
      if (in == last.end()) return;
      if (at < in->address || run.bytes[i] == in->bytes[at - in->address]) continue;
      const bool goes_on = !to.empty() && to.back().address + to.back().length == at;
      goes_on ? void(++to.back().length) : to.push_back({at, 1});
    }
  }
}

// True if a turn may end here: the thread is at the first poll, and differs from its beginning at most in
// memory and in callee-saved registers other than rsp.
bool may_be_next_turn(const Registers& a, const Registers& b, const PollEntry& poll) {
  Registers same = a;
  for (const unsigned index : kPreserved) {
    if (index != kRsp) same.gpr[index] = b.gpr[index];
  }
  return same_at_entry(same, b, poll);
}

// `runs` without the bytes at [from, to).
std::vector<ByteRun> without(const std::vector<ByteRun>& runs, std::uint64_t from, std::uint64_t to) {
  std::vector<ByteRun> rest;
  for (const ByteRun& run : runs) {
    const std::uint64_t end = run.address + run.bytes.size();
    if (run.address < from) {
      const std::uint64_t n = std::min(end, from) - run.address;
      rest.push_back({run.address, {run.bytes.begin(), run.bytes.begin() + static_cast<std::ptrdiff_t>(n)}});
    }
    if (end > to) {
      const std::uint64_t first = std::max(run.address, to);
      rest.push_back({first, {run.bytes.begin() + static_cast<std::ptrdiff_t>(first - run.address), run.bytes.end()}});
    }
  }
  return rest;
}

// True if a turn of many polls may be provable even though the search for short turns ended with this reason.
bool may_be_far(Reason reason) {
  switch (reason) {
    case Reason::kNoRecurrence:
    case Reason::kManyPolls:
    case Reason::kClockAmongPolls:
    case Reason::kFewTurns:
    case Reason::kGrowingAddress:
    case Reason::kGrowingResult:
    case Reason::kGrowingPart:
    case Reason::kGrowingFlags:
    case Reason::kGrowingCall:
    case Reason::kUnevenGrowth:
    case Reason::kUnsettled:
    case Reason::kUnevenClock:
      return true;
    default:
      return false;
  }
}

}  // namespace

// The call at whose entry the thread is returns `result`.
bool SpinProver::return_empty(std::uint64_t result, const Limits& limits) {
  MachineState& state = interpreter_.state;
  std::uint64_t& rsp = state.registers.gpr[kRsp];
  std::uint64_t return_address = 0;
  if (!memory_.load(rsp, 8, return_address)) {
    own_stop_ = {memory_.fault(), state.registers.rip, ""};
    return false;
  }
  if (limits.in_library(return_address)) {  // rsockets polls for the program, and does more than polling
    own_stop_ = {Reason::kLibraryCall, return_address, ""};
    return false;
  }
  rsp += 8;
  memory_.leave_stale(rsp, limits.poll_stack);
  state.registers.rip = return_address;
  for (const unsigned index : kScratch) state.forget_gpr(index);
  growth_.forget(kDestroyed);
  state.registers.gpr[kRax] = result;
  state.known |= known_bits(kRax, 8);
  state.forget_flags(kArithmeticFlags);
  state.vectors = {};
  return true;
}

bool SpinProver::run_to_poll(const PollLoop& loop, std::optional<PollEntry>& poll) {
  const auto& [at_entry, is_poll, limits] = loop;
  while (true) {
    const std::uint64_t from = interpreter_.state.registers.rip;
    if (!step(limits)) {
      if (pass_clock(limits)) continue;
      // The poll functions are in the library.
      if (own_stop_.reason != Reason::kLibraryCall) return false;
      poll = is_poll(interpreter_.state.registers.rip);
      if (!poll) return false;
      own_stop_ = {};
      return true;
    }
    if (!interpreter_.jumped()) continue;
    for (const std::uint64_t place : {from, interpreter_.state.registers.rip}) {
      path_hash_ = (path_hash_ ^ place) * 0x9e37'79b9'7f4a'7c15;
      path_hash_ ^= path_hash_ >> 29;
    }
    if ((poll = is_poll(interpreter_.state.registers.rip))) return true;
  }
}

bool SpinProver::reads_zeros(const PollEntry& poll) {
  const std::uint64_t address = interpreter_.state.registers.gpr[kRsi];
  if (poll.reads_zeros == 0 || address == 0) return true;
  std::uint64_t value = 0;
  const bool is_read = memory_.load(address, poll.reads_zeros, value);
  if (is_read && value == 0 && (!follows_growth_ || growth_.may_read(address, poll.reads_zeros))) return true;
  own_stop_ = {is_read ? Reason::kNotAPoll : memory_.fault(), interpreter_.state.registers.rip, ""};
  return false;
}

bool SpinProver::arguments_known(const PollEntry& poll) {
  for (unsigned i = 0; i < std::size(kArguments); ++i) {
    const unsigned size = poll.argument_sizes[i];
    if (size == 0 || (known_bits(kArguments[i], size) & ~interpreter_.state.known) == 0) continue;
    own_stop_ = {Reason::kUndefinedValue, interpreter_.state.registers.rip, "call"};
    return false;
  }
  return true;
}

PollPoint SpinProver::poll_point(const PollEntry& entry) {
  PollPoint point;
  point.entry = entry;
  point.registers = interpreter_.state.registers;
  for (unsigned index = 0; index < 16; ++index) {
    const std::uint64_t bits = known_bits(index, 8);
    if ((interpreter_.state.known & bits) == bits) point.known |= static_cast<std::uint16_t>(1u << index);
  }
  point.accesses->written = memory_.take_recent_writes();
  point.accesses->read = memory_.take_recent_reads();
  return point;
}

// The thread is at the entry of a poll that finds nothing. Interprets the code up to the next one.
bool SpinProver::pass_poll(const PollLoop& loop, std::optional<PollEntry>& poll) {
  return reads_zeros(*poll) && return_empty(poll->empty_result, loop.limits) && run_to_poll(loop, poll) &&
         arguments_known(*poll);
}

// Interprets one turn from the first poll. If the registers recur and every byte that was read before it was
// written has its first value again, then each further turn is like the first. If a turn ends after more than
// `turn` polls at the same poll in another state, the search ends and `turn` is set to its number of polls;
// otherwise it is set to 0.
PollLoopProof SpinProver::recur(const PollLoop& loop, unsigned& turn) {
  const auto& [at_entry, is_poll, limits] = loop;
  PollLoopProof proof;
  const auto refuse = [&](const Refusal& refusal) {
    proof.refusal = refusal;
    proof.steps = steps_;
    return proof;
  };
  const std::optional<PollEntry> first = is_poll(at_entry.rip);
  memory_.begin_tracking();
  memory_.note_recent();
  std::optional<PollEntry> poll = first;
  std::vector<PollPoint> met;  // the polls of the turn but the first
  unsigned polls = 0;
  const unsigned longer_than = std::exchange(turn, 0);
  const Registers& now = interpreter_.state.registers;
  while (true) {
    ++polls;
    if (!pass_poll(loop, poll)) return refuse(refusal());
    if (clock_.reads() != 0) {
      // Values read from a clock differ each turn, even if all else recurs.
      if (polls > longer_than && may_be_next_turn(now, at_entry, *first)) {
        period_ps_ = clock_.period_ps();
        turn = polls;
        return proof;
      }
      if (polls == limits.polls) return refuse({Reason::kClockAmongPolls, now.rip, ""});
      clock_.poll();
      continue;
    }
    clock_.poll();
    // Unknown registers are 0 in `now`; this must not count as equality.
    const bool knows_kept = std::ranges::all_of(kPreserved, [&](unsigned index) {
      return (known_bits(index, 8) & ~interpreter_.state.known) == 0;
    });
    if (knows_kept && same_at_entry(now, at_entry, *first) && memory_.reads_unchanged()) break;
    if (polls > longer_than && may_be_next_turn(now, at_entry, *first)) {
      turn = polls;
      return proof;
    }
    // A likely turn has exactly limits.polls polls.
    if (polls == limits.polls) return refuse({Reason::kManyPolls, now.rip, ""});
    met.push_back(poll_point(*poll));
  }
  if (writes_below_stack()) return refuse({Reason::kBelowStack, now.rip, ""});
  // The last place of floating-point results depends on the rounding mode.
  if (interpreter_.has_floated()) return refuse({Reason::kUnsupported, now.rip, ""});
  proof.proven = true;
  proof.cycle_length = steps_;
  proof.reads = memory_.reads();
  proof.writes = memory_.writes();
  proof.changed = memory_.changed();
  proof.steps = steps_;
  // Accesses before the first poll are unknown.
  memory_.note_recent();
  proof.polls.own().push_back(poll_point(*first));
  std::ranges::move(met, std::back_inserter(proof.polls.own()));
  return proof;
}

PollLoopProof SpinProver::prove_poll_loop(const Registers& at_entry, const PollPredicate& is_poll,
                                          CodeMemory& memory, const Limits& limits, const ClockModel* clock) {
  PollLoopProof proof;
  short_proof_.reset();
  clock_.begin(clock);
  if (!is_poll(at_entry.rip)) {
    proof.refusal = {Reason::kNotAPoll, at_entry.rip, ""};
    return proof;
  }
  const PollLoop loop{at_entry, is_poll, limits};
  constexpr int kMostAttempts = 4;
  unsigned turn = limits.shortest_turn - 1, steps = 0;
  bool ran_out = false;
  PollLoopProof refused;
  const Analysis analysis(*this, at_entry, memory, limits);
  interpreter_.allows_floating = clock != nullptr;
  if (limits.likely_polls != 0) {
    Limits within = limits;
    within.polls = limits.likely_polls;
    within.steps = limits.far_steps;
    proof = prove_turn_of(limits.likely_polls, {at_entry, is_poll, within}, steps);
    if (proof.proven) {
      proof.far_steps = proof.steps = steps;
      finish(proof, limits);
      return proof;
    }
  }
  for (int attempt = 0; attempt <= kMostAttempts; ++attempt) {
    // The last attempt, and an attempt after a deviation within a few turns, accept recurrence of the state
    // only.
    if (attempt == kMostAttempts || refused.refusal.reason == Reason::kFewTurns) turn = ~0u;
    restart(at_entry);
    proof = recur(loop, turn);
    steps += steps_;
    ran_out |= proof.refusal.reason == Reason::kNoRecurrence;
    if (turn == 0) break;
    proof = grow(loop, turn);
    steps += steps_;
    if (proof.proven) break;
    const bool says_when = proof.refusal.reason == Reason::kFewTurns;
    if (refused.refusal.reason == Reason::kNone || says_when) refused = std::move(proof);
    if (says_when && clock_.reads() != 0) break;  // a loop with clocks does not recur
  }
  // The reason why the shortest turn does not grow is more specific than the failure of longer turns to
  // recur.
  if (!proof.proven && refused.refusal.reason != Reason::kNone) proof = std::move(refused);
  if (!proof.proven && limits.far_polls != 0 && may_be_far(proof.refusal.reason)) {
    PollLoopProof further = prove_far_turn(loop);
    steps += further.far_steps;
    proof.far_steps = further.far_steps;
    if (further.proven) proof = std::move(further);
  }
  if (limits.likely_polls != 0) proof.far_steps = steps;
  proof.steps = steps;
  proof.ran_out = ran_out && !proof.proven;
  if (proof.proven || proof.refusal.reason != Reason::kFewTurns) short_proof_.reset();
  if (short_proof_) finish(*short_proof_, limits);
  if (proof.proven) finish(proof, limits);
  return proof;
}

bool SpinProver::writes_below_stack() const {
  constexpr std::uint64_t kRedZone = 128;
  const std::uint64_t end = lowest_stack_ - std::min(lowest_stack_, kRedZone);
  return std::ranges::any_of(memory_.writes(), [&](const ByteRun& run) {
    return run.address < end && run.address + run.bytes.size() > poll_frames_;
  });
}

void SpinProver::finish(PollLoopProof& proof, const Limits& limits) {
  proof.code = code_.changing_lines(memory_);
  // The bytes below the stack pointer belong to frames of the current poll.
  proof.begun = proof.polls.front().registers;
  const std::uint64_t stack = proof.begun.gpr[kRsp];
  const std::uint64_t below = stack - limits.poll_stack;
  proof.writes = without(proof.writes, below, stack);
  const auto is_below = [&](const GrowingCell& cell) { return cell.address < stack && cell.address + cell.size > below; };
  std::erase_if(proof.cells, is_below);
  std::erase_if(proof.remade, [&](const MemoryRange& range) {
    return range.address < stack && range.address + range.length > below;
  });
  for (const PollPoint& poll : proof.polls) {
    PollAccesses& accesses = *poll.accesses;
    accesses.written = without(accesses.written, below, stack);
    std::erase_if(accesses.cells, is_below);
  }
  for (const ByteRun& run : proof.writes) proof.changing.push_back({run.address, run.bytes.size()});
  for (const PollPoint& poll : std::span(proof.polls).subspan(1)) {
    for (const ByteRun& run : poll.accesses->written) proof.changing.push_back({run.address, run.bytes.size()});
  }
  proof.changing = MemoryView::merged(std::move(proof.changing));
  constexpr std::uint64_t kReturnAddress = 8;
  proof.varying = proof.remade;
  if (proof.period_ps != 0) proof.varying.insert(proof.varying.end(), proof.changed.begin(), proof.changed.end());
  for (const GrowingCell& cell : proof.cells) proof.varying.push_back({cell.address, cell.size});
  for (const PollPoint& poll : std::span(proof.polls).subspan(1)) {
    for (const GrowingCell& cell : poll.accesses->cells) proof.varying.push_back({cell.address, cell.size});
    // Each poll has its own return address at the stack pointer, which only the thread reads.
    add_other_values(without(poll.accesses->written, stack, stack + kReturnAddress), proof.writes, proof.varying);
  }
  proof.varying = MemoryView::merged(std::move(proof.varying));
  for (const ByteRun& run : proof.reads) {
    proof.ranges.push_back({run.address, run.bytes.size()});
    proof.expected.insert(proof.expected.end(), run.bytes.begin(), run.bytes.end());
  }
}

}  // namespace verbatim::spin
