// Creates Linux processes and their threads: first processes of programs, copies (fork), and programs that
// processes execute (exec). exec replaces the Linux process: the new program is launched like a first
// program, for the same memory layout in every run, and the old Linux process is killed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/region_headers.h"
#include "sim/supervisor/run_context.h"
#include "sim/supervisor/spec/program_spec.h"
#include "sim/supervisor/spec/run_result.h"
#include "sim/supervisor/tasks/request.h"
#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class Horizon;
class HostPaths;
class Kernel;
class MachineWatch;
class ParkingLot;
class ProcessLifetimes;
class ProcessList;
class ProgramCode;
class RunFiles;
class RunMemory;
class RunReport;
class Terminals;
class TokenKeeper;

class ProcessFactory {
 public:
  struct Parts {
    RunReport& report;
    ProcessList& processes;
    Horizon& events;
    Kernel& kernel;
    RunMemory& memory;
    RunFiles& files;
    ProgramCode& code;
    MachineWatch& watch;
    ParkingLot& lot;
    TokenKeeper& token;
    ProcessLifetimes& lifetimes;
    ThreadOwner& owner;  // of the threads of all processes
  };
  ProcessFactory(const RunContext& run, const Parts& parts);

  // Called once, when the run begins. Programs run on `core`.
  void begin(int core, bool reports_calls);
  void use(Terminals& terminals) { terminals_ = &terminals; }

  // Launches the first process of `spec`, a process of program `index`, and takes its requests; nullptr: it
  // cannot be launched, and the run is over.
  Process* launch(const ProgramSpec& spec, std::size_t index, std::uint32_t pid,
                  const std::string& random_stream);
  // The thread has made a copy of its process; adopts it. nullopt: the thread waits (vfork), or the run is
  // over.
  std::optional<Answer> fork(Thread& thread, const request::Forked& forked);
  // The thread's execve or execveat. nullopt: the process has been replaced, or the run is over.
  std::optional<Answer> execute(Thread& thread);
  // Uses the lowest free slot from `slot` on; nullptr: none is left.
  Thread* make_thread(Process& process, std::uint32_t slot = 0);

 private:
  // Descriptors at exec.
  struct Inherited {
    std::vector<int> closed;        // virtual descriptors that exec closes
    std::vector<int> placeholders;  // virtual descriptors that stay open
    // real descriptors that stay open: number in the process, and the simulator's duplicate
    std::vector<std::pair<int, int>> real;
  };
  Inherited inherited_by(Thread& thread);
  // Generates the inotify events of an exec of these files on the host.
  void show_execution(std::size_t host, const std::vector<std::string>& files);
  // Connects the memory and the region of a new process to this run.
  void adopt(Process& process);
  Process& adopt_copy(Thread& thread, const request::Forked& forked, std::unique_ptr<ProcessRegion> region);
  std::optional<Answer> hold(Thread& thread, Process& child);
  // Adds what every launch needs: CPUID table, AT_RANDOM bytes, patches.
  static NativeOf native_of_program(const HostPaths& paths);
  static int show_as(LaunchRequest& request, const HostPaths& paths, std::string seen,
                     std::vector<std::string>* executed);
  void equip(LaunchRequest& request, ProcessRegion& region, std::size_t host,
             const std::string& random_stream, code::CodePatches& patches);
  LaunchedProcess start(const LaunchRequest& request);
  // The process has been launched and is at its loader's first instructions; its first thread sends the first
  // request.
  void begin(Process& process, LaunchedProcess launched, std::unique_ptr<code::CodePatches> patches,
             const Scheduling& scheduling = {}, const Credentials& credentials = {});

  const RunContext& run_;
  const Parts parts_;
  RegionHeaders headers_;
  Terminals* terminals_ = nullptr;
  int core_ = 0;
  std::vector<std::vector<protocol::CpuidEntry>> processors_;  // by host: CPUID answers
};

}  // namespace verbatim::supervisor
