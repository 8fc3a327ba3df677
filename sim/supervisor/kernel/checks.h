// Mistakes of programs that can be seen where they ask the kernel for something, and those that the shim has seen. Each is
// reported once for each place in a process; of one check in one program kMostOfKind are, and the others are counted. How full
// queues were is kept beside. Nothing here changes a run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/trace.h"
#include "sim/hca/inspection.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/spec/queue_figures.h"
#include "sim/supervisor/tasks/process.h"
#include "verbs_shim/protocol/checks.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::supervisor {

class Checks {
 public:
  Checks(Tracer& tracer, const SupervisorOptions& options) : tracer_(tracer), options_(options) {}

  // The process has made that mistake in the call which returns to `caller` (0: it is not known), at `when`.
  // `callers`: whose calls led there, as callers_text() has it; asked for when it is told.
  void tell(Process& process, protocol::Check check, std::uint64_t caller, const std::string& text, Instant when,
            const std::function<std::string()>& callers = {});
  // The same of what the shim has noted, in words.
  void tell_note(Process& process, const protocol::VerbNote& note, std::uint64_t caller, const protocol::NoteStack& stack,
                 const std::string& text, Instant when);

  // A thread is about to wait for these files.
  void before_sleep(Thread& thread, std::span<const VirtualFilePtr> files, Instant deadline, Instant now);
  // A command is about to be executed; `mailbox` as the adapter gets it.
  void before_command(Thread& thread, DeviceContext& context, std::span<const std::byte> mailbox, Instant now);
  // It has been; `mailbox` as the adapter leaves it.
  void after_command(Thread& thread, DeviceContext& context, std::span<const std::byte> mailbox);
  // The process exits by itself. Who has failed may leave things behind.
  void before_exit(Process& process, int code, Instant now);

  // A process fails that is a copy of `original`, by fork.
  void before_failure_of_copy(Process& process, Process& original, int code, Instant now);

  const std::vector<QueueFigures>& figures() const { return figures_; }

  // Findings of one check in one program that are kept; further ones are counted.
  static constexpr std::size_t kMostOfKind = 100;
  // Sentences about those that were counted, by program.
  std::vector<std::pair<std::size_t, std::string>> rest() const;

 private:
  bool is_on(protocol::Check check) const { return (options_.checks & check_bit(check)) != 0; }
  void keep(Process& process, const hca::CompletionQueueState& cq);
  void keep(Process& process, const hca::QueuePairState& qp);
  void check_region(Thread& thread, DeviceContext& context, std::uint32_t handle, Instant now);

  static constexpr std::size_t kMostFigures = 1000;
  struct Findings {
    std::size_t told = 0;
    std::uint64_t more = 0;
  };

  Tracer& tracer_;
  const SupervisorOptions& options_;
  std::set<std::tuple<std::uint32_t, protocol::Check, std::uint64_t, std::string>> told_;  // process, check, caller
  std::map<std::pair<std::size_t, protocol::Check>, Findings> findings_;                   // by program
  std::vector<QueueFigures> figures_;
};

}  // namespace verbatim::supervisor
