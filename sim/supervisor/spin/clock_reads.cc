// Clock reads and other calls with known results in a poll loop. They are not executed; turn_clock.h has
// their results.
#include <time.h>

#include <algorithm>

#include "sim/core/check.h"
#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

namespace {
constexpr std::int64_t kPsPerNs = 1'000, kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kPsPerSecond = kPsPerNs * kNsPerSecond;
}  // namespace

// The interpreter has stopped. True: it had stopped at a clock read or known call, and is after it.
bool SpinProver::pass_clock(const Limits& limits) {
  const ClockModel* const model = clock_.model();
  if (model == nullptr) return false;
  const std::uint64_t rip = interpreter_.state.registers.rip;
  const auto calls = [&](std::uint64_t function) { return own_stop_.reason == Reason::kLibraryCall && rip == function; };
  const bool gets_time = calls(model->gettime), gets_day = calls(model->timeofday), asks_time = calls(model->time);
  const bool yields = calls(model->yield);
  const bool counts = own_stop_.reason == Reason::kNone && interpreter_.stop().reason == Reason::kClockRead;
  const bool enters =
      own_stop_.reason == Reason::kNone && interpreter_.stop().reason == Reason::kSystemCall && !model->calls.empty();
  if (!gets_time && !gets_day && !asks_time && !yields && !counts && !enters) return false;
  own_stop_ = {};
  if (!clock_.may_read()) return refuse_clock(Reason::kClockRead);
  if (enters) return call_kernel();
  if (yields) clock_.pass(model->yield_ps);
  return yields      ? return_empty(0, limits)
         : gets_time ? call_gettime(limits)
         : gets_day  ? call_timeofday(limits)
         : asks_time ? call_time(limits)
                     : read_counter();
}

bool SpinProver::refuse_clock(Reason reason) {
  own_stop_ = {reason, interpreter_.state.registers.rip, ""};
  return false;
}

// True if the argument is known and the same in every turn.
bool SpinProver::is_fixed_argument(unsigned index, unsigned size) {
  if ((known_bits(index, size) & ~interpreter_.state.known) != 0) return refuse_clock(Reason::kUndefinedValue);
  if (follows_growth_ && (growth_.registers()[index].step != 0 || !growth_.is_whole(index)))
    return refuse_clock(Reason::kGrowingCall);
  return true;
}

// Stores the seconds of a clock at `to`, unless `to` is 0. Limits turns() to the current second.
bool SpinProver::show_seconds(std::int64_t seconds, std::int64_t ps, std::uint64_t to) {
  const auto value = static_cast<std::uint64_t>(seconds);
  if (follows_growth_) {
    growth_.keep_within(ps % kPsPerSecond, period_ps_, 0, kPsPerSecond - 1);
    if (to != 0 && !growth_.set_memory(to, 8, value, 0, ~0ull)) return refuse_clock(growth_.reason());
  }
  return to == 0 || memory_.store(to, 8, value) || refuse_clock(memory_.fault());
}

// Stores the fraction of the second at `ps`, in units of `unit_ps`.
bool SpinProver::show_part(std::uint64_t to, std::int64_t ps, std::int64_t unit_ps) {
  const std::int64_t part_ps = ps % kPsPerSecond;
  const auto part = static_cast<std::uint64_t>(part_ps / unit_ps);
  if (follows_growth_) {
    bool is_set = false;
    if (period_ps_ % unit_ps == 0) {
      const auto most = static_cast<std::uint64_t>(kPsPerSecond / unit_ps - 1);
      is_set = growth_.set_memory(to, 8, part, static_cast<std::uint64_t>(period_ps_ / unit_ps), most);
    } else if (!growth_.has_horizon()) {
      return refuse_clock(Reason::kUnevenClock);
    } else {
      const Range bounds = growth_.bounds(part_ps, period_ps_);
      is_set = growth_.set_memory(to, 8, Range{bounds.least / unit_ps, bounds.most / unit_ps});
    }
    if (!is_set) return refuse_clock(growth_.reason());
  }
  return memory_.store(to, 8, part) || refuse_clock(memory_.fault());
}

// time(rdi), at its entry. The result is constant within a second.
bool SpinProver::call_time(const Limits& limits) {
  if (!is_fixed_argument(kRdi, 8)) return false;
  const auto base = clock_.model()->base_ns(CLOCK_REALTIME);
  if (!base) return refuse_clock(Reason::kClockRead);
  const std::int64_t ps = *base % kNsPerSecond * kPsPerNs + clock_.read(clock_.model()->gettime_ps);
  const std::int64_t seconds = *base / kNsPerSecond + ps / kPsPerSecond;
  if (!show_seconds(seconds, ps, interpreter_.state.registers.gpr[kRdi])) return false;
  return return_empty(static_cast<std::uint64_t>(seconds), limits);
}

// clock_gettime(edi, rsi), at its entry.
bool SpinProver::call_gettime(const Limits& limits) {
  if (!is_fixed_argument(kRdi, 4) || !is_fixed_argument(kRsi, 8)) return false;
  const auto& gpr = interpreter_.state.registers.gpr;
  const auto base = clock_.model()->base_ns(static_cast<std::int32_t>(gpr[kRdi]));
  return base ? show_time(*base, kPsPerNs, gpr[kRsi], limits) : refuse_clock(Reason::kClockRead);
}

// gettimeofday(rdi, rsi), at its entry. The time zone pointer must be null.
bool SpinProver::call_timeofday(const Limits& limits) {
  if (!is_fixed_argument(kRdi, 8) || !is_fixed_argument(kRsi, 8)) return false;
  const auto& gpr = interpreter_.state.registers.gpr;
  const auto base = clock_.model()->base_ns(CLOCK_REALTIME);
  if (!base || gpr[kRsi] != 0 || gpr[kRdi] == 0) return refuse_clock(Reason::kClockRead);
  return show_time(*base, kPsPerNs * 1'000, gpr[kRdi], limits);
}

// Stores the seconds, and their fraction in units of `unit_ps`, of a clock that shows `base_ns` at virtual
// time 0.
bool SpinProver::show_time(std::int64_t base_ns, std::int64_t unit_ps, std::uint64_t to, const Limits& limits) {
  const std::int64_t ps = base_ns % kNsPerSecond * kPsPerNs + clock_.read(clock_.model()->gettime_ps);
  if (!show_seconds(base_ns / kNsPerSecond + ps / kPsPerSecond, ps, to)) return false;
  return show_part(to + 8, ps, unit_ps) && return_empty(0, limits);
}

// SYSCALL (Linux, x86-64): number in rax, arguments in rdi, rsi, rdx, r10, r8 and r9; rcx and r11 are
// destroyed.
bool SpinProver::call_kernel() {
  constexpr unsigned kPassed[] = {kRdi, kRsi, kRdx, kR10, kR8, kR9};
  MachineState& state = interpreter_.state;
  const Instruction* const in = code_.fetch(state.registers.rip, memory_);
  CHECK(in != nullptr);
  if (in->bytes[0] != 0x0f || in->bytes[1] != 0x05) return refuse_clock(Reason::kSystemCall);
  if (!is_fixed_argument(kRax, 8)) return false;
  const auto asks = [&](const KnownCall& known) {
    if (state.registers.gpr[kRax] != known.number) return false;
    for (unsigned i = 0; i < known.arguments; ++i) {
      if (state.registers.gpr[kPassed[i]] != known.passed[i]) return false;
    }
    return true;
  };
  const std::vector<KnownCall>& calls = clock_.model()->calls;
  const auto found = std::ranges::find_if(calls, asks);
  if (found == calls.end()) return refuse_clock(Reason::kSystemCall);
  const KnownCall& call = *found;
  for (unsigned i = 0; i < call.arguments; ++i) {
    if (!is_fixed_argument(kPassed[i], 8)) return false;
  }
  if (follows_growth_ && !growth_.may_read(call.address, call.bytes.size())) return refuse_clock(growth_.reason());
  for (std::size_t i = 0; i < call.bytes.size(); ++i) {
    std::uint64_t byte = 0;
    if (!memory_.load(call.address + i, 1, byte)) return refuse_clock(memory_.fault());
    if (byte != call.bytes[i]) return refuse_clock(Reason::kSystemCall);
  }
  clock_.pass(call.cost_ps);
  for (const unsigned index : {kRcx, kR11}) state.forget_gpr(index);
  if (follows_growth_) growth_.forget(1u << kRax | 1u << kRcx | 1u << kR11);
  state.registers.gpr[kRax] = call.result;
  state.known |= known_bits(kRax, 8);
  state.forget_flags(kArithmeticFlags);
  state.vectors = {};
  state.registers.rip = in->next;
  return true;
}

// RDTSC or RDTSCP.
bool SpinProver::read_counter() {
  MachineState& state = interpreter_.state;
  const Instruction* const in = code_.fetch(state.registers.rip, memory_);
  CHECK(in != nullptr);
  const bool with_processor = in->bytes[1] == 0x01 && in->bytes[2] == 0xf9;
  if (in->bytes[0] != 0x0f || (in->bytes[1] != 0x31 && !with_processor)) return refuse_clock(Reason::kClockRead);
  const ClockModel& model = *clock_.model();
  const std::int64_t ps = clock_.read(model.counter_ps);
  const auto counter = static_cast<std::uint64_t>(static_cast<unsigned __int128>(ps) * model.counter_hz / kPsPerSecond);
  const auto put = [&state](unsigned index, std::uint64_t value) {
    state.registers.gpr[index] = value;
    state.known |= known_bits(index, 8);
  };
  put(kRax, counter & 0xffff'ffff);
  put(kRdx, counter >> 32);
  if (with_processor) put(kRcx, 0);
  state.registers.rip = in->next;
  return !follows_growth_ || show_counter(counter, with_processor);
}

// Passes to growth_ how the counter in rax and rdx grows: by a constant step, or within bounds.
bool SpinProver::show_counter(std::uint64_t counter, bool with_processor) {
  const ClockModel& model = *clock_.model();
  constexpr std::uint64_t kMost = 0xffff'ffff;
  const auto grows = static_cast<unsigned __int128>(period_ps_) * model.counter_hz;
  const bool is_uneven = grows % kPsPerSecond != 0;
  if (is_uneven && !growth_.has_horizon()) return refuse_clock(Reason::kUnevenClock);
  const auto step = static_cast<std::uint64_t>(grows / kPsPerSecond);
  // The fractions of several turns may add up to one more unit.
  const __int128 most_step = static_cast<__int128>(step) + is_uneven;
  // Until the lower half overflows.
  growth_.keep_within(counter & kMost, most_step, 0, kMost);
  bool is_set = !with_processor || growth_.set_register(kRcx, 4, 0, 0, kMost);
  if (is_uneven) {
    const Range whole = growth_.bounds(static_cast<__int128>(counter), most_step);
    const Range high{whole.least >> 32, whole.most >> 32};
    const Range low = high.is_single() ? Range{whole.least & kMost, whole.most & kMost} : Range{0, kMost};
    is_set &= growth_.set_register(kRax, 4, low) && growth_.set_register(kRdx, 4, high);
  } else {
    is_set &= growth_.set_register(kRax, 4, counter & kMost, step, kMost) &&
              growth_.set_register(kRdx, 4, counter >> 32, 0, kMost);
  }
  return is_set || refuse_clock(growth_.reason());
}

}  // namespace verbatim::spin
