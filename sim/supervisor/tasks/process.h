// One Linux process of the simulation: its memory, descriptors, threads and opened devices.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/core/rng.h"
#include "sim/supervisor/code/code_patches.h"
#include "sim/supervisor/tasks/family.h"
#include "sim/supervisor/machine/host_paths.h"
#include "sim/supervisor/machine/process_memory.h"
#include "sim/supervisor/machine/process_region.h"
#include "sim/supervisor/spec/resource_limits.h"
#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/tasks/open_devices.h"
#include "sim/supervisor/tasks/open_files.h"
#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class IntervalTimer;
class LoopAnalyst;
class PosixTimer;

class Process {
 public:
  Process(std::size_t program, std::uint32_t pid, const HostSpec& host, std::size_t host_index,
          std::string name, Rng random, std::unique_ptr<ProcessRegion> region);
  ~Process();

  std::size_t program() const { return program_; }
  std::uint32_t pid() const { return pid_; }
  const HostSpec& host() const { return host_; }
  std::size_t host_index() const { return host_index_; }
  const std::string& name() const { return name_; }
  ProcessRegion& region() { return *region_; }
  Family& family() { return family_; }
  ProcessMemory& memory() { return *memory_; }
  Rng& random() { return random_; }

  pid_t native_pid() const { return native_pid_; }
  void set_native_pid(pid_t pid);

  std::vector<std::unique_ptr<Thread>>& threads() { return threads_; }
  // A thread under creation, whose native id is still unknown.
  Thread* thread_in_making = nullptr;

  // exec: the process gets a new region and a new Linux process, and has no thread yet. Its devices are
  // closed.
  void replace(std::string name, std::unique_ptr<ProcessRegion> region, pid_t pid);
  // Releases region, threads and devices after the end, when no thread is making a request. Data that can
  // still be queried remains.
  void retire();
  // Number of programs it has executed by exec.
  unsigned executions() const { return executions_; }

  OpenFiles& files() { return files_; }
  const OpenFiles& files() const { return files_; }

  ResourceLimits limits;
  // Passes the limits to the shim and to the machine's kernel.
  void enforce_limits();

  // The native thread whose /proc entries are read for the process. The entries change only while the process
  // runs.
  void set_calling_thread(pid_t native_tid) { calling_tid_ = native_tid; }
  pid_t calling_thread() const { return calling_tid_; }
  // Credentials of the thread whose call is answered, or else of the first thread.
  const Credentials& credentials() const;
  // Native path of `path`, relative to `directory_fd` (AT_FDCWD: the working directory). Empty: the simulator
  // provides the file.
  std::string native_path(int directory_fd, const std::string& path) const;
  // True if a file with this native path may be created for the program.
  bool may_make(const std::string& native) const { return paths_ == nullptr || paths_->may_make(native); }
  // Paths of the host's files; must outlive the process.
  void set_paths(const HostPaths& paths) { paths_ = &paths; }
  // Contents of /proc/PID/environ (each NAME=value is followed by a zero byte) and /proc/PID/auxv.
  std::string environment, auxiliary_vector;
  void set_environment(const std::vector<std::string>& variables);
  int oom_score_adjustment = 0;  // /proc/PID/oom_score_adj
  // As set by umask(2).
  unsigned file_mask() const;

  OpenDevices& devices() { return devices_; }
  // Also kept by adapters while they use rings in it.
  std::shared_ptr<const void> shared_region() const { return region_; }

  // True for the first call with this `warning`.
  bool first_warning(const std::string& warning) { return warnings_.insert(warning).second; }

  // Disposition that the program has set for a signal.
  protocol::SignalDisposition disposition(int signal) {
    if (region_ == nullptr) return protocol::kSignalDefault;
    return static_cast<protocol::SignalDisposition>(region_->header().dispositions[signal]);
  }
  // Signals sent to the process while every thread masks them.
  SignalQueue pending;
  // Passes these and the signals of signalfds to the shim, which reports when a thread unmasks one of them.
  void publish_watched_signals();

  // Timers of timer_create(2), by id.
  std::map<int, std::unique_ptr<PosixTimer>> timers;
  int next_timer = 0;
  // alarm(2) and setitimer(ITIMER_REAL); created at first use.
  std::unique_ptr<IntervalTimer> interval_timer;

  // The signal that stopped it; 0: not stopped.
  int stopped_by = 0;

  // Created at first use.
  std::unique_ptr<LoopAnalyst>& analyst() { return analyst_; }
  // Number of KnownLoops that have been looked for in its code. Reset when it maps code.
  std::size_t known_loops = 0;
  // The same for code::KnownCalls.
  std::size_t known_calls = 0;

  // Instructions replaced in its memory.
  code::CodePatches* patches() const { return patches_.get(); }
  void set_patches(std::unique_ptr<code::CodePatches> patches) { patches_ = std::move(patches); }

  // Runs the process's threads; set before the first thread is created, and outlives them.
  void set_owner(ThreadOwner& owner) { owner_ = &owner; }
  ThreadOwner& owner() const { return *owner_; }

  bool ended_by_us = false;  // the supervisor has sent a fatal signal
  // Something that may outlive the process refers to it: an opened object that others inherit, an adapter, a
  // program start. Most children of a shell have none and are deleted when they have ended.
  bool outlives_its_end = false;

  bool alive = true;
  int exit_status = 0;  // after the end, as wait(2) returns it
  bool attached = false;  // the shim has sent its first request (request::Attach)
  // For a process created by fork.
  void begin_as_copy_of(const Process& parent, Instant now) {
    attached = true;
    family_.copy_of = parent.pid();
    family_.copied = now;
    traps_accesses = parent.traps_accesses;
  }
  bool traps_accesses = false;  // its threads may be delayed before memory accesses (protocol/accesses.h)

 private:
  std::size_t program_;
  std::uint32_t pid_;
  const HostSpec& host_;
  std::size_t host_index_;
  std::string name_;
  Rng random_;
  std::shared_ptr<ProcessRegion> region_;
  const HostPaths* paths_ = nullptr;
  Family family_;
  unsigned executions_ = 0;
  std::unique_ptr<ProcessMemory> memory_;
  pid_t native_pid_ = -1;
  pid_t calling_tid_ = -1;
  std::vector<std::unique_ptr<Thread>> threads_;
  // Threads of earlier programs; one of them may be the caller.
  std::vector<std::unique_ptr<Thread>> former_threads_;
  OpenFiles files_{*this};
  OpenDevices devices_{*this};
  std::set<std::string> warnings_;
  ThreadOwner* owner_ = nullptr;
  std::unique_ptr<LoopAnalyst> analyst_;
  std::unique_ptr<code::CodePatches> patches_;
};

}  // namespace verbatim::supervisor
