// One try of a system call: the calling thread, the decoded arguments, and the services that handlers share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/supervisor/kernel/host_kernel.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/tasks/family.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class Checks;

// The answer of a call; nullopt: the thread is blocked.
using CallOutcome = std::optional<Answer>;

// Services of the run that outlive every call.
struct CallServices {
  // `weakens`: the run leaves the guarantees of the simulator.
  using Warn = std::function<void(Process&, const std::string&, bool weakens)>;

  Engine& engine;
  const SupervisorOptions& options;
  ProcessTable& table;
  Checks& checks;
  Warn report;

  Instant now() const { return engine.now(); }
  // Seconds since 1970.
  std::int64_t seconds() const { return (options.epoch_ns + to_ps(now()) / 1000) / 1'000'000'000; }
};

class CallContext {
 public:
  CallContext(const CallServices& services, HostKernel& host, Thread& thread)
      : thread(thread),
        process(thread.process()),
        host(host),
        services(services),
        table(services.table),
        number(thread.call().number),
        arguments(thread.call().arguments),
        transferred(thread.call().transferred),
        copies(thread.call().copies),
        pending_open(thread.call().pending_open) {}

  Thread& thread;
  Process& process;  // of the thread
  HostKernel& host;  // of the process
  const CallServices& services;
  ProcessTable& table;

  const std::uint32_t number;
  const std::int64_t (&arguments)[6];
  // State of the earlier tries, see CurrentCall.
  std::uint64_t& transferred;
  ArgumentCopies& copies;
  CurrentCall::PendingOpen& pending_open;
  bool is_retry() const { return thread.wait.is_retried(); }
  // Deadline of the earlier tries.
  Instant deadline() const { return thread.wait.deadline(); }

  // Argument `i` by its type in the kernel.
  int as_int(int i) const { return static_cast<int>(arguments[i]); }
  std::uint32_t as_u32(int i) const { return static_cast<std::uint32_t>(arguments[i]); }
  std::int64_t flags(int i) const { return arguments[i]; }
  // In program memory; 0: none.
  std::uint64_t address(int i) const { return static_cast<std::uint64_t>(arguments[i]); }
  std::uint64_t length(int i) const { return static_cast<std::uint64_t>(arguments[i]); }
  // The open file of a virtual descriptor; nullptr: a real file or closed.
  VirtualFilePtr file(int i) const { return process.files().at(arguments[i]); }
  // The open file of a virtual descriptor, for a request that exists for files of class File only; else nullptr.
  template <class File>
  std::shared_ptr<File> file_of_kind(std::int64_t fd) const {
    return std::dynamic_pointer_cast<File>(process.files().at(fd));
  }
  // As above. `error`, valid if the result is null: -EBADF if the descriptor is closed, `other_kind` if it is
  // another file.
  template <class File>
  std::shared_ptr<File> file_of_kind(std::int64_t fd, int other_kind, int* error) const {
    const VirtualFilePtr found = process.files().at(fd);
    *error = found != nullptr || process.files().natively_usable(static_cast<int>(fd)) ? other_kind : -EBADF;
    return std::dynamic_pointer_cast<File>(found);
  }

  Instant now() const { return services.now(); }
  std::int64_t seconds() const { return services.seconds(); }
  std::int64_t epoch_ns() const { return services.options.epoch_ns; }
  void warn(const std::string& text, bool weakens = false) const { services.report(process, text, weakens); }

  // Reads a structure that an argument refers to; later tries get the first copy (tasks/argument_copies.h).
  bool read_argument(std::uint64_t address, std::span<std::byte> to) const {
    return copies.read(process.memory(), address, to);
  }
  template <class T>
  std::optional<T> load_argument(std::uint64_t address) const {
    T value;
    if (!read_argument(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }
  // Deadline of a relative timespec, the same in all tries; kNever if the address is 0. nullopt: -errno in
  // `error`.
  std::optional<Instant> load_deadline(std::uint64_t timespec_address, int* error) const;

  // Blocks the thread until one of `files` changes, or the deadline. Always returns nullopt.
  CallOutcome wait_for(std::vector<VirtualFilePtr> files, Instant deadline, const std::string& what) const;
  // A read or write that cannot progress: blocks; with `dont_wait` or after `timeout` (zero: none), returns
  // the number of bytes transferred, or -EAGAIN if none.
  CallOutcome wait_or_give_up(std::vector<VirtualFilePtr> files, bool dont_wait, Duration timeout,
                              const std::string& what) const;

  // Opens `file` with the lowest free number. Returns the answer: the number or -EMFILE.
  CallOutcome install(VirtualFilePtr file, bool nonblocking) const;
  // Opens two files and stores their numbers in the program's int[2] at `address`.
  CallOutcome install_pair(const VirtualFilePtr& first, const VirtualFilePtr& second, bool nonblocking,
                           std::uint64_t address) const;

  // Live process or thread of the host by virtual id, nullptr if there is none. Thread 0 is the caller.
  Process* find_process(std::uint32_t pid) const;
  Thread* find_thread(std::int64_t tid) const;
};

// As CallContext::find_process() for the host of `seen_from`.
Process* find_process(const ProcessTable& table, const Process& seen_from, std::uint32_t pid);

}  // namespace verbatim::supervisor
