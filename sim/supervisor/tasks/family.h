// Relations between processes: parent, process group, session, and children not yet waited for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/tasks/process_file.h"

namespace verbatim::supervisor {

class Process;
class Thread;
struct SignalOrigin;

// An event source that processes wait for and that has no descriptor.
class ProcessEvents final : public VirtualFile {
 public:
  explicit ProcessEvents(std::string description) : description_(std::move(description)) {}
  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return description_; }
  void changed() { notify(); }

 private:
  std::string description_;
};

// A child that has ended, stopped or continued.
struct EndedChild {
  std::uint32_t pid;
  std::uint32_t group;
  int status;  // as wait(2) returns it
  std::uint32_t user = 0;  // real user id
  // Only of a child that has ended, for getpgid(2), setpgid(2) and /proc.
  std::uint32_t session = 0;
  bool has_executed = false;  // a program, since the fork
  std::string name;
};

struct Family {
  static constexpr std::uint32_t kInit = 1;  // parent of orphans and of each program's first process

  std::uint32_t parent = kInit;
  std::uint32_t parent_thread = 0;  // that has forked this process
  int death_signal = 0;             // PR_SET_PDEATHSIG: sent when parent_thread ends; 0: none
  bool is_subreaper = false;        // PR_SET_CHILD_SUBREAPER: parent of orphaned descendants
  std::uint32_t group = 0;
  std::uint32_t session = 0;
  std::uint32_t copy_of = 0;      // fork: pid of the original; 0: not a copy, or it has executed a program
  Instant copied{};               // time of the fork
  bool first_of_program = true;
  bool holds_parent = false;  // vfork: the parent waits until this process has executed a program or ended
  bool shares_memory = false;     // until then it writes to the parent's memory
  std::vector<EndedChild> ended;  // in the order in which they ended
  // Stopped or continued children not yet reported: the latest state of each.
  std::vector<EndedChild> changed;
  std::vector<std::weak_ptr<ProcessFile>> files;  // pidfds of this process
  std::shared_ptr<ProcessEvents> children = std::make_shared<ProcessEvents>("child processes");
  std::shared_ptr<ProcessEvents> released =
      std::make_shared<ProcessEvents>("a child that has not executed a program yet");
};

// All processes of the run, and operations that affect several of them.
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;

  // Returns an id that no process or thread has had. Nothing else is created.
  virtual std::uint32_t new_pid() = 0;
  // Starts the remote part of `ssh` on the host with `address`. Returns 0 or -errno, see
  // verbs_shim/protocol/remote_shell.h.
  virtual int start_remote(Thread& asking, std::uint32_t address, std::uint16_t port) = 0;
  // Live processes, and those that have ended since the last event.
  virtual const std::vector<std::unique_ptr<Process>>& processes() const = 0;
  // Retired processes of a host: their number and the highest id.
  struct Ended {
    std::size_t count = 0;
    std::uint32_t highest_pid = 0;
  };
  virtual Ended ended_on(std::size_t host) const = 0;
  // A program of the host opens a device.
  virtual void note_use_of_adapter(std::size_t host) = 0;
  // Sends the signal as kill(2) does. The process may end at once.
  virtual void signal_process(Process& process, int signal, const SignalOrigin& origin) = 0;
};

}  // namespace verbatim::supervisor
