// Reads of clocks in a poll loop are not executed: what they give is known (turn_clock.h).
#include "sim/core/check.h"
#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

namespace {
constexpr std::int64_t kPsPerNs = 1'000, kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kPsPerSecond = kPsPerNs * kNsPerSecond;
}  // namespace

// The interpreter has stopped. True: it was at a clock, which has been read, and goes on behind it.
bool SpinProver::pass_clock(const Limits& limits) {
  const ClockModel* const model = clock_.model();
  if (model == nullptr) return false;
  const bool calls = own_stop_.reason == Reason::kLibraryCall && interpreter_.state.registers.rip == model->gettime;
  const bool counts = own_stop_.reason == Reason::kNone && interpreter_.stop().reason == Reason::kClockRead;
  if (!calls && !counts) return false;
  own_stop_ = {};
  if (clock_.reads() == TurnClock::kMostReads) return refuse_clock(Reason::kClockRead);
  return calls ? call_gettime(limits) : read_counter();
}

bool SpinProver::refuse_clock(Reason reason) {
  own_stop_ = {reason, interpreter_.state.registers.rip, ""};
  return false;
}

// clock_gettime(edi, rsi), at its entry.
bool SpinProver::call_gettime(const Limits& limits) {
  const MachineState& state = interpreter_.state;
  for (const auto& [index, size] : {std::pair{kRdi, 4u}, std::pair{kRsi, 8u}}) {
    if ((known_bits(index, size) & ~state.known) != 0) return refuse_clock(Reason::kUndefinedValue);
    if (follows_growth_ && (growth_.registers()[index].step != 0 || !growth_.is_whole(index)))
      return refuse_clock(Reason::kGrowingCall);
  }
  const ClockModel& model = *clock_.model();
  const auto base = model.base_ns(static_cast<std::int32_t>(state.registers.gpr[kRdi]));
  if (!base) return refuse_clock(Reason::kClockRead);
  const std::uint64_t to = state.registers.gpr[kRsi];
  const std::int64_t ns = *base + clock_.read(model.gettime_ps) / kPsPerNs;
  const std::int64_t seconds = ns / kNsPerSecond, rest = ns % kNsPerSecond;
  if (follows_growth_) {
    if (period_ps_ % kPsPerNs != 0) return refuse_clock(Reason::kUnevenClock);
    const auto step = static_cast<std::uint64_t>(period_ps_ / kPsPerNs);
    if (!growth_.set_memory(to, 8, static_cast<std::uint64_t>(seconds), 0, ~0ull) ||
        !growth_.set_memory(to + 8, 8, static_cast<std::uint64_t>(rest), step, kNsPerSecond - 1)) {
      return refuse_clock(growth_.reason());
    }
  }
  if (!memory_.store(to, 8, static_cast<std::uint64_t>(seconds)) ||
      !memory_.store(to + 8, 8, static_cast<std::uint64_t>(rest))) {
    return refuse_clock(memory_.fault());
  }
  return return_empty(0, limits);
}

// RDTSC or RDTSCP.
bool SpinProver::read_counter() {
  MachineState& state = interpreter_.state;
  const Instruction* const in = code_.fetch(state.registers.rip, memory_);
  CHECK(in != nullptr);
  const bool with_processor = in->bytes[1] == 0x01 && in->bytes[2] == 0xf9;
  if (in->bytes[0] != 0x0f || (in->bytes[1] != 0x31 && !with_processor)) return refuse_clock(Reason::kClockRead);
  const ClockModel& model = *clock_.model();
  const auto at = static_cast<unsigned __int128>(clock_.read(model.counter_ps));
  const auto counter = static_cast<std::uint64_t>(at * model.counter_hz / kPsPerSecond);
  const std::uint64_t low = counter & 0xffff'ffff;
  std::uint64_t step = 0;
  if (follows_growth_) {
    const auto grows = static_cast<unsigned __int128>(period_ps_) * model.counter_hz;
    if (grows % kPsPerSecond != 0) return refuse_clock(Reason::kUnevenClock);
    step = static_cast<std::uint64_t>(grows / kPsPerSecond);
  }
  const auto put = [&](unsigned index, std::uint64_t value, std::uint64_t each_turn) {
    state.registers.gpr[index] = value;
    state.known |= known_bits(index, 8);
    return !follows_growth_ || growth_.set_register(index, 4, value, each_turn, 0xffff'ffff);
  };
  if (!put(kRax, low, step) || !put(kRdx, counter >> 32, 0) || (with_processor && !put(kRcx, 0, 0)))
    return refuse_clock(growth_.reason());
  state.registers.rip = in->next;
  return true;
}

}  // namespace verbatim::spin
