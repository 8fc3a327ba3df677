// A program that waits for a time by reading a clock repeatedly. The code between two reads is interpreted,
// which saves the transfer of the token for each read.
#include <algorithm>

#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

namespace {

// Callee-saved registers, and the arguments of clock_gettime and gettimeofday.
constexpr unsigned kKnownAtEntry[] = {kRbx, kRsp, kRbp, kR12, kR13, kR14, kR15, kRdi, kRsi};

}  // namespace

// Steps to the entry of the same function, called from the same place with the same arguments.
bool SpinProver::step_to_read(const Registers& at_entry, std::uint64_t return_address, const Limits& limits) {
  while (step(limits)) {
  }
  const MachineState& now = interpreter_.state;
  const auto& gpr = now.registers.gpr;
  if (own_stop_.reason != Reason::kLibraryCall || now.registers.rip != at_entry.rip) return false;
  const bool is_known = std::ranges::all_of(
      kKnownAtEntry, [&now](unsigned index) { return (known_bits(index, 8) & ~now.known) == 0; });
  if (!is_known || gpr[kRsp] != at_entry.gpr[kRsp]) return false;
  std::uint64_t returns_to = 0;
  return gpr[kRdi] == at_entry.gpr[kRdi] && gpr[kRsi] == at_entry.gpr[kRsi] && memory_.load(gpr[kRsp], 8, returns_to) &&
         returns_to == return_address;
}

void SpinProver::begin_row(const Registers& at_entry, CodeMemory& memory, const Limits& limits) {
  clock_.begin(nullptr);
  follows_growth_ = false;
  begin(at_entry, memory, limits);
  interpreter_.allows_floating = false;
  interpreter_.state.vectors = {};
  interpreter_.state.forget_flags(kArithmeticFlags);
  memory_.begin_tracking();
  memory_.note_recent();
}

ClockStep SpinProver::step_in_row(const Limits& limits, const ClockModel& model, std::int64_t row_began_ps) {
  ClockStep taken;
  const Registers at_entry = interpreter_.state.registers;
  clock_.begin_in_row(&model, row_began_ps);
  steps_ = 0;
  std::uint64_t return_address = 0;
  const std::uint64_t stack_pointer = at_entry.gpr[kRsp];
  if (!memory_.load(stack_pointer, 8, return_address)) return taken;
  own_stop_ = {Reason::kLibraryCall, at_entry.rip, ""};
  if (!pass_clock(limits) || !step_to_read(at_entry, return_address, limits)) return taken;
  for (ByteRun& run : memory_.take_recent_writes()) {
    const std::uint64_t end = run.address + run.bytes.size();
    // Bytes below the stack pointer belong to frames of the clock function and are dropped.
    if (run.address < stack_pointer && end > stack_pointer - limits.poll_stack) {
      if (end <= stack_pointer) continue;
      run.bytes.erase(0, stack_pointer - run.address);
      run.address = stack_pointer;
    }
    if (run.address < stack_pointer || end > stack_pointer + kRowStack) return taken;
    taken.writes.push_back(std::move(run));
  }
  taken.goes_on = true;
  taken.at_entry = interpreter_.state.registers;
  taken.cost_ps = clock_.next_cost_ps();
  return taken;
}

}  // namespace verbatim::spin
