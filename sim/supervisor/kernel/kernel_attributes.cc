// Resource limits and scheduling attributes of processes and threads of the host, by virtual id. Attributes
// are stored and returned only: computation takes no virtual time, and a priority has no effect.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/kernel/memory_calls.h"
#include "sim/supervisor/kernel/process_calls.h"

namespace verbatim::supervisor {

namespace {

constexpr int kPriorityOfProcess = 1, kPriorityOfGroup = 2, kPriorityOfUser = 3;  // IOPRIO_WHO_*

bool is_real_time(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }

bool is_policy(int policy) {
  return is_real_time(policy) || policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

// A thread whose effective user is root may change any thread's attributes, although it lacks CAP_SYS_NICE:
// they have no effect. Other threads may change those of their own user and not gain anything.
bool is_privileged(const Thread& caller) { return caller.credentials.users().effective == kRoot; }

bool owns(const Thread& caller, const Thread& other) {
  const UserId user = caller.credentials.users().effective;
  const Ids& owner = other.credentials.users();
  return is_privileged(caller) || user == owner.effective || user == owner.real;
}

// A lower nice value or a real-time priority than before, beyond RLIMIT_NICE and RLIMIT_RTPRIO.
bool may_be_nicer_by(const Thread& caller, Thread& other, int nice) {
  const rlim_t limit = other.process().limits.of(RLIMIT_NICE).rlim_cur;
  return is_privileged(caller) || nice >= other.scheduling.nice || static_cast<rlim_t>(20 - nice) <= limit;
}

bool may_have(const Thread& caller, Thread& other, int policy, int priority) {
  const rlim_t limit = other.process().limits.of(RLIMIT_RTPRIO).rlim_cur;
  if (is_privileged(caller) || !is_real_time(policy)) return true;
  if (policy != other.scheduling.policy && limit == 0) return false;
  return priority <= other.scheduling.priority || static_cast<rlim_t>(priority) <= limit;
}

bool is_priority_of(int policy, int priority) {
  constexpr int kHighest = 99;
  return is_real_time(policy) ? priority >= 1 && priority <= kHighest : priority == 0;
}

}  // namespace

// getrlimit, setrlimit and prlimit64.
CallOutcome sys_limit(CallContext& call) {
  const bool of_any = call.number == SYS_prlimit64;
  const int at = of_any ? 1 : 0;  // index of the resource
  const std::uint64_t old_address = of_any                         ? call.address(3)
                                    : call.number == SYS_getrlimit ? call.address(1)
                                                                   : 0;
  const std::uint64_t new_address = call.number == SYS_getrlimit ? 0 : call.address(at + 1);
  Process& own = call.process;
  Process* meant = &own;
  if (of_any && call.as_int(0) != 0) {
    Thread* const other = call.find_thread(call.as_int(0));
    if (other == nullptr) return Answer{-ESRCH};
    meant = &other->process();
  }
  const std::int64_t resource = call.as_u32(at);
  if (!ResourceLimits::is_resource(resource)) return Answer{-EINVAL};
  const rlimit before = meant->limits.of(static_cast<int>(resource));
  if (new_address != 0 || call.number == SYS_setrlimit) {
    const auto wanted = own.memory().load<rlimit>(new_address);
    if (!wanted) return Answer{-EFAULT};
    const int error = meant->limits.set(static_cast<int>(resource), *wanted);
    if (error != 0) return Answer{error};
    meant->enforce_limits();
  }
  const bool asked = old_address != 0 || call.number == SYS_getrlimit;
  return Answer{!asked || own.memory().store(old_address, before) ? 0 : -EFAULT};
}

namespace {

// Threads that getpriority, setpriority and ioprio_* select: one thread, or those of a process group or a
// user.
std::vector<Thread*> threads_meant(CallContext& call, bool one, bool of_group, std::int32_t id) {
  if (one) {
    Thread* const meant = call.find_thread(id);
    return meant != nullptr ? std::vector<Thread*>{meant} : std::vector<Thread*>{};
  }
  std::vector<Thread*> meant;
  const auto wanted = static_cast<std::uint32_t>(id);
  const std::uint32_t group = id == 0 ? call.process.family().group : wanted;
  const UserId user = id == 0 ? call.thread.credentials.users().real : wanted;
  for (const auto& process : call.table.processes()) {
    if (!process->alive || process->host_index() != call.process.host_index()) continue;
    if (of_group && process->family().group != group) continue;
    for (const auto& other : process->threads()) {
      const bool is_meant = of_group || other->credentials.users().real == user;
      if (other->state() != Thread::State::kDead && is_meant) meant.push_back(other.get());
    }
  }
  return meant;
}

// ioprio_set(2): a class and a level.
CallOutcome set_disk_priority(CallContext& call, const std::vector<Thread*>& meant) {
  constexpr int kClassShift = 13, kNone = 0, kRealTime = 1, kBestEffort = 2, kIdle = 3, kLevels = 8;
  const int priority = call.as_int(2), level = priority & ((1 << kClassShift) - 1), kind = priority >> kClassShift;
  if (kind == kRealTime && call.thread.credentials.users().effective != kRoot) return Answer{-EPERM};
  const bool has_level = kind == kRealTime || kind == kBestEffort;
  if (kind < kNone || kind > kIdle || (has_level && level >= kLevels) || (kind == kNone && level != 0)) return Answer{-EINVAL};
  for (Thread* const other : meant) {
    if (!owns(call.thread, *other)) return Answer{-EPERM};
    other->scheduling.disk_priority = priority;
  }
  return meant.empty() ? Answer{-ESRCH} : Answer{0};
}

}  // namespace

CallOutcome sys_priority(CallContext& call) {
  const bool of_disk = call.number == SYS_ioprio_get || call.number == SYS_ioprio_set;
  const auto which = call.as_int(0);
  const int one = of_disk ? kPriorityOfProcess : PRIO_PROCESS, group = of_disk ? kPriorityOfGroup : PRIO_PGRP,
            user = of_disk ? kPriorityOfUser : PRIO_USER;
  if (which != one && which != group && which != user) return Answer{-EINVAL};
  const std::vector<Thread*> meant = threads_meant(call, which == one, which == group, call.as_int(1));
  if (call.number == SYS_ioprio_set) return set_disk_priority(call, meant);
  if (meant.empty()) return Answer{-ESRCH};
  switch (call.number) {
    case SYS_getpriority: {
      int least = 19;
      for (Thread* const other : meant) least = std::min(least, other->scheduling.nice);
      return Answer{20 - least};  // encoding of the raw system call
    }
    case SYS_setpriority: {
      // As in Linux, a refusal concerns its thread only, and the last one is returned.
      const int nice = std::clamp(call.as_int(2), -20, 19);
      int error = 0;
      for (Thread* const other : meant) {
        if (!owns(call.thread, *other)) {
          error = -EPERM;
        } else if (!may_be_nicer_by(call.thread, *other, nice)) {
          error = -EACCES;
        } else {
          other->scheduling.nice = nice;
        }
      }
      return Answer{error};
    }
    case SYS_ioprio_get:
      return Answer{meant.front()->scheduling.disk_priority};
    default:
      return set_disk_priority(call, meant);
  }
}

namespace {

CallOutcome set_scheduler(CallContext& call) {
  const bool sets_policy = call.number == SYS_sched_setscheduler;
  if (sets_policy && call.as_int(1) < 0) return Answer{-EINVAL};
  const auto priority = call.process.memory().load<int>(call.address(sets_policy ? 2 : 1));
  if (!priority) return Answer{-EFAULT};
  Thread* const meant = call.find_thread(call.as_int(0));
  if (meant == nullptr) return Answer{-ESRCH};
  Scheduling& scheduling = meant->scheduling;
  const int policy = sets_policy ? call.as_int(1) & ~SCHED_RESET_ON_FORK : scheduling.policy;
  if (!is_policy(policy) || !is_priority_of(policy, *priority)) return Answer{-EINVAL};
  if (!owns(call.thread, *meant) || !may_have(call.thread, *meant, policy, *priority)) return Answer{-EPERM};
  scheduling.policy = policy;
  scheduling.priority = *priority;
  return Answer{0};
}

}  // namespace

CallOutcome sys_scheduler(CallContext& call) {
  ProcessMemory& memory = call.process.memory();
  if (call.as_int(0) < 0) return Answer{-EINVAL};
  const bool has_priority = call.number != SYS_sched_getscheduler && call.number != SYS_sched_rr_get_interval;
  if (has_priority && call.address(call.number == SYS_sched_setscheduler ? 2 : 1) == 0)
    return Answer{-EINVAL};
  if (call.number == SYS_sched_setscheduler || call.number == SYS_sched_setparam) return set_scheduler(call);
  Thread* const meant = call.find_thread(call.as_int(0));
  if (meant == nullptr) return Answer{-ESRCH};
  const Scheduling& scheduling = meant->scheduling;
  switch (call.number) {
    case SYS_sched_getscheduler:
      return Answer{scheduling.policy};
    case SYS_sched_getparam:
      return Answer{memory.store(call.address(1), scheduling.priority) ? 0 : -EFAULT};
    default: {
      constexpr long kRoundRobinNs = 100'000'000, kFairNs = 4'000'000;
      const timespec interval{0, scheduling.policy == SCHED_RR     ? kRoundRobinNs
                                 : scheduling.policy == SCHED_FIFO ? 0
                                                                   : kFairNs};
      return Answer{memory.store(call.address(1), interval) ? 0 : -EFAULT};
    }
  }
}

bool may_set_attributes(const CallContext& call, const Thread& other) { return owns(call.thread, other); }

// A robust list is set natively; only the machine's kernel can return it.
CallOutcome sys_get_robust_list(CallContext& call) {
  Thread* const meant = call.find_thread(call.as_int(0));
  if (meant == nullptr) return Answer{-ESRCH};
  if (!may_look_into(call.thread, meant->process())) return Answer{-EPERM};
  void* head = nullptr;
  std::size_t size = 0;
  if (syscall(SYS_get_robust_list, meant->native.tid, &head, &size) != 0) return Answer{-errno};
  ProcessMemory& memory = call.process.memory();
  const bool stored = memory.store(call.address(2), size) && memory.store(call.address(1), head);
  return Answer{stored ? 0 : -EFAULT};
}

}  // namespace verbatim::supervisor
