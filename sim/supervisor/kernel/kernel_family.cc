// Process families: copies, waiting for children, groups, sessions, signals.
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "sim/supervisor/kernel/process_calls.h"
#include "sim/supervisor/tasks/signals.h"

namespace verbatim::supervisor {

namespace {

// Options that select children by the signal of their end; here all send SIGCHLD.
constexpr int kKindsOfChildren = __WNOTHREAD | __WALL | static_cast<int>(__WCLONE);

// Children that a wait selects: the four kinds of `pid` argument (waitpid(2)).
struct Wanted {
  std::uint32_t pid = 0;    // 0: any
  std::uint32_t group = 0;  // 0: any
  bool matches(std::uint32_t child, std::uint32_t child_group) const {
    return (pid == 0 || pid == child) && (group == 0 || group == child_group);
  }
};

}  // namespace

std::shared_ptr<ProcessFile> open_process(Process& process) {
  auto file = std::make_shared<ProcessFile>(process.pid());
  std::vector<std::weak_ptr<ProcessFile>>& files = process.family().files;
  std::erase_if(files, [](const auto& opened) { return opened.expired(); });
  files.push_back(file);
  return file;
}

// The shim forks natively and then makes the request kForked; until then nothing is changed.
CallOutcome copy_process(CallContext& call) {
  if (call.number == SYS_clone) {
    constexpr std::int64_t kKnown = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID | CLONE_VM |
                                    CLONE_VFORK | CLONE_PIDFD | CSIGNAL;
    if ((call.arguments[0] & ~kKnown) != 0 || (call.arguments[0] & CSIGNAL) != SIGCHLD) {
      call.warn(
          "clone with these flags (namespaces, shared tables) is not simulated; the program got EINVAL");
      return Answer{-EINVAL};
    }
    // Two running processes that share memory would need one shim that serves both.
    if ((call.arguments[0] & (CLONE_VM | CLONE_VFORK)) == CLONE_VM) {
      call.warn(
          "clone with CLONE_VM and neither CLONE_THREAD nor CLONE_VFORK: processes that share memory while both run are not "
          "simulated; the program got EINVAL");
      return Answer{-EINVAL};
    }
  }
  const bool asks_for_file = call.number == SYS_clone && (call.flags(0) & CLONE_PIDFD) != 0;
  if (asks_for_file) {
    if ((call.flags(0) & CLONE_PARENT_SETTID) != 0) return Answer{-EINVAL};  // both use the same argument
    if (call.process.files().lowest_free_number() < 0) return Answer{-EMFILE};
    const auto present = call.process.memory().load<std::int32_t>(call.address(2));
    if (!present || !call.process.memory().store(call.address(2), *present)) return Answer{-EFAULT};
  }
  call.thread.call().copy_file_at = asks_for_file ? call.address(2) : 0;
  call.thread.call().copy_pid = call.table.new_pid();
  return Answer{call.thread.call().copy_pid, protocol::Action::kForkProcess, {0, 0}};
}

namespace {

bool has_ended(const ProcessTable& table, std::size_t host, std::uint32_t pid) {
  return std::ranges::any_of(table.processes(), [&](const auto& parent) {
    return parent->alive && parent->host_index() == host &&
           std::ranges::any_of(parent->family().ended, [pid](const EndedChild& child) { return child.pid == pid; });
  });
}

bool has_child(CallContext& call, std::uint32_t pid, std::uint32_t group) {
  return std::any_of(call.table.processes().begin(), call.table.processes().end(), [&](const auto& child) {
    return child->alive && child->host_index() == call.process.host_index() &&
           child->family().parent == call.process.pid() &&
           Wanted{pid, group}.matches(child->pid(), child->family().group);
  });
}

// nullopt: the thread waits. Otherwise the child that has ended, stopped or continued, as `options` select;
// pid 0: none yet (WNOHANG), or `error` is ECHILD: no such child.
std::optional<EndedChild> take_child(CallContext& call, std::uint32_t pid, std::uint32_t group, int options,
                                     int* error) {
  Family& family = call.process.family();
  const auto take = [&](std::vector<EndedChild>& from, auto wanted) -> std::optional<EndedChild> {
    const auto found = std::find_if(from.begin(), from.end(), [&](const EndedChild& child) {
      return Wanted{pid, group}.matches(child.pid, child.group) && wanted(child.status);
    });
    if (found == from.end()) return std::nullopt;
    const EndedChild child = *found;
    if ((options & WNOWAIT) == 0) from.erase(found);
    return child;
  };
  if ((options & WEXITED) != 0) {
    if (const auto child = take(family.ended, [](int) { return true; })) return child;
  }
  const auto is_awaited = [&](int status) { return (options & (WIFSTOPPED(status) ? WSTOPPED : WCONTINUED)) != 0; };
  if (const auto child = take(family.changed, is_awaited)) return child;
  const bool not_asked_for =
      std::any_of(family.ended.begin(), family.ended.end(), [&](const EndedChild& child) {
        return Wanted{pid, group}.matches(child.pid, child.group);
      });
  if (!not_asked_for && !has_child(call, pid, group)) {
    *error = ECHILD;
    return EndedChild{};
  }
  if ((options & WNOHANG) != 0) return EndedChild{};
  call.wait_for({family.children}, kNever, "wait");
  return std::nullopt;
}

}  // namespace

CallOutcome sys_wait4(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  if ((call.as_int(2) & ~(WNOHANG | WUNTRACED | WCONTINUED | kKindsOfChildren)) != 0) return Answer{-EINVAL};
  const auto wanted = call.as_int(0);
  if (wanted == INT32_MIN) return Answer{-ESRCH};  // no group has that number
  const std::uint32_t group = wanted == 0   ? process.family().group
                              : wanted < -1 ? static_cast<std::uint32_t>(-wanted)
                                            : 0;
  int error = 0;
  const auto child = take_child(call, wanted > 0 ? static_cast<std::uint32_t>(wanted) : 0, group,
                                call.as_int(2) | WEXITED, &error);
  if (!child) return std::nullopt;
  if (error != 0) return Answer{-error};
  if (child->pid == 0) return Answer{0};
  if (a[1] != 0 && !process.memory().store(call.address(1), child->status)) return Answer{-EFAULT};
  if (a[3] != 0 && !process.memory().store(call.address(3), rusage{})) return Answer{-EFAULT};
  return Answer{child->pid};
}

CallOutcome sys_waitid(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const int options = call.as_int(3);
  constexpr int kKnown = WNOHANG | WNOWAIT | WEXITED | WSTOPPED | WCONTINUED | kKindsOfChildren;
  if ((options & ~kKnown) != 0) return Answer{-EINVAL};
  const int kind = call.as_int(0);
  if ((options & (WEXITED | WSTOPPED | WCONTINUED)) == 0 ||
      (kind != P_ALL && kind != P_PID && kind != P_PGID && kind != P_PIDFD))
    return Answer{-EINVAL};
  if ((kind == P_PID && call.as_int(1) <= 0) || ((kind == P_PGID || kind == P_PIDFD) && call.as_int(1) < 0))
    return Answer{-EINVAL};
  int error = 0;
  const auto file = kind == P_PIDFD ? call.file_of_kind<ProcessFile>(call.as_int(1), -EBADF, &error) : nullptr;
  if (error != 0 && file == nullptr) return Answer{error};
  error = 0;
  const std::uint32_t id = file != nullptr ? file->pid() : call.as_u32(1);
  const bool may_wait = (options & WNOHANG) != 0 || file == nullptr || !file->nonblocking();
  const auto child = take_child(call, kind == P_PID || kind == P_PIDFD ? id : 0,
                                kind != P_PGID ? 0
                                : id == 0      ? process.family().group
                                               : id,
                                may_wait ? options : options | WNOHANG, &error);
  if (!child) return std::nullopt;
  if (!may_wait && error == 0 && child->pid == 0) return Answer{-EAGAIN};
  if (error != 0) return Answer{-error};
  siginfo_t info{};
  if (child->pid != 0) {
    info.si_signo = SIGCHLD;
    const SignalOrigin origin = origin_of_child(child->pid, child->status, child->user);
    info.si_code = origin.code;
    info.si_pid = static_cast<pid_t>(child->pid);
    info.si_uid = child->user;
    info.si_status = origin.status;
  }
  if (a[2] != 0 && !process.memory().store(call.address(2), info)) return Answer{-EFAULT};
  return Answer{0};
}

namespace {

bool may_signal(Process& sender, Process& other, int signal) {
  if (&sender == &other || sender.credentials().may_signal(other.credentials())) return true;
  return signal == SIGCONT && sender.family().session == other.family().session;
}

bool is_signal(int signal) { return signal >= 0 && signal <= 64; }

// RLIMIT_SIGPENDING, which standard signals of kill(2) may exceed.
bool has_room(const Process& process, int signal) {
  const auto limit = process.limits.of(RLIMIT_SIGPENDING).rlim_cur;
  return signal < SignalQueue::kFirstRealTime || (!process.pending.full() && process.pending.size() < limit);
}

// Signals thread `tid`, of process `pid` unless that is 0. SIGKILL, SIGCONT and signals that stop act on the
// whole process.
Answer signal_one_thread(CallContext& call, std::uint32_t pid, std::uint32_t tid, int signal,
                         const SignalOrigin& origin) {
  for (const auto& process : call.table.processes()) {
    if (!process->alive || process->host_index() != call.process.host_index()) continue;
    if (pid != 0 && process->pid() != pid) continue;
    for (const auto& other : process->threads()) {
      if (other->tid() != tid || other->state() == Thread::State::kDead) continue;
      if (!is_signal(signal)) return {-EINVAL};
      if (!may_signal(call.process, *process, signal)) return {-EPERM};
      if (!has_room(*process, signal) && !is_without_effect(*process, signal)) return {-EAGAIN};
      if (signal == SIGKILL || signal == SIGCONT || stops(*process, signal)) {
        call.table.signal_process(*process, signal, origin);
      } else if (signal != 0) {
        signal_thread(*other, signal, origin);
      }
      return {0};
    }
  }
  return {-ESRCH};
}

// Signals a process; one that has ended and is not waited for still has its id.
Answer signal_process(CallContext& call, std::uint32_t pid, int signal, const SignalOrigin& origin) {
  Process* const process = call.find_process(pid);
  if (process == nullptr && !has_ended(call.table, call.process.host_index(), pid)) return {-ESRCH};
  if (!is_signal(signal)) return {-EINVAL};
  if (process == nullptr) return {0};
  if (!may_signal(call.process, *process, signal)) return {-EPERM};
  if (origin.code != SI_USER && !has_room(*process, signal)) return {-EAGAIN};
  if (signal != 0) call.table.signal_process(*process, signal, origin);
  return {0};
}

// The process whose folder in /proc the file is; 0: none.
std::uint32_t process_of_folder(const VirtualFilePtr& file) {
  unsigned pid = 0;
  int length = 0;
  if (file == nullptr || std::sscanf(file->tree_path().c_str(), "/proc/%u%n", &pid, &length) != 1) return 0;
  return static_cast<std::size_t>(length) == file->tree_path().size() ? pid : 0;
}

// Only the kernel, or a process for itself, may send a signal with this origin.
bool is_of_kernel(const siginfo_t& info) { return info.si_code >= 0 || info.si_code == SI_TKILL; }

SignalOrigin origin_in(const siginfo_t& info) {
  SignalOrigin origin{.code = info.si_code, .sender = static_cast<std::uint32_t>(info.si_pid), .user = info.si_uid};
  origin.value = reinterpret_cast<std::uint64_t>(info.si_ptr);
  origin.status = static_cast<std::int32_t>(origin.value);
  return origin;
}

}  // namespace

// sigqueue(3) and pthread_sigqueue(3): a signal with a value. As in Linux, only a process itself may queue a
// signal with an si_code of the kernel.
CallOutcome sys_queue_signal(CallContext& call) {
  const auto& a = call.arguments;
  Process& sender = call.process;
  const bool to_thread = call.number == SYS_rt_tgsigqueueinfo;
  const auto signal = static_cast<int>(a[to_thread ? 2 : 1]);
  const auto info = sender.memory().load<siginfo_t>(call.address(to_thread ? 3 : 2));
  if (!info) return Answer{-EFAULT};
  if (to_thread && (call.as_int(0) <= 0 || call.as_int(1) <= 0)) return Answer{-EINVAL};
  // The id of any thread means its process.
  Thread* const named = to_thread || call.as_int(0) <= 0 ? nullptr : call.find_thread(call.as_int(0));
  const auto pid = named != nullptr ? named->process().pid() : call.as_u32(0);
  if (call.as_u32(0) != sender.pid() && is_of_kernel(*info)) return Answer{-EPERM};
  const SignalOrigin origin = origin_in(*info);
  if (to_thread) return signal_one_thread(call, pid, call.as_u32(1), signal, origin);
  return signal_process(call, pid, signal, origin);
}

CallOutcome sys_signal_process_file(CallContext& call) {
  Process& sender = call.process;
  if (call.as_u32(3) != 0) return Answer{-EINVAL};
  int error = 0;
  const auto file = call.file_of_kind<ProcessFile>(call.as_int(0), -EBADF, &error);
  const std::uint32_t pid = file != nullptr ? file->pid() : process_of_folder(call.file(0));
  if (pid == 0) return Answer{error};
  SignalOrigin origin{.code = SI_USER, .sender = sender.pid(), .user = sender.credentials().users().real};
  if (call.address(2) != 0) {
    const auto info = sender.memory().load<siginfo_t>(call.address(2));
    if (!info) return Answer{-EFAULT};
    if (info->si_signo != call.as_int(1)) return Answer{-EINVAL};
    if (pid != sender.pid() && is_of_kernel(*info)) return Answer{-EPERM};
    origin = origin_in(*info);
  }
  return signal_process(call, pid, call.as_int(1), origin);
}

CallOutcome sys_open_process(CallContext& call) {
  if ((call.as_u32(1) & ~static_cast<std::uint32_t>(O_NONBLOCK)) != 0 || call.as_int(0) <= 0) return Answer{-EINVAL};
  const bool is_nonblocking = (call.as_u32(1) & O_NONBLOCK) != 0;
  const std::uint32_t pid = call.as_u32(0);
  if (Process* const process = call.find_process(pid)) return call.install(open_process(*process), is_nonblocking);
  if (has_ended(call.table, call.process.host_index(), pid))
    return call.install(std::make_shared<ProcessFile>(pid, true), is_nonblocking);
  return Answer{call.find_thread(call.as_int(0)) != nullptr ? -EINVAL : -ESRCH};
}

CallOutcome sys_kill(CallContext& call) {
  const auto& a = call.arguments;
  Process& sender = call.process;
  const bool to_thread = call.number != SYS_kill;
  const auto signal = static_cast<int>(a[call.number == SYS_tgkill ? 2 : 1]);
  if (to_thread) {
    const bool in_process = call.number == SYS_tgkill;
    if (call.as_int(0) <= 0 || (in_process && call.as_int(1) <= 0)) return Answer{-EINVAL};
    return signal_one_thread(
        call, in_process ? call.as_u32(0) : 0, static_cast<std::uint32_t>(a[in_process ? 1 : 0]), signal,
        {.code = SI_TKILL, .sender = sender.pid(), .user = sender.credentials().users().real});
  }
  const auto wanted = call.as_int(0);
  if (wanted == INT32_MIN) return Answer{-ESRCH};  // no group has that number
  const std::uint32_t group = wanted == 0   ? sender.family().group
                              : wanted < -1 ? static_cast<std::uint32_t>(-wanted)
                                            : 0;
  // The id of any thread means its process.
  Thread* const named = wanted > 0 ? call.find_thread(wanted) : nullptr;
  const std::uint32_t pid = named != nullptr ? named->process().pid() : static_cast<std::uint32_t>(wanted);
  // A zombie still has its process id.
  const auto& ended = sender.family().ended;
  bool found = std::any_of(ended.begin(), ended.end(),
                           [&](const EndedChild& child) { return wanted > 0 && child.pid == pid; });
  bool permitted = found;
  for (const auto& process : call.table.processes()) {
    if (!process->alive || process->host_index() != sender.host_index()) continue;
    const bool meant = wanted > 0     ? process->pid() == pid
                       : wanted == -1 ? process.get() != &sender
                                      : process->family().group == group;
    if (!meant) continue;
    found = true;
    if (!is_signal(signal)) break;
    if (!may_signal(sender, *process, signal)) continue;
    permitted = true;
    if (signal != 0)
      call.table.signal_process(
          *process, signal,
          {.code = SI_USER, .sender = sender.pid(), .user = sender.credentials().users().real});
  }
  if (found && !is_signal(signal)) return Answer{-EINVAL};
  return Answer{permitted ? 0 : found ? -EPERM : -ESRCH};
}

namespace {

// A process, or an ended child that nobody has waited for, which keeps its process id and its group.
struct Member {
  std::uint32_t pid, parent, session;
  std::uint32_t* group;
  bool has_executed;
};

template <class Visit>
void for_each_member(CallContext& call, Visit visit) {
  for (const auto& process : call.table.processes()) {
    if (!process->alive || process->host_index() != call.process.host_index()) continue;
    Family& family = process->family();
    visit(Member{process->pid(), family.parent, family.session, &family.group, process->executions() > 0});
    for (EndedChild& child : family.ended)
      visit(Member{child.pid, process->pid(), child.session, &child.group, child.has_executed});
  }
}

bool has_group(CallContext& call, std::uint32_t group, std::optional<std::uint32_t> session) {
  bool found = false;
  for_each_member(call, [&](const Member& member) {
    found = found || (*member.group == group && session.value_or(member.session) == member.session);
  });
  return found;
}

// In the order of Linux' checks.
std::int64_t set_group(CallContext& call, const std::optional<Member>& member, std::int32_t wanted) {
  const Process& self = call.process;
  if (wanted < 0) return -EINVAL;
  if (!member || (member->pid != self.pid() && member->parent != self.pid())) return -ESRCH;
  const std::uint32_t session = call.process.family().session;
  if (member->pid != self.pid() && member->session != session) return -EPERM;
  if (member->pid != self.pid() && member->has_executed) return -EACCES;
  if (member->session == member->pid) return -EPERM;
  const auto group = static_cast<std::uint32_t>(wanted);
  if (group != member->pid && !has_group(call, group, session)) return -EPERM;
  *member->group = group;
  return 0;
}

}  // namespace

CallOutcome sys_identity(CallContext& call) {
  Family& own = call.process.family();
  const std::uint32_t self = call.process.pid();
  if (call.number == SYS_getpgrp) return Answer{own.group};
  if (call.number == SYS_setsid) {
    if (own.session == self || has_group(call, self, std::nullopt)) return Answer{-EPERM};
    own.group = own.session = self;
    return Answer{self};
  }
  const std::uint32_t pid = call.as_int(0) == 0 ? self : call.as_u32(0);
  std::optional<Member> meant;
  for_each_member(call, [&](const Member& member) {
    if (member.pid == pid) meant = member;
  });
  if (call.number == SYS_setpgid) {
    return Answer{
        set_group(call, meant, call.as_int(1) == 0 ? static_cast<std::int32_t>(pid) : call.as_int(1))};
  }
  if (!meant) return Answer{-ESRCH};
  return Answer{call.number == SYS_getsid ? meant->session : *meant->group};
}

CallOutcome sys_start_remote(CallContext& call) {
  const auto& a = call.arguments;
  return Answer{call.table.start_remote(call.thread, call.as_u32(0), static_cast<std::uint16_t>(a[1]))};
}

}  // namespace verbatim::supervisor
