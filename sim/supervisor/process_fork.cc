// fork and vfork: the shim copies the process natively, and the supervisor adopts the copy.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <system_error>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/kernel/process_calls.h"
#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/process_factory.h"
#include "sim/supervisor/process_fields.h"
#include "sim/supervisor/process_lifetimes.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/tasks/signal_file.h"

namespace verbatim::supervisor {

namespace {

// Stores a pidfd of the child where the call asks for it, in the parent and in a child that shares its
// memory.
void give_process_file(Thread& thread, Process& child, bool shares_memory) {
  CurrentCall& call = thread.call();
  if (call.copy_file_at == 0) return;
  call.copy_file = thread.process().files().install(open_process(child));
  thread.process().memory().store(call.copy_file_at, call.copy_file);
  if (shares_memory) child.memory().store(call.copy_file_at, call.copy_file);
}

// For the parent.
Answer answer_of(const CurrentCall& call) {
  if (call.copy_file_at == 0 || call.copy_file < 0) return {call.copy_pid};
  return {call.copy_pid, protocol::Action::kReserveFd, {call.copy_file, 0}};
}

}  // namespace

std::optional<Answer> ProcessFactory::fork(Thread& thread, const request::Forked& forked) {
  Process& parent = thread.process();
  // vfork: the child has released the parent, or a signal is pending, which waits for that
  if (thread.wait.is_retried()) {
    thread.stop_waiting();
    for (const auto& child : parts_.processes.all()) {
      if (child->pid() == thread.call().copy_pid && child->alive && child->family().holds_parent)
        return hold(thread, *child);
    }
    thread.finish_call();
    return answer_of(thread.call());
  }
  const auto fail = [&](const char* why) {
    parts_.report.finish(Outcome::kMachine, parts_.report.title(parent) + " could not fork: " + why);
    return std::nullopt;
  };
  if (forked.native <= 0) return fail("the machine refused a new process (see ulimit -u and free memory)");
  const auto native = static_cast<pid_t>(forked.native);
  const bool known = std::ranges::any_of(parts_.processes.all(), [&](const auto& other) {
    return other->alive && other->native_pid() == native;
  });
  if (known || thread.call().copy_pid == 0 || forked.pid != thread.call().copy_pid ||
      number_of(field_of(fmt::format("/proc/{}/status", native), "PPid"), 10) !=
          static_cast<std::uint64_t>(getpid())) {
    parts_.lifetimes.kill_corrupt(parent);
    return std::nullopt;
  }
  std::unique_ptr<ProcessRegion> region;
  try {
    region =
        std::make_unique<ProcessRegion>(fmt::format("/proc/{}/fd/{}", parent.native_pid(), forked.region));
  } catch (const std::system_error&) {
    end_child(native);
    return fail("the machine gave the simulator no room for the copy (see ulimit -n and -v)");
  }
  Process& child = adopt_copy(thread, forked, std::move(region));
  give_process_file(thread, child, forked.shares_memory);
  if (child.family().holds_parent) return hold(thread, child);
  return answer_of(thread.call());
}

// The copy's first thread continues after the wake-up latency.
Process& ProcessFactory::adopt_copy(Thread& thread, const request::Forked& forked,
                                    std::unique_ptr<ProcessRegion> region) {
  Process& parent = thread.process();
  const auto native = static_cast<pid_t>(forked.native);
  region->close_fd();
  headers_.fill(*region, thread.call().copy_pid, parent.pid(), parent.host_index());
  std::copy(std::begin(parent.region().header().dispositions),
            std::end(parent.region().header().dispositions), std::begin(region->header().dispositions));
  region->header().silent_stops = parent.region().header().silent_stops;
  region->header().discards_children = parent.region().header().discards_children;
  region->header().traps_timestamp_counter = parent.region().header().traps_timestamp_counter;
  region->header().own_descriptors = parent.files().own_descriptors();
  region->header().descriptor_limit = parent.files().limit();
  region->header().gate = parent.region().header().gate;
  Process& child = parts_.processes.add(std::make_unique<Process>(
      parent.program(), thread.call().copy_pid, parent.host(), parent.host_index(), parent.name(),
      Rng(run_.options.seed, fmt::format("process/{}/random", thread.call().copy_pid)), std::move(region)));
  child.set_native_pid(native);
  adopt(child);
  child.set_patches(std::make_unique<code::CodePatches>(*parent.patches()));
  parts_.kernel.paths_of(child).store(child.region(), working_folder_of(parent.region()));
  child.environment = parent.environment;
  child.auxiliary_vector = parent.auxiliary_vector;
  child.begin_as_copy_of(parent, run_.engine.now());
  child.family().parent = parent.pid();
  child.family().parent_thread = thread.tid();
  child.family().group = parent.family().group;
  child.family().session = parent.family().session;
  child.family().first_of_program = false;
  child.family().holds_parent = forked.holds_parent;
  child.family().shares_memory = forked.shares_memory;
  parts_.kernel.inherit(parent, child);
  for (const auto& [fd, file] : parent.files().all()) {
    const SignalFile* const signals = file->as_signal_file();
    child.outlives_its_end = child.outlives_its_end || signals != nullptr;
    child.files().install_at(fd, signals == nullptr ? file : std::make_shared<SignalFile>(child, signals->set()));
    if (!parent.files().closes_unknown_by_exec(fd)) continue;
    child.region().high_descriptors().close_on_exec[fd / 64].fetch_or(1ull << (fd % 64),
                                                                      std::memory_order_relaxed);
  }
  Thread* const first = make_thread(child, thread.slot());
  first->native.tid = native;
  first->scheduling = thread.scheduling;
  first->credentials = thread.credentials;
  child.limits = parent.limits;
  child.oom_score_adjustment = parent.oom_score_adjustment;
  child.devices().inherit(parent.devices());
  protocol::ThreadSlot& child_slot = child.region().slot(thread.slot());
  child_slot.virtual_tid = child.pid();
  first->publish_credentials();
  child_slot.context_address = parent.region().slot(thread.slot()).context_address;
  child_slot.signal_mask = parent.region().slot(thread.slot()).signal_mask;
  first->clear_tid = forked.clear_tid;
  first->set_request(request::Spend{});
  first->run_at(run_.engine.now() + Duration(parent.host().costs.wake_up_ps) +
                first->delays.choose(kAfterWait));
  run_.tracer.record(child.host().component, TraceEvent::kProgramStarted, child.pid());
  return child;
}

// Blocks the parent of a vfork until `child` releases it.
std::optional<Answer> ProcessFactory::hold(Thread& thread, Process& child) {
  thread.block({child.family().released}, kNever, "vfork on " + child.family().released->describe());
  return std::nullopt;
}

}  // namespace verbatim::supervisor
