// Starts of programs: those of the scenario at their times, and those that programs or users start later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/supervisor/run_context.h"
#include "sim/supervisor/spec/program_spec.h"

namespace verbatim::supervisor {

class Kernel;
class ProcessFactory;
class ProcessLifetimes;
class ProcessList;
class RunFiles;
class RunReport;
class SliceHorizon;
class Thread;

class ProgramStarts {
 public:
  struct Parts {
    RunReport& report;
    ProcessList& processes;
    SliceHorizon& horizon;
    Kernel& kernel;
    RunFiles& files;
    ProcessFactory& factory;
    ProcessLifetimes& lifetimes;
  };
  ProgramStarts(const RunContext& run, const Parts& parts);
  ~ProgramStarts();

  // Schedules start, and kill by SIGKILL, of a program of the scenario; called in the order of the programs.
  void add(const ProgramSpec& spec);
  // Schedules a process of program `index` at spec.start.
  void add_later(ProgramSpec spec, std::size_t index);
  // Starts the remote half of `ssh`, which is launched on its host like a first process and connects back to
  // the requester (tools/remote). As ProcessTable::start_remote().
  int add_remote(Thread& asking, std::uint32_t address, std::uint16_t port);
  // The program has ended.
  void cancel_kill(std::size_t program);
  // True: a start is still to come.
  bool any_left() const { return left_ > 0; }

 private:
  struct Start;
  void start_program(std::size_t program);
  void start_later_process(Start& start);

  const RunContext& run_;
  const Parts parts_;
  std::vector<std::unique_ptr<Start>> starts_;  // those of the scenario's programs first, in their order
  std::size_t left_ = 0;
};

}  // namespace verbatim::supervisor
