#include "sim/supervisor/thread_runner.h"

#include <sys/syscall.h>

#include <algorithm>

#include "sim/supervisor/call_places.h"
#include "sim/supervisor/clock_follower.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine_watch.h"
#include "sim/supervisor/parking_lot.h"
#include "sim/supervisor/process_factory.h"
#include "sim/supervisor/process_lifetimes.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/program_code.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/token_keeper.h"
#include "sim/supervisor/vfork_memory.h"

namespace verbatim::supervisor {

namespace {

// `cost`: duration of the call that rings the doorbell.
void ring_at_adapter(Process& process, const request::Doorbell& doorbell, Duration cost) {
  DeviceContext* const context = process.devices().find_own(doorbell.context);
  if (context == nullptr) return;
  context->hca().ring_doorbell(context->handle(), doorbell.kind, doorbell.number, doorbell.value, cost);
}

}  // namespace

void ThreadRunner::on_due(Thread& thread) {
  Process& process = thread.process();
  thread.early_records.emit_due();
  if (parts_.token.take_dead_holder(thread)) return parts_.lifetimes.end(process);
  // the number of turns that were proven is reached
  if (thread.state() == Thread::State::kParked) return thread.end_turns();
  const Instant runs_at = parts_.processes.stalls().end_of(process.host_index(), run_.engine.now());
  if (runs_at > run_.engine.now()) return thread.postpone(runs_at);
  if (process.stopped_by != 0) return thread.hold(std::nullopt);
  parts_.token.catch_up_parked_siblings(thread);
  if (!process.alive || parts_.report.is_finished()) return;
  if (!thread.clock_row) show_growth(process);  // a followed clock read does not run the thread yet
  if (const auto answer = thread.take_held_answer()) return parts_.token.resume(thread, *answer);
  parts_.places.report_lateness(thread, run_.engine.now());
  // A copy: the thread's next request replaces it.
  const request::Timed asked = thread.request();
  std::visit([&](const auto& request) { handle(thread, request); }, asked);
}

void ThreadRunner::ring(Thread& thread, const protocol::QueuedDoorbell& doorbell) {
  const request::Doorbell rung{
      .kind = doorbell.kind, .context = doorbell.context, .number = doorbell.number, .value = doorbell.value};
  ring_at_adapter(thread.process(), rung, Duration(doorbell.cost_ps));
}

void ThreadRunner::resume_with(Thread& thread, const std::optional<Answer>& answer) {
  if (answer) parts_.token.resume(thread, *answer);
}

void ThreadRunner::handle(Thread& thread, std::monostate) { parts_.lifetimes.kill_corrupt(thread.process()); }

void ThreadRunner::handle(Thread& thread, const request::Attach& attach) {
  thread.process().attached = true;
  parts_.token.resume(thread, {.result = parts_.code.place_accesses(thread, attach)});
}

void ThreadRunner::handle(Thread& thread, const request::Spend& spend) {
  if (spend.reads_clock && parts_.clocks.follow(thread, spend)) return;
  parts_.token.resume(thread, {});
}

void ThreadRunner::handle(Thread& thread, const request::Poll& poll) {
  if (const auto turn = thread.parking.take_turn()) return parts_.token.finish_turn(thread, *turn);
  resume_with(thread, parts_.lot.park_poll(thread, poll));
}

void ThreadRunner::handle(Thread& thread, const request::Poke&) { parts_.token.resume(thread, {}); }

void ThreadRunner::handle(Thread& thread, const request::Doorbell& doorbell) {
  const Duration since_start = run_.engine.now() - Instant{};
  ring_at_adapter(thread.process(), doorbell, std::min(request::modelled_cost(doorbell.cost), since_start));
  parts_.token.resume(thread, {});
}

void ThreadRunner::handle(Thread& thread, const request::Access& access) {
  parts_.token.resume(thread, {.result = parts_.code.load_behind_store(thread, access)});
}

void ThreadRunner::handle(Thread& thread, const request::Command&) {
  resume_with(thread, parts_.kernel.command(thread));
}

void ThreadRunner::handle(Thread& thread, const request::SystemCall& call) {
  if (call.number == SYS_execve || call.number == SYS_execveat)
    return resume_with(thread, parts_.factory.execute(thread));
  Process& process = thread.process();
  if (call.number == SYS_exit_group || call.number == SYS_exit) {
    parts_.watch.note_memory_near_limit(process);
    return_memory(process, parts_.processes);
  }
  const Kernel::Outcome answer = parts_.kernel.execute(thread);
  if (process.alive) resume_with(thread, answer);
}

void ThreadRunner::handle(Thread& thread, const request::RefusedCall&) {
  parts_.token.resume(thread, parts_.kernel.refuse(thread));
}

void ThreadRunner::handle(Thread& thread, const request::Forked& forked) {
  resume_with(thread, parts_.factory.fork(thread, forked));
}

void ThreadRunner::handle(Thread& thread, const request::Fault& fault) {
  parts_.kernel.release_robust_locks(thread.process());
  parts_.watch.warn_of_fault(thread, fault);
  parts_.token.resume(thread, {});
}

}  // namespace verbatim::supervisor
