// semget(2) and related calls.
#include <sys/sem.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/kernel/sysv_calls.h"
#include "sim/supervisor/kernel/sysv_ipc.h"
#include "sim/supervisor/spec/kernel_time.h"

namespace verbatim::supervisor {

namespace {

using Operation = SemaphoreSet::Operation;

// IPC_INFO: the limits of ipc/sem.c; SEM_INFO: the numbers in use.
seminfo semaphore_limits(const SysvIpc& ipc, bool of_use) {
  seminfo info{};
  info.semmap = info.semmns = info.semmnu = static_cast<int>(SemaphoreSet::kMostInAll);
  info.semmni = static_cast<int>(SemaphoreSet::kMost);
  info.semmsl = static_cast<int>(SemaphoreSet::kMostInSet);
  info.semopm = info.semume = static_cast<int>(SemaphoreSet::kMostOperations);
  info.semvmx = info.semaem = SemaphoreSet::kHighest;
  info.semusz = 20;
  if (of_use) {
    info.semusz = static_cast<int>(ipc.semaphores.slots().size());
    info.semaem = static_cast<int>(ipc.semaphores_in_all());
  }
  return info;
}

}  // namespace

CallOutcome sys_semget(CallContext& call) {
  const auto& a = call.arguments;
  SysvIpc& ipc = call.host.sysv_ipc;
  const auto key = static_cast<key_t>(a[0]);
  const std::int64_t count = call.as_int(1), flags = call.as_int(2);
  if (count < 0 || count > SemaphoreSet::kMostInSet) return Answer{-EINVAL};
  const auto make = [&]() -> std::int64_t {
    if (count == 0) return -EINVAL;
    if (ipc.semaphores_in_all() + count > SemaphoreSet::kMostInAll) return -ENOSPC;
    return ipc.semaphores.add(std::make_shared<SemaphoreSet>(
        IpcPermissions(key, static_cast<std::uint32_t>(flags), call.thread.credentials),
        static_cast<std::size_t>(count), call.seconds()));
  };
  return Answer{get_ipc(
      ipc.semaphores, key, flags, call.thread.credentials, make,
      [&](const SemaphoreSet& found) { return count <= static_cast<std::int64_t>(found.values.size()); })};
}

CallOutcome sys_semop(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto count = call.as_u32(2);
  if (call.as_int(0) < 0 || count < 1) return Answer{-EINVAL};
  if (count > SemaphoreSet::kMostOperations) return Answer{-E2BIG};
  std::vector<Operation> operations(count);
  static_assert(sizeof(Operation) == sizeof(sembuf));
  if (!call.read_argument(call.address(1), std::as_writable_bytes(std::span(operations))))
    return Answer{-EFAULT};
  Instant deadline = kNever;
  const bool has_limit = call.number == SYS_semtimedop && a[3] != 0;
  if (call.is_retry()) {
    deadline = call.deadline();
  } else if (has_limit) {
    const auto timeout = process.memory().load<timespec>(call.address(3));
    if (!timeout) return Answer{-EFAULT};
    if (!valid(*timeout)) return Answer{-EINVAL};
    deadline = add_ns(call.now(), to_ns(*timeout));
  }
  const auto set = call.host.sysv_ipc.semaphores.find(call.as_int(0));
  if (set == nullptr) return Answer{call.is_retry() ? -EIDRM : -EINVAL};
  set->stop_awaiting(call.thread);
  const auto highest = std::ranges::max(operations, {}, &Operation::number).number;
  if (highest >= set->values.size()) return Answer{-EFBIG};
  const bool changes = std::ranges::any_of(operations, [](const Operation& one) { return one.change != 0; });
  if (!set->permissions.allow(call.thread.credentials, changes ? 0222 : 0444)) return Answer{-EACCES};
  if (const auto done = set->apply(process.pid(), operations, call.seconds())) return Answer{*done};
  if (call.now() >= deadline) return Answer{-EAGAIN};
  if (!call.thread.signals.has_deliverable()) set->await(call.thread, set->obstacle());
  return call.wait_for({set}, deadline, "semop");
}

CallOutcome sys_semctl(CallContext& call) {
  Process& process = call.process;
  ProcessMemory& memory = process.memory();
  SysvIpc& ipc = call.host.sysv_ipc;
  const auto id = call.as_int(0), command = call.as_int(2);
  const auto number = call.as_u32(1);
  const auto address = call.address(3);
  if (id < 0) return Answer{-EINVAL};
  if (command == IPC_INFO || command == SEM_INFO) {
    return Answer{memory.store(address, semaphore_limits(ipc, command == SEM_INFO)) ? ipc.semaphores.highest_slot() : -EFAULT};
  }
  const bool by_slot = command == SEM_STAT || command == SEM_STAT_ANY;
  std::optional<semid_ds> given;
  if (command == IPC_SET) given = memory.load<semid_ds>(address);
  if (command == IPC_SET && !given) return Answer{-EFAULT};
  const auto value = call.as_int(3);
  if (command == SETVAL && (value < 0 || value > SemaphoreSet::kHighest)) return Answer{-ERANGE};
  const auto set = by_slot ? ipc.semaphores.at(id) : ipc.semaphores.find(id);
  if (set == nullptr) return Answer{-EINVAL};
  const Credentials& who = call.thread.credentials;
  const bool may_read = set->permissions.allow(who, 0444), may_write = set->permissions.allow(who, 0222);
  switch (command) {
    case IPC_STAT:
    case SEM_STAT:
    case SEM_STAT_ANY: {
      if (command != SEM_STAT_ANY && !may_read) return Answer{-EACCES};
      semid_ds state{};
      state.sem_perm = set->permissions.to_ipc_perm();
      state.sem_otime = set->operated_at;
      state.sem_ctime = set->changed_at;
      state.sem_nsems = set->values.size();
      return Answer{!memory.store(address, state) ? -EFAULT : by_slot ? set->permissions.id : 0};
    }
    case IPC_SET: {
      const int error = set->permissions.set(who, given->sem_perm);
      if (error == 0) set->changed_at = call.seconds();
      return Answer{error};
    }
    case IPC_RMID:
      if (!set->permissions.belong_to(who)) return Answer{-EPERM};
      ipc.semaphores.remove(id);
      set->removed();
      return Answer{0};
    case SETVAL:
      if (number >= set->values.size()) return Answer{-EINVAL};
      if (!may_write) return Answer{-EACCES};
      set->set(number, static_cast<std::uint16_t>(value), process.pid());
      set->changed_at = call.seconds();
      return Answer{0};
    case GETVAL:
    case GETPID:
    case GETNCNT:
    case GETZCNT:
      if (!may_read) return Answer{-EACCES};
      if (number >= set->values.size()) return Answer{-EINVAL};
      if (command == GETVAL) return Answer{set->values[number]};
      if (command == GETPID) return Answer{set->pids[number]};
      return Answer{set->count_waiting(static_cast<unsigned short>(number), command == GETZCNT)};
    case GETALL:
      if (!may_read) return Answer{-EACCES};
      return Answer{memory.put(address, std::as_bytes(std::span(set->values))) ? 0 : -EFAULT};
    case SETALL: {
      if (!may_write) return Answer{-EACCES};
      std::vector<std::uint16_t> values(set->values.size());
      if (!memory.read(address, std::as_writable_bytes(std::span(values)))) return Answer{-EFAULT};
      if (std::ranges::max(values) > SemaphoreSet::kHighest) return Answer{-ERANGE};
      for (std::size_t i = 0; i < values.size(); ++i) set->set(i, values[i], process.pid());
      set->changed_at = call.seconds();
      return Answer{0};
    }
    default:
      return Answer{-EINVAL};
  }
}

}  // namespace verbatim::supervisor
