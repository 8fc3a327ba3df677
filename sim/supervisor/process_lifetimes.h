// Ends, stops and continuations of processes, and their effects on relatives and on programs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sim/core/engine.h"
#include "sim/supervisor/run_context.h"

namespace verbatim::supervisor {

struct EndedChild;
class Kernel;
class MachineWatch;
class Process;
class ProcessList;
class RunMemory;
class RunReport;
class Terminals;
class Thread;
struct SignalOrigin;

// Virtual time from SIGTERM to SIGKILL for background programs.
inline constexpr Duration kBackgroundGrace = std::chrono::seconds(10);

class ProcessLifetimes {
 public:
  struct Parts {
    RunReport& report;
    ProcessList& processes;
    Kernel& kernel;
    MachineWatch& watch;
    RunMemory& memory;
  };
  // `slice_lead`: Horizon::furthest_lead().
  ProcessLifetimes(const RunContext& run, const Parts& parts, Duration slice_lead);

  // Programs have terminals with a user: the end of the last session leader ends the run.
  void use(Terminals& terminals) { terminals_ = &terminals; }
  // `listener` is called when the last process of a program has ended.
  void report_program_ends_to(std::function<void(std::size_t program)> listener) {
    on_program_end_ = std::move(listener);
  }

  // The Linux process has ended, or is about to. No thread of it runs: all sleep until they get the token.
  void end(Process& process);
  // Ends a process, or all processes of a program, at this virtual time, between two of its calls.
  void kill(Process& process);
  void kill_program(std::size_t program);
  // The program's requests make no sense, so none of its data can be relied on. Other programs continue.
  void kill_corrupt(Process& process);
  // Ends the run and every process.
  void kill_all();
  // The thread is at its last instructions: no other thread runs before the Linux kernel has removed it.
  void end_thread(Thread& thread);

  // Sends the signal as kill(2) does. The process may end at once.
  void signal(Process& process, int signal, const SignalOrigin& origin);
  // `child` of vfork has executed a program or ended: its parent continues.
  static void release_parent(Process& child);

 private:
  void reap(Process& process);
  void end_family(Process& process, int status);
  // Live children of the process, or of one of its threads (not 0).
  std::vector<Process*> children_of(Process& process, std::uint32_t thread);
  void send_death_signals(Process& parent, const std::vector<Process*>& children);
  void leave_children(Thread& thread);
  void leave_orphans(Process& process);
  Process* subreaper_of(Process& process);
  static void report_end(Process& parent, const EndedChild& child);
  void stop(Process& process, int signal);
  void go_on(Process& process);
  void notify_parent(Process& process, int status);
  // All other programs have ended: background programs get SIGTERM slice_lead_ later, and SIGKILL kBackgroundGrace after
  // that. Threads of other hosts may have been executed up to slice_lead_ ahead of now.
  void end_background();
  void on_background_time();

  const RunContext& run_;
  const Parts parts_;
  Terminals* terminals_ = nullptr;
  std::function<void(std::size_t)> on_program_end_;
  const Duration slice_lead_;
  enum class Background : std::uint8_t { kNeeded, kAwaitsTerm, kAwaitsKill } background_ = Background::kNeeded;
  Timer background_end_;
};

}  // namespace verbatim::supervisor
