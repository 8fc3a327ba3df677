// Programs that end because the scenario says so: killed at a time, or in the background of others.
#include <signal.h>

#include "sim/supervisor/interval_timer.h"
#include "sim/supervisor/supervisor_impl.h"

namespace verbatim::supervisor {

// None of its threads runs now: all sleep until they get the token, so the process ends at this instant of
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
  kill(process.native_pid(), SIGKILL);
  end(process);
}

bool Supervisor::Impl::only_background_left() const {
  for (std::size_t i = 0; i < programs_->size(); ++i) {
    if (!(*programs_)[i].background && (!result_.programs[i].exited || program_alive(i))) return false;
  }
  return true;
}

void Supervisor::Impl::end_background() {
  if (background_told_ || !only_background_left()) return;
  background_told_ = true;
  for (const auto& process : processes_) {
    if (process->alive) send_signal(*process, SIGTERM);
  }
}

}  // namespace verbatim::supervisor
