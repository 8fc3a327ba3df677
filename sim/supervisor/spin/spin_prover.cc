#include "sim/supervisor/spin/spin_prover.h"

#include <algorithm>
#include <compare>

#include "sim/core/check.h"

namespace verbatim::spin {
namespace {

// The order that selects the canonical state. It depends only on state that the program can see.
std::strong_ordering compare(const MachineState& a, const MachineState& b) {
  if (const auto order = a.registers.rip <=> b.registers.rip; order != 0) return order;
  if (const auto order = a.registers.gpr <=> b.registers.gpr; order != 0) return order;
  if (const auto order = a.registers.flags <=> b.registers.flags; order != 0) return order;
  if (const auto order = a.known_flags <=> b.known_flags; order != 0) return order;
  if (const auto order = a.vectors.known <=> b.vectors.known; order != 0) return order;
  if (const auto order = a.vectors.low_only <=> b.vectors.low_only; order != 0) return order;
  if (const auto order = a.vectors.lowest_only <=> b.vectors.lowest_only; order != 0) return order;
  return a.vectors.lane <=> b.vectors.lane;
}

}  // namespace

void SpinProver::begin(const Registers& start, CodeMemory& memory, const Limits& limits) {
  memory_.begin(memory, limits.pages);
  poll_frames_ = start.gpr[kRsp] - std::min<std::uint64_t>(start.gpr[kRsp], limits.poll_stack);
  code_.begin();
  restart(start);
}

// Starts the same analysis again.
void SpinProver::restart(const Registers& start) {
  memory_.rewind();
  clock_.begin(clock_.model());
  steps_ = 0;
  lowest_stack_ = start.gpr[kRsp];
  own_stop_ = {};
  interpreter_.set_observer(nullptr);
  interpreter_.forget_floating();
  interpreter_.state = {};
  interpreter_.state.registers = start;
  interpreter_.state.registers.flags &= kArithmeticFlags;
}

bool SpinProver::step(const Limits& limits) {
  if (steps_ == limits.steps) {
    own_stop_ = {Reason::kNoRecurrence, interpreter_.state.registers.rip, ""};
    return false;
  }
  ++steps_;
  if (!interpreter_.step()) return false;
  const std::uint64_t stack = interpreter_.state.registers.gpr[kRsp];
  if (stack < lowest_stack_ && stack >= poll_frames_) lowest_stack_ = stack;
  if (interpreter_.jumped() && limits.in_library(interpreter_.state.registers.rip)) {
    own_stop_ = {Reason::kLibraryCall, interpreter_.state.registers.rip, ""};
    return false;
  }
  return true;
}

Refusal SpinProver::refusal() const {
  const Stop& stop = own_stop_.reason != Reason::kNone ? own_stop_ : interpreter_.stop();
  return {stop.reason == Reason::kObserver ? growth_.reason() : stop.reason, stop.rip, stop.mnemonic};
}

std::optional<std::uint64_t> SpinProver::refused_by(Observer& watcher, const Limits& limits, const MemoryRange& code) {
  std::optional<std::uint64_t> found;
  interpreter_.set_observer(&watcher);
  for (unsigned steps = 0; steps < limits.steps && !found; ++steps) {
    const std::uint64_t rip = interpreter_.state.registers.rip;
    if (rip - code.address >= code.length) break;
    if (interpreter_.step()) continue;
    if (interpreter_.stop().reason != Reason::kObserver) break;
    found = rip;
  }
  interpreter_.set_observer(nullptr);
  return found;
}

// Brent's algorithm: the anchor moves at powers of two. Once it is in the cycle, the first recurrence of its
// state is one period later.
bool SpinProver::find_cycle(const Limits& limits, SpinProof& proof) {
  const MachineState& now = interpreter_.state;
  MachineState anchor = now;
  memory_.set_anchor();
  unsigned since = 0, power = 1;
  while (step(limits)) {
    ++since;
    if (now == anchor && memory_.same_as_anchor()) {
      proof.cycle_length = since;
      return true;
    }
    if (since == power) {
      power *= 2;
      since = 0;
      anchor = now;
      memory_.set_anchor();
    }
  }
  proof.refusal = refusal();
  return false;
}

// Every instruction of a proven cycle is known to execute.
void SpinProver::replay(unsigned steps) {
  for (; steps != 0; --steps, ++steps_) CHECK(interpreter_.step());
}

// Replays a whole turn, and finds its backward jump.
LoopJump SpinProver::replay_turn(unsigned steps) {
  struct Seen {
    std::uint64_t address, target;
    bool is_once;
  };
  constexpr std::size_t kMost = 32;
  std::vector<Seen> seen;
  const auto by_address = [](std::uint64_t address) { return [address](const Seen& one) { return one.address == address; }; };
  for (; steps != 0; --steps) {
    const std::uint64_t from = interpreter_.state.registers.rip;
    replay(1);
    const std::uint64_t to = interpreter_.state.registers.rip;
    if (!interpreter_.jumped() || to > from) continue;
    const auto known = std::ranges::find_if(seen, by_address(from));
    if (known != seen.end()) known->is_once = false;
    else if (seen.size() < kMost) seen.push_back({from, to, true});
  }
  LoopJump jump;
  std::uint64_t span = 0;
  for (const Seen& one : seen) {
    const Instruction* const in = one.is_once ? code_.fetch(one.address, memory_) : nullptr;
    if (in == nullptr || one.address - one.target < span) continue;
    const bool is_direct = in->op == Op::kJmp && in->source.kind == Operand::Kind::kImmediate;
    if (in->op != Op::kJcc && !is_direct) continue;
    span = one.address - one.target;
    jump = {one.address, in->length, is_direct ? std::nullopt : std::optional(in->condition)};
  }
  return jump;
}

// Moves from any state of the cycle to the least one. If several states have the same registers, the values
// of the bytes that the cycle writes decide, by address.
void SpinProver::go_to_canonical(SpinProof& proof) {
  const MachineState& now = interpreter_.state;
  MachineState least = now;
  unsigned place = 0, places = 1;
  memory_.begin_tracking();
  for (unsigned i = 1; i <= proof.cycle_length; ++i) {
    replay(1);
    if (i == proof.cycle_length) break;  // back at the first state
    const auto order = compare(now, least);
    if (order > 0) continue;
    places = order == 0 ? places + 1 : 1;
    if (order == 0) continue;
    least = now;
    place = i;
  }
  if (places > 1) {
    const std::vector<ByteRun> written = memory_.writes();
    std::vector<std::uint8_t> least_bytes;
    for (unsigned i = 0; i < proof.cycle_length; ++i, replay(1)) {
      if (compare(now, least) != 0) continue;
      std::vector<std::uint8_t> bytes = memory_.values(written);
      if (!least_bytes.empty() && bytes >= least_bytes) continue;
      least_bytes = std::move(bytes);
      place = i;
    }
  }
  replay(place);
}

SpinProof SpinProver::prove_spin(const Registers& start, CodeMemory& memory, const Limits& limits,
                                 const VectorRegisters* vectors) {
  SpinProof proof;
  const Analysis analysis(*this, start, memory, limits);
  interpreter_.allows_floating = false;
  if (vectors != nullptr) interpreter_.state.vectors = *vectors;
  if ((start.flags & kDirectionFlag) != 0) {
    proof.refusal = {Reason::kUnsupported, start.rip, "string operations downwards"};
    return proof;
  }
  if (limits.in_library(start.rip)) {
    proof.refusal = {Reason::kLibraryCall, start.rip, ""};
    return proof;
  }
  if (find_cycle(limits, proof)) {
    proof.proven = true;
    go_to_canonical(proof);
    proof.canonical = interpreter_.state.registers;
    proof.known_flags = interpreter_.state.known_flags;
    proof.vectors = interpreter_.state.vectors;
    proof.to_write = memory_.changes();
    // A second turn, from the canonical state: the cycle depends on bytes that are read before they are
    // written.
    memory_.begin_tracking();
    proof.jump = replay_turn(proof.cycle_length);
    proof.reads = memory_.reads();
    proof.writes = memory_.writes();
    proof.changed = memory_.changed();
    proof.code = code_.changing_lines(memory_);
  } else {
    // A computation: the next poke finds it in other code, hundreds of KiB of decoded instructions later.
    code_.invalidate();
  }
  proof.steps = steps_;
  return proof;
}

std::string Refusal::describe() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string where = " at 0x";
  for (int shift = 60; shift >= 0; shift -= 4) {
    const unsigned digit = (rip >> shift) & 15;
    if (digit != 0 || where.back() != 'x' || shift == 0) where += kDigits[digit];
  }
  const std::string named = mnemonic.empty() ? where : " (" + mnemonic + ")" + where;
  switch (reason) {
    case Reason::kNone:
      return "nothing prevents it";
    case Reason::kNoRecurrence:
      return "does not return to an earlier state within the limit of instructions" + where +
             "; a loop that counts its turns needs a call in each, because computation takes no time";
    case Reason::kClockRead:
      return "reads the time stamp counter or a clock" + named;
    case Reason::kSystemCall:
      return "enters the kernel" + named;
    case Reason::kCpuid:
      return "executes cpuid" + named;
    case Reason::kUnsupported:
      return "executes an instruction that cannot be interpreted" + named;
    case Reason::kUndecodable:
      return "reaches bytes that are not an instruction" + where;
    case Reason::kUnreadable:
      return "reads memory that is not readable" + named;
    case Reason::kUndefinedValue:
      return "reads a register or flag with an undefined value" + named;
    case Reason::kStaleStack:
      return "reads stack that a call may have overwritten" + named;
    case Reason::kBelowStack:
      return "writes data below its stack, where the poll may have its frames" + where;
    case Reason::kLibraryCall:
      return "calls the library" + where;
    case Reason::kWritesCode:
      return "writes into code it executes" + named;
    case Reason::kTooMuchMemory:
      return "accesses more memory than the limit allows" + named;
    case Reason::kDivideError:
      return "divides by zero or overflows" + named;
    case Reason::kMisaligned:
      return "accesses misaligned memory" + named;
    case Reason::kNotAPoll:
      return "is not at the beginning of a poll" + where;
    case Reason::kManyPolls:
      return "polls more often in one iteration than can be followed" + where;
    case Reason::kObserver:
      return "cannot be followed" + named;
    case Reason::kGrowingAddress:
      return "accesses memory at an address that changes in each iteration" + named;
    case Reason::kGrowingResult:
      return "computes with a value that changes in each iteration" + named;
    case Reason::kGrowingPart:
      return "reads or writes a part of a value that changes in each iteration" + named;
    case Reason::kGrowingFlags:
      return "depends on a comparison of values that change in each iteration" + named;
    case Reason::kGrowingCall:
      return "polls with arguments that change in each iteration" + where;
    case Reason::kUnevenGrowth:
      return "changes a value in each iteration by different amounts" + where;
    case Reason::kFewTurns:
      return "behaves differently every few iterations" + where;
    case Reason::kUnsettled:
      return "depends on a clock in a way that changes after a few iterations" + where;
    case Reason::kUnevenClock:
      return "reads a clock that grows by different amounts in each iteration" + where;
    case Reason::kClockAmongPolls:
      return "reads a clock and polls more than once in one iteration" + where;
  }
  return "";
}

}  // namespace verbatim::spin
