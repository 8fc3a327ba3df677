// The simulated kernel: answers the system calls that the table routes to the supervisor. A call is tried
// when its cost has passed. If it must wait, the thread blocks on the files concerned, and the whole call is
// tried again after one of them has changed or at the deadline. A try therefore changes nothing unless it
// succeeds. Handlers are functions over a call context (call_context.h) and the parts of the state that they
// use (kernel_state.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/failing_calls.h"
#include "sim/core/trace.h"
#include "sim/supervisor/files/inotify_file.h"
#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/kernel/program_output.h"
#include "sim/supervisor/net/internet.h"
#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/spec/network_spec.h"
#include "sim/supervisor/spec/options.h"

namespace verbatim::supervisor {

struct KernelState;
class Passage;
class Terminal;

class Kernel {
 public:
  using Outcome = CallOutcome;
  using Warn = CallServices::Warn;

  Kernel(Engine& engine, Tracer& tracer, const std::vector<HostSpec>& hosts,
         const ManagementNetworkSpec& network, const SupervisorOptions& options, ProcessTable& table,
         ProgramOutput output, Warn warn, MakeThread make_thread);
  ~Kernel();

  // Tries the pending system call of the thread.
  CallOutcome execute(Thread& thread);
  // Threads that the execution of the pending call may affect or depend on: the caller only; also waiting
  // threads of the host; any thread.
  enum class Concerns : std::uint8_t { kCaller, kWaiting, kAnybody };
  Concerns concerns(Thread& thread) const;
  // A call of class kRefused: warns with its name.
  Answer refuse(Thread& thread);
  // A control-path command of the verbs library (verbs_shim/protocol/commands.h).
  CallOutcome command(Thread& thread);
  // Virtual time that one call takes before it has an effect.
  Duration cost(Thread& thread);

  // A thread has ended: clears its id word and wakes a waiter, as Linux does (CLONE_CHILD_CLEARTID).
  void thread_ended(Thread& thread);
  // Drops futex waits, asynchronous I/O contexts, huge pages and System V attachments of `process`, which
  // ends or calls exec.
  void forget_waits(Process& process);
  // A signal is about to end the process: releases its threads' robust locks while their memory still exists.
  void release_robust_locks(Process& process);
  // A process has ended: releases its timers, devices, descriptors and waits.
  void release(Process& process);
  // `child` is a new copy of `parent`: it inherits System V attachments, unless both share memory (vfork).
  void inherit(Process& parent, Process& child);
  // For exec: nullopt if `path` can be executed, which is replaced by its target if it is a /proc/PID/fd
  // link. Otherwise the call's answer.
  CallOutcome find_executable(Thread& thread, std::string& path);

  // Functions of RealDescriptors (real_descriptors.h).
  Passage& passage();
  void use_passage(Passage& passage);
  void copy_descriptors(bool copies);
  int take_descriptor(Process& process, pid_t asking, int fd);
  // `calls` selects calls that fail although they could succeed; without it none does. Outlives the kernel.
  void use_failing_calls(FailingCalls& calls);
  // As TcpNetwork::host_of.
  int host_of(const IpAddress& address, std::size_t from) const;
  // One-way latency over the management network, or within a host.
  Duration network_latency(std::size_t from, std::size_t to) const;
  // The folders that hold the files of the process's host.
  const HostPaths& paths_of(const Process& process) const { return state_of(process.host_index()).paths; }
  HostPaths& paths_of_host(std::size_t host) { return state_of(host).paths; }

  // Watches of files in the host's own folders (files/inotify_file.h, inotify_calls.cc).
  bool watches_files(std::size_t host) const { return state_of(host).file_watches->are_of_files(); }
  // Fetches new events from the machine; returns the number of events not yet delivered. `own_work`: since
  // the last call only the simulator has accessed files; events of reads and attribute changes are dropped.
  std::size_t fetch_file_events(std::size_t host, bool own_work = false) {
    return state_of(host).file_watches->fetch(own_work);
  }
  // Delivers all events.
  void deliver_file_events(std::size_t host) { state_of(host).file_watches->deliver_all(); }
  // While it exists, the simulator itself accesses files of the host and no program does.
  class OwnFileWork : public supervisor::OwnFileWork {
   public:
    OwnFileWork(Kernel& kernel, std::size_t host)
        : supervisor::OwnFileWork(*kernel.state_of(host).file_watches) {}
  };

  // Functions of terminals.h.
  std::shared_ptr<Terminal> make_terminal(std::size_t host);
  static void control_session(Process& process, Terminal& terminal);
  void end_session(Process& process);
  bool may_be_stopped(Process& process, int signal);

  // Number of calls denied because the host's trees lack the file or cannot be changed.
  std::uint64_t refused_files() const;
  // Payload that TCP sockets have sent to other hosts, in bytes.
  std::uint64_t tcp_bytes_between_hosts() const;
  Checks& checks();
  // Time of the last call that was progress (idle_watch.h).
  Instant last_progress() const;

 private:
  HostKernel& state_of(std::size_t host) const;

  const std::unique_ptr<KernelState> state_;
};

}  // namespace verbatim::supervisor
