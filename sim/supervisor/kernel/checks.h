// Mistakes of programs, detected at system calls, or reported by the shim. Each is reported once for each
// place in a process. At most kMostOfKind findings of one check in one program are reported; the others are
// counted. The maximum fill level of queues is recorded, too. Nothing here changes a run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/trace.h"
#include "sim/hca/hca.h"
#include "sim/hca/inspector.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/spec/queue_figures.h"
#include "sim/supervisor/tasks/process.h"
#include "verbs_shim/protocol/checks.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::supervisor {

class Checks {
 public:
  Checks(Tracer& tracer, const SupervisorOptions& options) : tracer_(tracer), options_(options) {}

  // Reports a mistake of the process at time `when`. `caller`: return address of the call, 0 if unknown.
  // `callers`: returns the call chain (callers_text()); called only if the finding is reported.
  void report(Process& process, protocol::Check check, std::uint64_t caller, const std::string& text, Instant when,
              const std::function<std::string()>& callers = {});
  // Reports a mistake that the shim has noted; `text` describes it.
  void report_note(Process& process, const protocol::VerbNote& note, std::uint64_t caller, const protocol::NoteStack& stack,
                   const std::string& text, Instant when);

  // Called before a thread blocks on `files`.
  void before_sleep(Thread& thread, std::span<const VirtualFilePtr> files, Instant deadline, Instant now);
  // Called after a thread has read from `file` without blocking.
  void after_read(Thread& thread, const VirtualFilePtr& file, Instant now);
  // Called before a command is executed; `mailbox` as the adapter receives it.
  void before_command(Thread& thread, DeviceContext& context, std::span<const std::byte> mailbox, Instant now);
  // Called after a command has been executed; `mailbox` as the adapter leaves it.
  void after_command(Thread& thread, DeviceContext& context, std::span<const std::byte> mailbox);
  // The process exits with `code`. Leaks are reported only for exit code 0.
  void before_exit(Process& process, int code, Instant now);

  // `process`, a copy of `original` made by fork, ends with a failure.
  void before_failure_of_copy(Process& process, Process& original, int code, Instant now);

  const std::vector<QueueFigures>& figures() const { return figures_; }

  // Maximum number of findings of one check in one program that are reported; further ones are counted.
  static constexpr std::size_t kMostOfKind = 100;
  // One sentence for each check of a program with more than kMostOfKind findings, with the program's index.
  std::vector<std::pair<std::size_t, std::string>> rest() const;

 private:
  bool is_on(protocol::Check check) const { return (options_.checks & check_bit(check)) != 0; }
  // Reports a wait for an event of `file`, a completion channel, if `find` finds a queue whose completions need not
  // raise it.
  using FindSlept = decltype(&hca::Inspector::slept_on);
  void check_wait(Thread& thread, const VirtualFilePtr& file, FindSlept find, const char* relation, Instant now);
  void keep(Process& process, const hca::CompletionQueueState& cq);
  void keep(Process& process, const hca::QueuePairState& qp);
  void check_region(Thread& thread, DeviceContext& context, std::uint32_t handle, Instant now);

  static constexpr std::size_t kMostFigures = 1000;
  struct Findings {
    std::size_t reported = 0;
    std::uint64_t more = 0;
  };

  Tracer& tracer_;
  const SupervisorOptions& options_;
  std::set<std::tuple<std::uint32_t, protocol::Check, std::uint64_t, std::string>> reported_;  // text only if the caller is 0
  std::map<std::pair<std::size_t, protocol::Check>, Findings> findings_;                   // by program and check
  std::vector<QueueFigures> figures_;
};

}  // namespace verbatim::supervisor
