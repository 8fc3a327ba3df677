#include "sim/supervisor/kernel/kernel.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/kernel/async_io.h"
#include "sim/supervisor/tasks/interval_timer.h"
#include "sim/supervisor/tasks/posix_timer.h"
#include "sim/supervisor/net/udp.h"
#include "sim/supervisor/net/unix_socket.h"
#include "verbs_shim/protocol/async_io.h"
#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/file_events.h"
#include "verbs_shim/protocol/passing_calls.h"
#include "verbs_shim/protocol/remote_shell.h"
#include "verbs_shim/protocol/repeated_calls.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

using protocol::CallTraits;
static_assert(protocol::kStartRemoteShellCall == VERBATIM_START_REMOTE_SHELL);

Kernel::Kernel(Engine& engine, Tracer& tracer, const std::vector<HostSpec>& hosts,
               const ManagementNetworkSpec& network, const SupervisorOptions& options, ProcessTable& table,
               Output output, Warn warn, MakeThread make_thread)
    : engine_(engine),
      tracer_(tracer),
      hosts_(hosts),
      options_(options),
      table_(table),
      network_(engine, tracer, hosts, network),
      udp_(std::make_unique<UdpNetwork>(network_)),
      unix_(std::make_unique<UnixNetwork>()),
      output_(std::move(output)),
      report_(std::move(warn)),
      make_thread_(std::move(make_thread)),
      checks_(tracer, options) {
  for (const HostSpec& host : hosts) host_kernels_.emplace_back(host.huge_pages);
  make_file_watches();
}

Kernel::~Kernel() = default;

struct Kernel::Handlers {
  Handler rows[protocol::kSystemCallLimit] = {};

  constexpr Handlers() {
    for (Handler& row : rows) row = &Kernel::sys_refused;
#define VERBATIM_HANDLER(number, name, call_class, refusal, handler, traits, letters) rows[number] = &Kernel::handler;
    VERBATIM_SYSTEM_CALLS(VERBATIM_HANDLER)
#undef VERBATIM_HANDLER
#define VERBATIM_RUNTIME_HANDLER(number, name, handler, traits) rows[number] = &Kernel::handler;
    VERBATIM_RUNTIME_CALLS(VERBATIM_RUNTIME_HANDLER)
#undef VERBATIM_RUNTIME_HANDLER
  }
};

namespace {

// A call has a handler if and only if its class can reach the supervisor. Names are compared: with sanitizers, pointers to
// members cannot be compared at compile time.
constexpr bool is_handler_sound(protocol::CallClass call_class, std::string_view handler) {
  using protocol::CallClass;
  if (call_class == CallClass::kLocal) return true;
  const bool reaches_kernel =
      call_class == CallClass::kVirtual || call_class == CallClass::kByDescriptor || call_class == CallClass::kByPath;
  return reaches_kernel == (handler != "sys_refused");
}
#define VERBATIM_CHECK_HANDLER(number, name, call_class, refusal, handler, traits, letters) \
  static_assert(is_handler_sound(protocol::CallClass::call_class, #handler), #name);
VERBATIM_SYSTEM_CALLS(VERBATIM_CHECK_HANDLER)
#undef VERBATIM_CHECK_HANDLER

}  // namespace

Kernel::Handler Kernel::handler_of(std::uint32_t number) {
  static constexpr Handlers kHandlers;
  return kHandlers.rows[std::min(number, protocol::kSystemCallLimit - 1)];
}

// Only the first of equal empty calls in a row (a program that polls) is recorded.
Kernel::Outcome Kernel::execute(Thread& thread) {
  thread.stop_waiting();
  note_caller(thread);
  const PendingCall& call = thread.call();
  const bool was_blocked = thread.retried();
  Outcome outcome = (this->*handler_of(call.number))(thread);
  if (!outcome && thread.has_signal() && call.transferred > 0) {
    outcome = Answer{static_cast<std::int64_t>(call.transferred)};  // bytes already moved are not moved again
  } else if (!outcome && thread.has_signal()) {
    outcome = interrupt(thread);
    // A signal that was pending before the call is delivered first; the call then starts again.
    if (!was_blocked) outcome = Answer{0, protocol::Action::kRestart};
  } else if (!outcome && !was_blocked && call.transferred == 0 && is_interrupted(thread)) {
    give_up_waiting(thread);
    outcome = Answer{-EINTR};
  }
  if (outcome) {
    thread.finish_call();
    const bool sleeps = protocol::is_sleep(call.number, call.arguments);
    const bool nothing = (!was_blocked || sleeps) && outcome->action == protocol::Action::kReturn &&
                         protocol::finds_nothing(call.number, call.arguments, outcome->result);
    const bool again = thread.repeats_empty_call(nothing);
    // With failing calls, every repetition may fail, and a sleep may be longer: the runtime must not repeat
    // the call itself.
    const bool may_differ = failing_ != nullptr || (sleeps && thread.may_be_late());
    if (nothing && !may_differ) keep_empty_call(thread, *outcome);
    if (again || (protocol::system_call(call.number).has(CallTraits::kUnseen) && outcome->result == 0)) return outcome;
    tracer_.record(thread.process().host().component, TraceEvent::kSystemCall, thread.tid(), call.number,
                   static_cast<std::uint64_t>(outcome->result));
  }
  return outcome;
}

void Kernel::note_caller(Thread& thread) {
  Process& process = thread.process();
  process.set_calling_thread(thread.native_tid());
}

Answer Kernel::refuse(Thread& thread) {
  const std::uint32_t number = thread.call().number;
  const protocol::SystemCall& row = protocol::system_call(number);
  const int error = row.call_class == protocol::CallClass::kRefused ? row.refusal : ENOSYS;
  if (number == SYS_clone3) return {-ENOSYS};  // libc tries it once and falls back to clone
  const std::string name = row.name != nullptr ? row.name : fmt::format("system call {}", number);
  // Calls that need privilege, or affect other processes (EPERM), are refused in any case.
  if (options_.lets_unknown_calls_through && row.name != nullptr && error == ENOSYS) {
    report_(thread.process(), name + " is not simulated; it reached the machine's own kernel", true);
    return {0, protocol::Action::kNative};
  }
  const char* const advice = row.name != nullptr && error == ENOSYS
                                 ? " (with --strict=warn it would reach the machine's own kernel)"
                                 : "";
  warn(thread.process(), fmt::format("{} is not simulated; the program got {}{}", name,
                                     error == EPERM ? "EPERM" : "ENOSYS", advice));
  return {-error};
}

// The runtime has found an argument that is not simulated: a[0] the call, a[1] the argument, a[2] the errno.
Kernel::Outcome Kernel::sys_refused_argument(Thread& thread) {
  const auto& a = thread.call().arguments;
  const protocol::SystemCall& row = protocol::system_call(static_cast<std::uint64_t>(a[0]));
  const auto error = static_cast<int>(a[2]);
  if (row.name == nullptr || error < 1 || error > 133) return Answer{-ENOSYS};
  if (a[3] != 0) {
    warn(thread.process(), fmt::format("{} would change memory that the simulator has in each process, from {:#x} to {:#x}; "
                                       "the program got {}",
                                       row.name, protocol::kShimStart, protocol::kShimEnd, strerrorname_np(error)));
    return Answer{-error};
  }
  warn(thread.process(), fmt::format("{} with {:#x} is not simulated; the program got {}", row.name, a[1],
                                     strerrorname_np(error)));
  return Answer{-error};
}

namespace {

// Time of a copy to or from device memory, which involves no kernel: stores are combined into cache lines and
// posted one after another; each load of a word waits for its completion.
std::optional<Duration> copy_cost(Thread& thread, const hca::HcaProfile& profile) {
  protocol::CopyDm copy;
  const std::span<const std::byte> mailbox = thread.process().region().mailbox(thread.slot());
  std::memcpy(&copy, mailbox.data(), sizeof copy);
  if (copy.header.type != protocol::CommandType::kCopyDm || copy.length > profile.max_dm_size) return std::nullopt;
  const protocol::CallCosts& costs = thread.process().host().costs;
  constexpr std::int64_t kLine = 64, kWord = 4;
  const auto length = static_cast<std::int64_t>(copy.length);
  if (copy.to_device != 0) return Duration(costs.doorbell_ps + (length + kLine - 1) / kLine * costs.inline_line_ps);
  return 2 * profile.pcie.one_way_latency * (length / kWord);
}

// The device that a command addresses: that of its context, or the one to open; the first device if it names
// none.
const hca::Hca* device_of_command(Thread& thread) {
  Process& process = thread.process();
  const auto& devices = process.host().devices;
  if (devices.empty()) return nullptr;
  protocol::CommandHeader header;
  std::memcpy(&header, process.region().mailbox(thread.slot()).data(), sizeof header);
  if (header.type == protocol::CommandType::kOpenDevice)
    return header.context < devices.size() ? devices[header.context] : devices.front();
  const auto& contexts = process.contexts();
  const bool is_open = header.context >= 1 && header.context <= contexts.size() && contexts[header.context - 1]->open();
  return is_open ? &contexts[header.context - 1]->hca() : devices.front();
}

}  // namespace

Duration Kernel::cost(Thread& thread) {
  const protocol::CallCosts& costs = thread.process().host().costs;
  if (thread.requests<request::Command>()) {
    const hca::Hca* const device = device_of_command(thread);
    if (device == nullptr) return Duration(costs.system_call_ps);
    return copy_cost(thread, device->profile()).value_or(device->profile().command_latency);
  }
  const bool is_free = protocol::system_call(thread.call().number).has(CallTraits::kFree);
  return is_free ? Duration::zero() : Duration(costs.system_call_ps);
}

void Kernel::release(Process& process) {
  process.interval_timer().reset();
  process.timers().clear();
  process.close_own_contexts();
  process.close_all();
  ipc_of(process).end(process.pid(), seconds());
  forget_waits(process);
}

void Kernel::forget_waits(Process& process) {
  futexes_.forget(process);
  end_async_contexts(process);
  host_of(process).huge_pages.forget(process.pid());
  ipc_of(process).detach_all(process.pid(), seconds());
}

void Kernel::inherit(Process& parent, Process& child) {
  if (!child.family().shares_memory) ipc_of(parent).copy_attachments(parent.pid(), child.pid(), seconds());
}

Kernel::Outcome Kernel::wait_for(Thread& thread, std::vector<VirtualFilePtr> files, Instant deadline,
                                 const std::string& call) {
  std::string what = call;
  if (files.size() == 1) what += " on " + files.front()->describe();
  if (files.size() > 1) {
    what += " on " + files.front()->describe() + fmt::format(" and {} more", files.size() - 1);
  }
  checks_.before_sleep(thread, files, deadline, now());
  if (!host_of(thread.process()).terminals.empty()) note_waits_for_terminals(files);
  thread.block(std::move(files), deadline, std::move(what));
  return std::nullopt;
}

Kernel::Outcome Kernel::install(Process& process, VirtualFilePtr file, bool nonblocking) {
  file->set_nonblocking(nonblocking);
  const int fd = process.install(std::move(file));
  if (fd < 0) return Answer{fd};
  return Answer{fd, protocol::Action::kReserveFd, {fd, 0}};
}

Kernel::Outcome Kernel::install_pair(Process& process, const VirtualFilePtr& first,
                                     const VirtualFilePtr& second, bool nonblocking, std::uint64_t address) {
  first->set_nonblocking(nonblocking);
  second->set_nonblocking(nonblocking);
  const int fds[2] = {process.install(first), process.install(second)};
  const bool stored = fds[1] >= 0 && process.memory().store(address, fds);
  if (stored) return Answer{0, protocol::Action::kReserveTwoFds, {fds[0], fds[1]}};
  for (const int fd : fds) process.close(fd);
  return Answer{fds[1] >= 0 ? -EFAULT : -EMFILE};
}

}  // namespace verbatim::supervisor
