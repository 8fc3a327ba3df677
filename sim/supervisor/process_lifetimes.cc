#include "sim/supervisor/process_lifetimes.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <string>

#include "sim/core/check.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/machine/input_stream.h"
#include "sim/supervisor/machine_watch.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/run_memory.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/tasks/interval_timer.h"
#include "sim/supervisor/tasks/signals.h"
#include "sim/supervisor/terminals.h"

namespace verbatim::supervisor {

namespace {

// A process's first thread stays a zombie while other threads run.
bool is_zombie(pid_t pid) {
  InputStream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "Z") == 0;
}

}  // namespace

void ProcessLifetimes::end_thread(Thread& thread) {
  Process& process = thread.process();
  const pid_t native_tid = thread.native.tid;
  constexpr int kTries = 100'000;
  for (int i = 0; i < kTries && syscall(SYS_tgkill, process.native_pid(), native_tid, 0) == 0; ++i) {
    if (native_tid == process.native_pid() && is_zombie(native_tid)) break;
    i < 1000 ? sched_yield() : usleep(100);
  }
  thread.die();
  leave_children(thread);
  // Memory is accessed through a live thread's id.
  if (process.memory().reached_through() == native_tid) {
    for (const auto& other : process.threads()) {
      if (other->state() == Thread::State::kDead) continue;
      process.memory().reach_through(other->native.tid);
      break;
    }
  }
  parts_.kernel.thread_ended(thread);
}

// kSupervisor: this class ends every slice before its time, on every host.
ProcessLifetimes::ProcessLifetimes(const RunContext& run, const Parts& parts, Duration slice_lead)
    : run_(run),
      parts_(parts),
      slice_lead_(slice_lead),
      background_end_(Timer::of<&ProcessLifetimes::on_background_time>(run.engine, run.hosts.front().component,
                                                                       EventClass::kSupervisor, this)) {}

void ProcessLifetimes::end(Process& process) {
  RunReport& report = parts_.report;
  reap(process);
  const int status = process.exit_status;
  run_.tracer.record(process.host().component, TraceEvent::kProgramExited, process.pid(),
                     static_cast<std::uint64_t>(WIFEXITED(status) ? WEXITSTATUS(status) : 0),
                     static_cast<std::uint64_t>(WIFSIGNALED(status) ? WTERMSIG(status) : 0));
  if (!parts_.processes.is_program_alive(process.program())) {
    report.program_ended(process.program());
    on_program_end_(process.program());
  }
  if (!report.is_finished()) end_family(process, status);
  if (!report.is_finished() && terminals_ != nullptr) {
    parts_.kernel.end_session(process);
    if (terminals_->note_end(process)) report.finish();
  }
  end_background();
  if (background_end_.scheduled() && !parts_.processes.any_alive()) background_end_.cancel();
}

void ProcessLifetimes::reap(Process& process) {
  if (!process.alive) return;
  RunReport& report = parts_.report;
  parts_.processes.end(process);
  const int status = await_status(process.native_pid());
  process.exit_status = status;
  parts_.watch.check_end_was_simulated(process, status);
  for (auto& thread : process.threads()) thread->die();
  parts_.kernel.release(process);
  // of files that Linux closed at its end
  if (!report.is_finished()) parts_.kernel.deliver_file_events(process.host_index());
  if (!process.family().first_of_program) return;
  ProgramResult& result = report.result().programs[process.program()];
  result.exited = !report.is_finished();
  result.ended = run_.engine.now();
  // An exit status exists only if the simulator did not end the process.
  if (result.exited && WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (result.exited && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
}

void ProcessLifetimes::kill(Process& process) {
  parts_.kernel.release_robust_locks(process);
  process.ended_by_us = true;
  process.devices().keep_memory();
  CHECK(process.native_pid() > 0);  // -1 and 0 name other processes
  ::kill(process.native_pid(), SIGKILL);
  end(process);
}

void ProcessLifetimes::kill_program(std::size_t program) {
  const auto& all = parts_.processes.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Process& process = *all[i];
    if (process.program() == program && process.alive) kill(process);
  }
}

void ProcessLifetimes::kill_corrupt(Process& process) {
  parts_.report.warn(process, "overwrote the memory that it shares with the simulator, and was ended");
  kill(process);
}

void ProcessLifetimes::kill_all() {
  parts_.memory.write_behind().flush();
  for (auto& process : parts_.processes.all()) {
    // An exception has ended a start: there is no process yet, and kill(-1) would signal every process of the user.
    if (process->alive && process->native_pid() > 0) ::kill(process->native_pid(), SIGKILL);
  }
  for (auto& process : parts_.processes.all()) {
    if (!process->alive || process->native_pid() <= 0) continue;
    parts_.report.finish();
    reap(*process);
  }
}

void ProcessLifetimes::end_background() {
  if (background_ != Background::kNeeded || !parts_.processes.is_foreground_over()) return;
  background_ = Background::kAwaitsTerm;
  if (parts_.processes.any_alive()) background_end_.schedule_after(slice_lead_);
}

void ProcessLifetimes::on_background_time() {
  const auto& all = parts_.processes.all();
  if (background_ == Background::kAwaitsTerm) {
    background_ = Background::kAwaitsKill;
    background_end_.schedule_after(kBackgroundGrace);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->alive) send_signal(*all[i], SIGTERM);
    }
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Process& process = *all[i];
    if (!process.alive) continue;
    parts_.report.warn(process, fmt::format("has not ended {} s of virtual time after SIGTERM, and was ended by SIGKILL",
                                            kBackgroundGrace / std::chrono::seconds(1)));
    kill(process);
  }
}

void ProcessLifetimes::signal(Process& process, int signal, const SignalOrigin& origin) {
  if (signal == SIGKILL) return kill(process);
  if (stops(process, signal))
    return parts_.kernel.may_be_stopped(process, signal) ? stop(process, signal) : void();
  if (signal == SIGCONT) go_on(process);
  send_signal(process, signal, origin);
}

// The process's threads make no calls until it is continued; requests that they have posted
// to an adapter go on.
void ProcessLifetimes::stop(Process& process, int signal) {
  if (process.stopped_by != 0) return;
  process.stopped_by = signal;
  // the next look of a parked thread is postponed until SIGCONT
  for (auto& thread : process.threads()) thread->unpark();
  notify_parent(process, W_STOPCODE(signal));
}

void ProcessLifetimes::go_on(Process& process) {
  if (process.stopped_by == 0) return;
  process.stopped_by = 0;
  const Duration wake_up(process.host().costs.wake_up_ps);
  for (auto& thread : process.threads()) thread->go_on(run_.engine.now() + wake_up);
  notify_parent(process, __W_CONTINUED);
}

// Reports a stop or a continuation to the parent, for wait(2) and by SIGCHLD unless it set SA_NOCLDSTOP.
void ProcessLifetimes::notify_parent(Process& process, int status) {
  Process* const parent = parts_.processes.parent_of(process);
  if (parent == nullptr) return;
  auto& changed = parent->family().changed;
  std::erase_if(changed, [&](const EndedChild& child) { return child.pid == process.pid(); });
  changed.push_back({.pid = process.pid(),
                     .group = process.family().group,
                     .status = status,
                     .user = process.credentials().users().real});
  parent->family().children->changed();
  if (parent->region().header().silent_stops != 0) return;
  send_signal(*parent, SIGCHLD, origin_of_child(process.pid(), status, process.credentials().users().real));
}

void ProcessLifetimes::release_parent(Process& child) {
  if (!child.family().holds_parent) return;
  child.family().holds_parent = false;
  child.family().released->changed();
}

namespace {

// The thread of a process that becomes the parent of another thread's children.
std::uint32_t first_living_thread(Process& process) {
  for (const auto& thread : process.threads()) {
    if (thread->state() != Thread::State::kDead) return thread->tid();
  }
  return 0;
}

}  // namespace

std::vector<Process*> ProcessLifetimes::children_of(Process& process, std::uint32_t thread) {
  std::vector<Process*> children;
  for (Process* const other : parts_.processes.on_host(process.host_index())) {
    const Family& family = other->family();
    if (!other->alive || family.parent != process.pid()) continue;
    if (thread == 0 || family.parent_thread == thread) children.push_back(other);
  }
  return children;
}

void ProcessLifetimes::send_death_signals(Process& parent, const std::vector<Process*>& children) {
  for (Process* const child : children) {
    const int number = child->family().death_signal;
    if (number != 0 && child->alive)
      signal(*child, number, {.code = SI_USER, .sender = parent.pid(), .user = parent.credentials().users().real});
  }
}

// Another thread of the process becomes the children's parent.
void ProcessLifetimes::leave_children(Thread& thread) {
  Process& process = thread.process();
  const std::vector<Process*> children = children_of(process, thread.tid());
  for (Process* const child : children) child->family().parent_thread = first_living_thread(process);
  send_death_signals(process, children);
}

// The nearest ancestor that has called prctl(PR_SET_CHILD_SUBREAPER); nullptr: init.
Process* ProcessLifetimes::subreaper_of(Process& process) {
  Process* ancestor = parts_.processes.parent_of(process);
  while (ancestor != nullptr && !ancestor->family().is_subreaper) ancestor = parts_.processes.parent_of(*ancestor);
  return ancestor;
}

// A child that has ended becomes waitable.
void ProcessLifetimes::report_end(Process& parent, const EndedChild& child) {
  const bool is_discarded =
      parent.disposition(SIGCHLD) == protocol::kSignalIgnored || parent.region().header().discards_children != 0;
  if (!is_discarded) parent.family().ended.push_back(child);
  parent.family().children->changed();
  send_signal(parent, SIGCHLD, origin_of_child(child.pid, child.status, child.user));
}

// Live and ended children get another parent.
void ProcessLifetimes::leave_orphans(Process& process) {
  Process* const reaper = subreaper_of(process);
  const std::uint32_t parent = reaper == nullptr ? Family::kInit : reaper->pid();
  const std::vector<Process*> children = children_of(process, 0);
  for (Process* const child : children) {
    child->family().parent = parent;
    child->family().parent_thread = reaper == nullptr ? 0 : first_living_thread(*reaper);
    child->region().header().parent_virtual_pid = parent;
  }
  for (const EndedChild& ended : std::exchange(process.family().ended, {})) {
    if (reaper != nullptr) report_end(*reaper, ended);
  }
  process.family().changed.clear();
  send_death_signals(process, children);
}

// The process has ended; `status` is a wait status of wait(2).
void ProcessLifetimes::end_family(Process& process, int status) {
  release_parent(process);
  Family& family = process.family();
  leave_orphans(process);
  for (const std::weak_ptr<ProcessFile>& opened : std::exchange(family.files, {})) {
    if (const std::shared_ptr<ProcessFile> file = opened.lock()) file->end();
  }
  Process* const parent = parts_.processes.parent_of(process);
  if (parent == nullptr) return;
  std::erase_if(parent->family().changed,
                [&](const EndedChild& child) { return child.pid == process.pid(); });
  report_end(*parent, {.pid = process.pid(),
                       .group = family.group,
                       .status = status,
                       .user = process.credentials().users().real,
                       .session = family.session,
                       .has_executed = process.executions() > 0,
                       .name = process.name()});
}

}  // namespace verbatim::supervisor
