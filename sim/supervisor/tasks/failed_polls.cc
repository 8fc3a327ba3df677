// Use of undefined completion fields: the code after a poll that returns failed completions is interpreted
// before it runs.
#include <algorithm>
#include <bit>
#include <vector>

#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kCompletionSize = 48;  // sizeof(ibv_wc)
constexpr std::size_t kMostCompletions = 4;    // that are examined
constexpr unsigned kSteps = 4000;

std::vector<spin::MemoryRange> undefined_fields(std::uint64_t completion) {
  std::vector<spin::MemoryRange> fields;
  for (const protocol::UndefinedField& field : protocol::kUndefinedFields)
    fields.push_back({completion + field.offset, field.size});
  return fields;
}

}  // namespace

std::int64_t LoopAnalyst::use_of_failed(const request::FailedPoll& poll, const protocol::ThreadSlot& slot) {
  write_followed();
  ProcessMemory& memory = process_.memory();
  spin::Registers registers;
  std::copy_n(slot.poll_registers, 16, registers.gpr.begin());
  std::uint64_t& stack = registers.gpr[spin::kRsp];
  const auto return_address = memory.load<std::uint64_t>(stack);
  if (!return_address) return 0;
  // Callee-saved registers are read from the frame of the call, where skipped turns have updated them.
  for (std::size_t i = 0; i < std::size(protocol::kPollFrame); ++i) {
    const auto kept = memory.load<std::uint64_t>(stack - 8 * (i + 1));
    if (!kept) return 0;
    registers.gpr[protocol::kPollFrame[i]] = *kept;
  }
  registers.rip = *return_address;
  registers.fs_base = slot.poll_registers[17];
  registers.gpr[spin::kRax] = static_cast<std::uint64_t>(poll.count);
  stack += 8;
  const auto code = process_.memory().mapping_at(registers.rip);
  if (!code) return 0;
  std::vector<spin::MemoryRange> fields;
  std::vector<std::uint64_t> completions;  // indices in the array of the poll
  for (std::uint64_t left = poll.failed; left != 0; left &= left - 1) {
    if (completions.size() == kMostCompletions) break;
    completions.push_back(static_cast<std::uint64_t>(std::countr_zero(left)));
    const auto of_one = undefined_fields(poll.completions + kCompletionSize * completions.back());
    fields.insert(fields.end(), of_one.begin(), of_one.end());
  }
  spin::Limits limits;
  limits.steps = kSteps;
  const auto use = prover_.find_use(registers, code_memory(), limits, {code->begin, code->end - code->begin}, fields);
  if (!use) return 0;
  constexpr std::size_t kFields = std::size(protocol::kUndefinedFields);
  const protocol::FieldUseAnswer answer{use->rip, use->field % kFields, completions[use->field / kFields]};
  return std::bit_cast<std::int64_t>(answer);
}

}  // namespace verbatim::supervisor
