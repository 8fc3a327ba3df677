#include "sim/supervisor/kernel/kernel.h"

#include <algorithm>

#include "sim/supervisor/kernel/async_io_calls.h"
#include "sim/supervisor/kernel/device_commands.h"
#include "sim/supervisor/kernel/dispatch.h"
#include "sim/supervisor/kernel/futex_calls.h"
#include "sim/supervisor/kernel/inotify_calls.h"
#include "sim/supervisor/kernel/kernel_state.h"
#include "sim/supervisor/kernel/process_calls.h"
#include "sim/supervisor/kernel/progress.h"
#include "sim/supervisor/kernel/terminals.h"
#include "sim/supervisor/kernel/timer_calls.h"
#include "sim/supervisor/kernel/tree_calls.h"
#include "sim/supervisor/kernel/wait_calls.h"
#include "sim/supervisor/tasks/interval_timer.h"
#include "sim/supervisor/tasks/posix_timer.h"
#include "verbs_shim/protocol/repeated_calls.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

using protocol::CallTraits;

KernelState::KernelState(Engine& engine, Tracer& tracer, const std::vector<HostSpec>& host_specs,
                         const ManagementNetworkSpec& network, const SupervisorOptions& options,
                         ProcessTable& table, ProgramOutput output, CallServices::Warn warn,
                         MakeThread make_thread)
    : tracer(tracer),
      checks(tracer, options),
      services{engine, options, table, checks, std::move(warn)},
      networks(engine, tracer, host_specs, network),
      trees(services, hosts, host_specs),
      output(std::move(output)),
      make_thread(std::move(make_thread)) {
  for (const HostSpec& host : host_specs) {
    const std::size_t index = hosts.size();
    hosts.emplace_back(host.huge_pages).file_watches = make_file_watches(table, index);
  }
}

Kernel::Kernel(Engine& engine, Tracer& tracer, const std::vector<HostSpec>& hosts,
               const ManagementNetworkSpec& network, const SupervisorOptions& options, ProcessTable& table,
               ProgramOutput output, Warn warn, MakeThread make_thread)
    : state_(std::make_unique<KernelState>(engine, tracer, hosts, network, options, table, std::move(output),
                                           std::move(warn), std::move(make_thread))) {}

Kernel::~Kernel() = default;

// Only the first of equal empty calls in a row (a program that polls) is recorded.
CallOutcome Kernel::execute(Thread& thread) {
  thread.stop_waiting();
  CallContext call = state_->context_of(thread);
  call.process.set_calling_thread(thread.native.tid);
  const bool was_blocked = thread.wait.is_retried();
  CallOutcome outcome = dispatch(call, *state_);
  if (!outcome && thread.signals.has_deliverable() && call.transferred > 0) {
    outcome = Answer{static_cast<std::int64_t>(call.transferred)};  // bytes already moved are not moved again
  } else if (!outcome && thread.signals.has_deliverable()) {
    outcome = interrupt(call, state_->futexes);
    // A signal that was pending before the call is delivered first; the call then starts again.
    if (!was_blocked) outcome = Answer{0, protocol::Action::kRestart};
  } else if (!outcome && !was_blocked && call.transferred == 0 && state_->failures.interrupts(thread)) {
    give_up_waiting(call, state_->futexes);
    outcome = Answer{-EINTR};
  }
  if (outcome) {
    thread.finish_call();
    const bool sleeps = protocol::is_sleep(call.number, call.arguments);
    const bool nothing = (!was_blocked || sleeps) && outcome->action == protocol::Action::kReturn &&
                         protocol::finds_nothing(call.number, call.arguments, outcome->result);
    const bool again = thread.empty_calls.add(thread.call(), nothing);
    // With failing calls, every repetition may fail, and a sleep may be longer: the runtime must not repeat
    // the call itself.
    const bool may_differ = state_->failures.may_occur() || (sleeps && thread.delays.may_occur());
    if (nothing && !may_differ) keep_empty_call(call, *outcome);
    if (again || (protocol::system_call(call.number).has(CallTraits::kUnseen) && outcome->result == 0))
      return outcome;
    state_->tracer.record(call.process.host().component, TraceEvent::kSystemCall, thread.tid(), call.number,
                          static_cast<std::uint64_t>(outcome->result));
    if (makes_progress(call.number, outcome->result)) state_->last_progress = std::max(state_->last_progress, call.now());
  }
  return outcome;
}

Answer Kernel::refuse(Thread& thread) {
  CallContext call = state_->context_of(thread);
  return supervisor::refuse(call);
}

CallOutcome Kernel::command(Thread& thread) {
  CallContext call = state_->context_of(thread);
  call.process.set_calling_thread(thread.native.tid);
  return execute_command(call);
}

Duration Kernel::cost(Thread& thread) {
  if (thread.requests<request::Command>()) return cost_of_command(thread);
  const bool is_free = protocol::system_call(thread.call().number).has(CallTraits::kFree);
  return is_free ? Duration::zero() : Duration(thread.process().host().costs.system_call_ps);
}

void Kernel::thread_ended(Thread& thread) { end_thread(state_->futexes, thread); }

void Kernel::release(Process& process) {
  process.interval_timer.reset();
  process.timers.clear();
  process.devices().close_own();
  process.files().close_all();
  state_->host_of(process).sysv_ipc.end(process.pid(), state_->services.seconds());
  forget_waits(process);
}

void Kernel::forget_waits(Process& process) {
  HostKernel& host = state_->host_of(process);
  state_->futexes.forget(process);
  end_async_contexts(host, process);
  host.huge_pages.forget(process.pid());
  host.sysv_ipc.detach_all(process.pid(), state_->services.seconds());
}

void Kernel::release_robust_locks(Process& process) {
  supervisor::release_robust_locks(state_->futexes, process);
}

void Kernel::inherit(Process& parent, Process& child) {
  if (!child.family().shares_memory)
    state_->host_of(parent).sysv_ipc.copy_attachments(parent.pid(), child.pid(), state_->services.seconds());
}

CallOutcome Kernel::find_executable(Thread& thread, std::string& path) {
  CallContext call = state_->context_of(thread);
  return supervisor::find_executable(call, state_->trees, path);
}

Passage& Kernel::passage() { return state_->descriptors.passage(); }
void Kernel::use_passage(Passage& passage) { state_->descriptors.use_passage(passage); }
void Kernel::copy_descriptors(bool copies) { state_->descriptors.copy(copies); }
int Kernel::take_descriptor(Process& process, pid_t asking, int fd) {
  return state_->descriptors.take(process, asking, fd);
}
void Kernel::use_failing_calls(FailingCalls& calls) { state_->failures.use(calls); }
int Kernel::host_of(const IpAddress& address, std::size_t from) const {
  return state_->networks.tcp.host_of(address, from);
}
Duration Kernel::network_latency(std::size_t from, std::size_t to) const {
  return state_->networks.tcp.latency(from, to);
}
Instant Kernel::last_progress() const { return state_->last_progress; }
std::uint64_t Kernel::refused_files() const { return state_->trees.refused_files(); }
std::uint64_t Kernel::tcp_bytes_between_hosts() const { return state_->networks.tcp.bytes_between_hosts(); }
Checks& Kernel::checks() { return state_->checks; }
HostKernel& Kernel::state_of(std::size_t host) const { return state_->hosts[host]; }

std::shared_ptr<Terminal> Kernel::make_terminal(std::size_t host) {
  return supervisor::make_terminal(state_->services.table, state_of(host), host);
}
void Kernel::control_session(Process& process, Terminal& terminal) {
  supervisor::control_session(process, terminal);
}
void Kernel::end_session(Process& process) { supervisor::end_session(state_->host_of(process), process); }
bool Kernel::may_be_stopped(Process& process, int signal) {
  return supervisor::may_be_stopped(state_->services.table, state_->host_of(process), process, signal);
}

}  // namespace verbatim::supervisor
