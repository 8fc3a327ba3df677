// What a process is to others: its parent, its group and session, and the children it has not yet waited for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class Process;
class Thread;
struct SignalOrigin;

// Something that processes wait for and no descriptor stands for.
class ProcessEvents final : public VirtualFile {
 public:
  explicit ProcessEvents(std::string description) : description_(std::move(description)) {}
  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return description_; }
  void changed() { notify(); }

 private:
  std::string description_;
};

// Also one that was stopped or continued; `status` tells.
struct EndedChild {
  std::uint32_t pid;
  std::uint32_t group;
  int status;  // as wait(2) tells it
  std::uint32_t user = 0;  // real one
};

struct Family {
  static constexpr std::uint32_t kInit =
      1;  // parent of those whose parent has ended, and of each program's first process

  std::uint32_t parent = kInit;
  std::uint32_t group = 0;
  std::uint32_t session = 0;
  std::uint32_t copy_of = 0;      // by fork: of the process with that number; 0: of none, or it has executed a program since
  Instant copied{};               // when
  bool first_of_program = true;
  bool holds_parent = false;      // vfork: the parent goes on when this one has executed a program or ended
  bool shares_memory = false;     // and until then it writes to the parent's memory
  std::vector<EndedChild> ended;  // in the order of their ends
  std::vector<EndedChild> changed;  // stopped or continued, the latest of each, not yet told
  std::shared_ptr<ProcessEvents> children = std::make_shared<ProcessEvents>("child processes");
  std::shared_ptr<ProcessEvents> released =
      std::make_shared<ProcessEvents>("a child that has not executed a program yet");
};

// All processes of the run, and what happens to more than one of them.
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;

  // An id that no process or thread has had; nothing else is made yet.
  virtual std::uint32_t new_pid() = 0;
  // `ssh` asks for its other half on the host with `address`; 0 or -errno, see verbs_shim/protocol/remote_shell.h.
  virtual int start_remote(Thread& asking, std::uint32_t address, std::uint16_t port) = 0;
  // Those that live, and those that have ended since the last event.
  virtual const std::vector<std::unique_ptr<Process>>& processes() const = 0;
  // Of a host: how many have ended before, and the highest id among them.
  struct Ended {
    std::size_t count = 0;
    std::uint32_t highest_pid = 0;
  };
  virtual Ended ended_on(std::size_t host) const = 0;
  // A program of the host opens a way to its adapter.
  virtual void note_use_of_adapter(std::size_t host) = 0;
  // The process gets the signal, as kill(2) sends it; it may end at once.
  virtual void signal_process(Process& process, int signal, const SignalOrigin& origin) = 0;
};

}  // namespace verbatim::supervisor
