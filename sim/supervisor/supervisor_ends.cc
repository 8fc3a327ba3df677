// Starts of processes, and programs that the scenario ends: at a kill time, or as background programs.
#include <signal.h>

#include "sim/supervisor/tasks/interval_timer.h"
#include "sim/supervisor/supervisor_impl.h"

namespace verbatim::supervisor {

// No thread of the program runs now: all sleep until they get the token. The process therefore ends at this
// virtual time, between two of its calls.
void Supervisor::Impl::kill_program(std::size_t program) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    Process& process = *processes_[i];
    if (process.program() == program && process.alive) kill_process(process);
  }
}

void Supervisor::Impl::kill_process(Process& process) {
  kernel_.release_robust_locks(process);
  process.ended_by_us = true;
  process.keep_registered_memory();
  kill(process.native_pid(), SIGKILL);
  end(process);
}

LaunchedProcess Supervisor::Impl::start_process(const LaunchRequest& request) {
  write_behind_.flush();
  if (options_.launcher) return options_.launcher(request);
  return options_.run_after_run != nullptr ? options_.run_after_run->zygotes().launch(request) : launch(request);
}

Process& Supervisor::Impl::add_process(std::unique_ptr<Process> process) {
  ++living_.at(process->program());
  ++living_in_all_;
  on_host_[process->host_index()].push_back(process.get());
  processes_.push_back(std::move(process));
  return *processes_.back();
}

// Called once per process. A program without a live process has ended: only its live processes
// could create new ones.
void Supervisor::Impl::count_end(const Process& process) {
  --living_in_all_;
  if (--living_.at(process.program()) == 0 && !(*programs_)[process.program()].background) --foreground_left_;
}

void Supervisor::Impl::end_background() {
  if (background_terminated_ || foreground_left_ > 0) return;
  background_terminated_ = true;
  for (const auto& process : processes_) {
    if (process->alive) send_signal(*process, SIGTERM);
  }
}

}  // namespace verbatim::supervisor
