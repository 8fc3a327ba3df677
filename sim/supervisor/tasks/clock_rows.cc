// Series of clock reads that are interpreted instead of executed: code from one read to the next
// (sim/supervisor/spin/clock_row.cc).
#include <algorithm>
#include <utility>

#include "sim/supervisor/tasks/analysed_memory.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {
constexpr unsigned kRowSteps = 1000;  // instructions between two reads
}  // namespace

std::optional<spin::ClockStep> LoopAnalyst::follow_clock(const Thread& thread, const spin::Registers& at_entry, Instant now,
                                                         Instant row_began) {
  if (row_.thread != &thread || row_.epoch != process_.memory().epoch()) {
    write_followed();
    if (follower_ == nullptr) follower_ = std::make_unique<spin::SpinProver>();
    row_.is_stepping = true;
    follower_->begin_row(at_entry, *code_, limits_within(kRowSteps));
    row_.thread = &thread;
  }
  row_.is_stepping = true;
  // clock_model() needs the function's address if it is clock_gettime. It is, unless it is gettimeofday.
  const bool is_gettime = at_entry.rip != process_.region().header().timeofday_function;
  spin::ClockModel model = clock_model(0, is_gettime ? at_entry.rip : 0, now, {});
  model.yield = model.time = 0;
  spin::ClockStep step = follower_->step_in_row(limits_within(kRowSteps), model, to_ps(row_began));
  row_.is_stepping = false;
  if (!step.goes_on) {
    write_followed();
    return std::nullopt;
  }
  ++counts_.clock_reads;
  for (spin::ByteRun& run : step.writes) {
    // Keeps the latest bytes of each run only.
    std::erase_if(row_.unwritten, [&run](const spin::ByteRun& before) {
      return before.address == run.address && before.bytes.size() == run.bytes.size();
    });
    row_.unwritten.push_back(std::move(run));
  }
  row_.epoch = process_.memory().epoch();
  if (!may_write_later(at_entry.gpr[spin::kRsp])) write_followed();
  return step;
}

// True if the process has one thread and its stack is private. A later write is then invisible: all other
// readers use ProcessMemory.
bool LoopAnalyst::may_write_later(std::uint64_t stack_pointer) {
  const auto lives = [](const auto& thread) { return thread->state() != Thread::State::kDead; };
  if (std::ranges::count_if(process_.threads(), lives) != 1) return false;
  if (private_stack_ != stack_pointer) {
    if (!process_.memory().is_private(stack_pointer, 1)) return false;
    private_stack_ = stack_pointer;
  }
  return true;
}

void LoopAnalyst::write_followed() {
  if (row_.is_stepping || row_.thread == nullptr) return;
  row_.thread = nullptr;
  follower_->end_row();
  for (const spin::ByteRun& run : std::exchange(row_.unwritten, {}))
    process_.memory().write_later(run.address, std::as_bytes(std::span(run.bytes)));
}

bool LoopAnalyst::may_follow_clock(std::uint64_t place) {
  const auto found = clock_places_.find(place);
  if (found == clock_places_.end() || found->second.to_skip == 0) return true;
  --found->second.to_skip;
  return false;
}

void LoopAnalyst::note_followed(std::uint64_t place, bool in_vain) {
  constexpr std::size_t kMostPlaces = 256;
  constexpr unsigned kMostShift = 10;
  if (!in_vain) return void(clock_places_.erase(place));
  if (clock_places_.size() >= kMostPlaces) clock_places_.clear();
  ClockPlace& known = clock_places_[place];
  known.to_skip = 1u << std::min(known.vain++, kMostShift);
}

}  // namespace verbatim::supervisor
