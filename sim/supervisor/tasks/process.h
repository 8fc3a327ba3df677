// One Linux process of the simulation: its memory, its descriptors, its threads and its opened devices.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
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
#include "sim/supervisor/tasks/thread.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class DeviceContext;
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
  // The thread that the program is making: its native id is not known yet.
  Thread* thread_in_making = nullptr;

  // Another program takes the process over: a new region, a new Linux process, no thread yet. Devices are
  // closed.
  void replace(std::string name, std::unique_ptr<ProcessRegion> region, pid_t pid);
  // It has ended and no thread of it is asking: the memory shared with it and its threads go. What may still be asked about
  // it stays.
  void retire();
  // How often it has executed a program.
  unsigned executions() const { return executions_; }

  // Virtual descriptors. The kernel's table holds a placeholder under each number; the caller's answer makes
  // it.
  VirtualFilePtr file(std::int64_t fd) const;
  // Where the shim's own descriptors lie. From there on the kernel's table has none of the program's.
  int own_descriptors() const;
  // RLIMIT_NOFILE, as far as there are numbers: those of new descriptors lie below it.
  int descriptor_limit() const { return limits.descriptors(); }
  // The shim and the machine's kernel are told of them.
  void enforce_limits();
  // Whether exec closes virtual descriptor `fd`, which the kernel does not know.
  bool closes_unknown_by_exec(int fd) const;
  // The lowest free number from `least` on, as Linux gives them out, or -EMFILE. `taken` are not free either.
  int lowest_free_number(int least = 0, std::span<const int> taken = {});
  // There; the number or -EMFILE.
  int install(VirtualFilePtr file, int least = 0);
  void install_at(int fd, VirtualFilePtr file);
  // False when `fd` is not virtual.
  bool close(int fd);
  void close_all();
  const std::map<int, VirtualFilePtr>& files() const { return files_; }
  DescriptorTable descriptor_table() const { return {pid_, files_}; }

  // What Linux knows of the process, seen from one of its living threads. Changes only while the process
  // runs.
  void set_calling_thread(pid_t native_tid) { calling_tid_ = native_tid; }
  pid_t calling_thread() const { return calling_tid_; }
  // Of the thread whose call is answered, or of its first one.
  const Credentials& credentials() const;
  // Whether `fd` is open in the kernel's table: a real file, or the placeholder of a virtual one.
  bool natively_open(int fd) const;
  // A name of ours for the file that the program calls `path`, seen from `directory_fd` (AT_FDCWD: where it
  // works). Empty: the simulator makes up what is there.
  std::string native_path(int directory_fd, const std::string& path) const;
  // Whether a file of that name of ours may be made for the program.
  bool may_make(const std::string& native) const { return paths_ == nullptr || paths_->may_make(native); }
  // Where the files of its host lie; outlives the process.
  void set_paths(const HostPaths& paths) { paths_ = &paths; }
  // What the program was given, each NAME=value with a zero behind it.
  void set_environment(const std::vector<std::string>& environment);
  void set_environment_text(std::string text) { environment_text_ = std::move(text); }
  const std::string& environment_text() const { return environment_text_; }
  // umask(2).
  unsigned file_mask() const;

  // Devices it has opened, by the number that it knows them by, and those it has from the process of which it is a copy.
  std::vector<std::shared_ptr<DeviceContext>>& contexts() { return contexts_; }
  bool has_own_contexts() const;
  // Of its end, or when it becomes another program, which keeps descriptors.
  void close_own_contexts(bool keeps_descriptors = false);
  // Its memory is about to go: what of it others may reach through an adapter is kept.
  void keep_registered_memory(bool keeps_descriptors = false);
  // Kept by adapters, too, while rings in it are in use.
  std::shared_ptr<const void> shared_region() const { return region_; }

  // True the first time `warning` is given for this process.
  bool first_warning(const std::string& warning) { return warnings_.insert(warning).second; }

  // What the program has set for a signal.
  protocol::SignalDisposition disposition(int signal) {
    if (region_ == nullptr) return protocol::kSignalDefault;
    return static_cast<protocol::SignalDisposition>(region_->header().dispositions[signal]);
  }
  // Signals that were sent to the process and that every thread of it has masked.
  SignalQueue& pending() { return pending_; }
  const SignalQueue& pending() const { return pending_; }
  // The signals that its signalfds are there for, bit n - 1 for signal n.
  std::uint64_t watched_signals() const;
  // The shim tells when a thread unmasks one of these, or of the pending ones.
  void tell_watched_signals();
  // Its signalfds look at what is pending.
  void tell_signal_files();

  // Of timer_create(2), by id.
  std::map<int, std::unique_ptr<PosixTimer>>& timers() { return timers_; }
  int new_timer_id() { return next_timer_++; }

  ResourceLimits limits;

  // The signal that has stopped it, 0: none.
  int stopped_by = 0;

  // alarm() and setitimer(ITIMER_REAL); made at first use.
  std::unique_ptr<IntervalTimer>& interval_timer() { return interval_timer_; }

  // Made at first use.
  std::unique_ptr<LoopAnalyst>& analyst() { return analyst_; }

  // Instructions that were replaced in its memory.
  code::CodePatches* patches() const { return patches_.get(); }
  void set_patches(std::unique_ptr<code::CodePatches> patches) { patches_ = std::move(patches); }

  // Whoever handles this process's threads.
  void set_owner(void* owner) { owner_ = owner; }
  template <class Owner>
  Owner& owner() const {
    return *static_cast<Owner*>(owner_);
  }

  bool ended_by_us = false;  // a signal that ends it at once has been sent
  // Something that may outlast the process refers to it: what it has opened and others inherit, an adapter, the start of
  // a program. Most children of a shell have none and go altogether when they have ended.
  bool outlives_its_end = false;

  bool alive = true;
  int exit_status = 0;  // when it is not, as wait(2) tells it
  bool attached = false;
  void begin_as_copy_of(const Process& parent, Instant now) {
    attached = true;
    family_.copy_of = parent.pid();
    family_.copied = now;
    traps_accesses = parent.traps_accesses;
  }
  bool traps_accesses = false;  // its threads may be late before accesses to memory (protocol/accesses.h)

 private:
  std::size_t program_;
  std::uint32_t pid_;
  const HostSpec& host_;
  std::size_t host_index_;
  std::string name_;
  Rng random_;
  std::shared_ptr<ProcessRegion> region_;
  const HostPaths* paths_ = nullptr;
  std::string environment_text_;
  Family family_;
  unsigned executions_ = 0;
  std::unique_ptr<ProcessMemory> memory_;
  pid_t native_pid_ = -1;
  pid_t calling_tid_ = -1;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::unique_ptr<Thread>>
      former_threads_;  // of programs before; one of them may be asking right now
  std::map<int, VirtualFilePtr> files_;
  std::set<int> signal_files_;  // those of them that are signalfds
  int least_free_ = 0;          // every number below is taken, but for what the kernel has closed since
  std::vector<std::shared_ptr<DeviceContext>> contexts_;
  std::set<std::string> warnings_;
  void* owner_ = nullptr;
  std::unique_ptr<IntervalTimer> interval_timer_;
  SignalQueue pending_;
  std::map<int, std::unique_ptr<PosixTimer>> timers_;
  int next_timer_ = 0;
  std::unique_ptr<LoopAnalyst> analyst_;
  std::unique_ptr<code::CodePatches> patches_;
};

}  // namespace verbatim::supervisor
