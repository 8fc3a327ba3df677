#include "sim/supervisor/kernel/kernel.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/kernel/async_io.h"
#include "sim/supervisor/kernel/sysv_ipc.h"
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
  host_paths_.resize(hosts.size());
  for (const HostSpec& host : hosts) {
    huge_pages_.emplace_back(host.huge_pages);
    sysv_ipc_.push_back(std::make_unique<SysvIpc>());
  }
  make_file_watches();
}

Kernel::~Kernel() = default;

Kernel::Handler Kernel::handler_of(std::uint32_t number) {
  switch (number) {
    case SYS_read:
    case SYS_readv:
      return &Kernel::sys_read;
    case SYS_write:
    case SYS_writev:
      return &Kernel::sys_write;
    case SYS_close:
      return &Kernel::sys_close;
    case SYS_close_range:
      return &Kernel::sys_close_range;
    case SYS_fcntl:
      return &Kernel::sys_fcntl;
    case SYS_ioctl:
      return &Kernel::sys_ioctl;
    case SYS_dup:
    case SYS_dup2:
    case SYS_dup3:
      return &Kernel::sys_dup;
    case SYS_lseek:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
      return &Kernel::sys_seek;
    case SYS_open:
    case SYS_openat:
    case SYS_creat:
      return &Kernel::sys_open;
    case SYS_fstat:
      return &Kernel::sys_stat;
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_fchmod:
    case SYS_fchown:
    case SYS_fstatfs:
    case SYS_fchdir:
    case SYS_getdents:
    case SYS_getdents64:
    case SYS_flock:
    case SYS_fadvise64:
    case SYS_readahead:
    case SYS_sync_file_range:
    case SYS_syncfs:
    case SYS_fgetxattr:
    case SYS_fsetxattr:
    case SYS_flistxattr:
    case SYS_fremovexattr:
      return &Kernel::sys_change;
    case SYS_pipe:
    case SYS_pipe2:
      return &Kernel::sys_pipe;
    case SYS_eventfd:
    case SYS_eventfd2:
      return &Kernel::sys_eventfd;
    case SYS_timerfd_create:
    case SYS_timerfd_settime:
    case SYS_timerfd_gettime:
      return &Kernel::sys_timerfd;
    case SYS_signalfd:
    case SYS_signalfd4:
      return &Kernel::sys_signalfd;
    case SYS_inotify_init:
    case SYS_inotify_init1:
      return &Kernel::sys_inotify_init;
    case SYS_inotify_add_watch:
      return &Kernel::sys_inotify_add_watch;
    case SYS_inotify_rm_watch:
      return &Kernel::sys_inotify_rm_watch;
    case protocol::kFileEventsCall:
      return &Kernel::sys_file_events;
    case SYS_socket:
      return &Kernel::sys_socket;
    case SYS_bind:
      return &Kernel::sys_bind;
    case SYS_listen:
      return &Kernel::sys_listen;
    case SYS_connect:
      return &Kernel::sys_connect;
    case SYS_accept:
    case SYS_accept4:
      return &Kernel::sys_accept;
    case SYS_sendto:
      return &Kernel::sys_sendto;
    case SYS_recvfrom:
      return &Kernel::sys_recvfrom;
    case SYS_sendmsg:
      return &Kernel::sys_sendmsg;
    case SYS_recvmsg:
      return &Kernel::sys_recvmsg;
    case SYS_sendmmsg:
      return &Kernel::sys_sendmmsg;
    case SYS_recvmmsg:
      return &Kernel::sys_recvmmsg;
    case SYS_socketpair:
      return &Kernel::sys_socketpair;
    case SYS_shutdown:
      return &Kernel::sys_shutdown;
    case SYS_getsockname:
    case SYS_getpeername:
      return &Kernel::sys_socket_name;
    case SYS_setsockopt:
      return &Kernel::sys_setsockopt;
    case SYS_getsockopt:
      return &Kernel::sys_getsockopt;
    case SYS_poll:
    case SYS_ppoll:
      return &Kernel::sys_poll;
    case SYS_select:
    case SYS_pselect6:
      return &Kernel::sys_select;
    case SYS_epoll_create:
    case SYS_epoll_create1:
      return &Kernel::sys_epoll_create;
    case SYS_epoll_ctl:
      return &Kernel::sys_epoll_ctl;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return &Kernel::sys_epoll_wait;
    case SYS_io_setup:
      return &Kernel::sys_io_setup;
    case SYS_io_destroy:
      return &Kernel::sys_io_destroy;
    case SYS_io_submit:
    case protocol::kTransfersDoneCall:
      return &Kernel::sys_io_submit;
    case SYS_io_cancel:
      return &Kernel::sys_io_cancel;
    case SYS_io_getevents:
    case SYS_io_pgetevents:
      return &Kernel::sys_io_getevents;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return &Kernel::sys_sleep;
    case SYS_alarm:
    case SYS_setitimer:
    case SYS_getitimer:
      return &Kernel::sys_timer;
    case SYS_timer_create:
    case SYS_timer_settime:
    case SYS_timer_gettime:
    case SYS_timer_getoverrun:
    case SYS_timer_delete:
      return &Kernel::sys_posix_timer;
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
      return &Kernel::sys_wait_for_signal;
    case SYS_pause:
      return &Kernel::sys_pause;
    case SYS_futex:
      return &Kernel::sys_futex;
    case SYS_fork:
    case SYS_vfork:
      return &Kernel::copy_process;
    case SYS_wait4:
      return &Kernel::sys_wait4;
    case SYS_waitid:
      return &Kernel::sys_waitid;
    case SYS_clone:
      return &Kernel::sys_clone;
    case SYS_exit:
    case SYS_exit_group:
      return &Kernel::sys_exit;
    case SYS_getrlimit:
    case SYS_setrlimit:
    case SYS_prlimit64:
      return &Kernel::sys_limit;
    case SYS_getpriority:
    case SYS_setpriority:
    case SYS_ioprio_get:
    case SYS_ioprio_set:
      return &Kernel::sys_priority;
    case SYS_sched_getparam:
    case SYS_sched_setparam:
    case SYS_sched_getscheduler:
    case SYS_sched_setscheduler:
    case SYS_sched_rr_get_interval:
      return &Kernel::sys_scheduler;
    case SYS_get_robust_list:
      return &Kernel::sys_get_robust_list;
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
    case SYS_getresuid:
    case SYS_getresgid:
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setfsuid:
    case SYS_setfsgid:
      return &Kernel::sys_user;
    case SYS_getgroups:
    case SYS_setgroups:
      return &Kernel::sys_groups;
    case SYS_capget:
    case SYS_capset:
      return &Kernel::sys_capabilities;
    case SYS_set_tid_address:
      return &Kernel::sys_set_tid_address;
    case SYS_uname:
      return &Kernel::sys_uname;
    case SYS_sysinfo:
      return &Kernel::sys_sysinfo;
    case SYS_getrandom:
      return &Kernel::sys_getrandom;
    case SYS_sched_getaffinity:
      return &Kernel::sys_affinity;
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
      return &Kernel::sys_kill;
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
      return &Kernel::sys_queue_signal;
    case SYS_getpgid:
    case SYS_getpgrp:
    case SYS_getsid:
    case SYS_setpgid:
    case SYS_setsid:
      return &Kernel::sys_identity;
    case protocol::kFileNumbersCall:
      return &Kernel::sys_file_numbers;
    case protocol::kLockHolderCall:
      return &Kernel::sys_lock_holder;
    case protocol::kRefusedArgumentCall:
      return &Kernel::sys_refused_argument;
    case SYS_sched_setaffinity:
      return &Kernel::sys_set_affinity;
    case SYS_mbind:
    case SYS_set_mempolicy:
    case SYS_get_mempolicy:
      return &Kernel::sys_memory_policy;
    case SYS_prctl:
      return &Kernel::sys_control;
    case VERBATIM_START_REMOTE_SHELL:
      return &Kernel::sys_start_remote;
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
      return &Kernel::sys_other_memory;
    case SYS_shmget:
      return &Kernel::sys_shmget;
    case SYS_shmat:
      return &Kernel::sys_shmat;
    case protocol::kAttachedCall:
      return &Kernel::sys_attached;
    case SYS_shmdt:
      return &Kernel::sys_shmdt;
    case SYS_shmctl:
      return &Kernel::sys_shmctl;
    case SYS_semget:
      return &Kernel::sys_semget;
    case SYS_semop:
    case SYS_semtimedop:
      return &Kernel::sys_semop;
    case SYS_semctl:
      return &Kernel::sys_semctl;
    case SYS_msgget:
      return &Kernel::sys_msgget;
    case SYS_msgsnd:
      return &Kernel::sys_msgsnd;
    case SYS_msgrcv:
      return &Kernel::sys_msgrcv;
    case SYS_msgctl:
      return &Kernel::sys_msgctl;
    case protocol::kHugePagesCall:
      return &Kernel::sys_huge_pages;
    case protocol::kFileOwnerCall:
      return &Kernel::sys_file_owner;
    case protocol::kFileRightsCall:
      return &Kernel::sys_file_rights;
    default:
      return protocol::path_call(number) != nullptr ? &Kernel::sys_path : nullptr;
  }
}

// A program that waits by asking again and again is not told of each time: the first of such calls in a row is recorded.
Kernel::Outcome Kernel::execute(Thread& thread) {
  thread.stop_waiting();
  note_caller(thread);
  const PendingCall& call = thread.call();
  const Handler handler = handler_of(call.number);
  const bool was_blocked = thread.retried();
  Outcome outcome = handler != nullptr ? (this->*handler)(thread) : Outcome(refuse(thread));
  if (!outcome && thread.has_signal() && call.transferred > 0) {
    outcome = Answer{static_cast<std::int64_t>(call.transferred)};  // what has been moved is not moved again
  } else if (!outcome && thread.has_signal()) {
    outcome = interrupt(thread);
    // A signal that was there before the call is delivered first, and then the call begins.
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
    // Where calls fail by choice, each may; and each sleep may be longer.
    const bool may_differ = failing_ != nullptr || (sleeps && thread.may_be_late());
    if (nothing && !may_differ) keep_empty_call(thread, *outcome);
    if (again || (call.number == protocol::kFileRightsCall && outcome->result == 0)) return outcome;
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
  if (number == SYS_clone3) return {-ENOSYS};  // libc asks once and goes on with clone
  const std::string name = row.name != nullptr ? row.name : fmt::format("system call {}", number);
  // What needs privilege, or would reach into other processes, is refused in any case.
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

// The runtime has found an argument that is not simulated.
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

// Of a copy to or from device memory, which no kernel takes part in: stores are combined to lines and go out behind each
// other, a load of a word waits until it is back.
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

// Whose command it is: the context's, or that of the device about to be opened; the first one's where it names none.
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
  if (thread.call().request == protocol::Request::kCommand) {
    const hca::Hca* const device = device_of_command(thread);
    if (device == nullptr) return Duration(costs.system_call_ps);
    return copy_cost(thread, device->profile()).value_or(device->profile().command_latency);
  }
  const std::uint32_t number = thread.call().number;  // parts of other calls
  if (number == protocol::kFileEventsCall || number == protocol::kFileRightsCall) return Duration::zero();
  return Duration(costs.system_call_ps);
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
  huge_pages_[process.host_index()].forget(process.pid());
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
  if (!terminals_.empty()) note_waits_for_terminals(files);
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
