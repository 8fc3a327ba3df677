#include "sim/supervisor/clock_follower.h"

#include <algorithm>

#include "sim/supervisor/parking_lot.h"
#include "sim/supervisor/slice_horizon.h"
#include "sim/supervisor/tasks/parking.h"

namespace verbatim::supervisor {

bool ClockFollower::follow(Thread& thread, const request::Spend& read) {
  Process& process = thread.process();
  const Instant now = run_.engine.now();
  LoopAnalyst& analyst = lot_.analyst_of(process);
  const bool is_first = !thread.clock_row;
  if (is_first) {
    analyst.write_followed();
    const auto& saved = process.region().slot(thread.slot()).poll_registers;
    Thread::ClockRow& row = *(thread.clock_row = Thread::ClockRow{});
    row.began = std::clamp(read.row_began, Instant{}, now);
    std::copy_n(saved, row.at_entry.gpr.size(), row.at_entry.gpr.begin());
    row.at_entry.rip = saved[16];
    row.at_entry.fs_base = saved[17];
  }
  Thread::ClockRow& row = *thread.clock_row;
  const std::uint64_t place = row.at_entry.rip ^ row.at_entry.gpr[spin::kRsp] << 20;
  std::optional<spin::ClockStep> step;
  constexpr unsigned kReadsBetweenLooks = 16;
  const bool is_alone = row.followed % kReadsBetweenLooks == 0 && horizon_.is_distant(process);
  if (is_alone) analyst.write_followed();
  const bool may_follow = run_.options.mode == Mode::kSlices && !is_alone && !thread.signals.has_deliverable();
  if (may_follow && (!is_first || analyst.may_follow_clock(place))) {
    if (is_first) thread.brought_lines.use(process.region().mailbox(thread.slot()), process.memory());
    step = analyst.follow_clock(thread, row.at_entry, now, row.began);
    if (is_first) thread.brought_lines.ask_for(process.memory(), process.region().slot(thread.slot()));
    if (is_first || !step) analyst.note_followed(place, !step && row.followed == 0);
  }
  if (!step) {
    show_growth(process);
    if (row.followed != 0) show_kept_registers(process, process.region().slot(thread.slot()), row.at_entry);
    thread.clock_row.reset();
    return false;
  }
  row.at_entry = step->at_entry;
  ++row.followed;
  thread.run_at(now + Duration(step->cost_ps));
  return true;
}

}  // namespace verbatim::supervisor
