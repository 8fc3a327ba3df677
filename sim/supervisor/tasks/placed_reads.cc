// Reads of a spinning thread in bytes that an adapter has placed: the code after the loop is interpreted
// before the thread resumes.
#include "sim/supervisor/tasks/analysed_memory.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/tasks/vector_context.h"

namespace verbatim::supervisor {

namespace {
constexpr unsigned kReadSteps = 4000;
constexpr unsigned kMostReadTries = 8;  // for one loop
}  // namespace

std::uint64_t LoopAnalyst::read_beside(std::uint64_t context_address, std::uint64_t fs_base, const Parked& parked,
                                       const spin::MemoryRange& placed) {
  if (placed_reads_tried_[parked.code]++ >= kMostReadTries) return 0;
  write_followed();
  const auto saved = SavedContext::read(process_.memory(), context_address);
  if (!saved) return 0;
  const spin::Registers registers = spin::from_context(saved->general, fs_base);
  const auto code = process_.memory().mapping_at(registers.rip);
  if (!code) return 0;
  const VectorContext vectors(process_.memory(), saved->floating);
  spin::Limits limits;
  limits.steps = kReadSteps;
  const auto read = prover_.find_read(registers, vectors.registers(), code_memory(), limits,
                                      {code->begin, code->end - code->begin}, placed, parked.watched);
  if (!read) return 0;
  placed_reads_tried_[parked.code] = kMostReadTries;
  return *read;
}

}  // namespace verbatim::supervisor
