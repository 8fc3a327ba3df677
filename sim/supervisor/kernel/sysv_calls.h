// System V shared memory, semaphores and messages (kernel_sysv_*.cc).
#pragma once

#include <sys/ipc.h>

#include <cerrno>

#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/ipc_table.h"
#include "sim/supervisor/kernel/real_descriptors.h"

namespace verbatim::supervisor {

// Whether a process of the run has found that the machine provides huge pages of its own slowly. Decides real time only.
struct MachineHugePages {
  bool are_slow = false;
};

CallOutcome sys_shmget(CallContext& call);
CallOutcome sys_shmat(CallContext& call, RealDescriptors& descriptors, const MachineHugePages& machine);
CallOutcome sys_attached(CallContext& call, MachineHugePages& machine);
CallOutcome sys_shmdt(CallContext& call);
CallOutcome sys_shmctl(CallContext& call);
CallOutcome sys_semget(CallContext& call);
CallOutcome sys_semop(CallContext& call);
CallOutcome sys_semctl(CallContext& call);
CallOutcome sys_msgget(CallContext& call);
CallOutcome sys_msgsnd(CallContext& call);
CallOutcome sys_msgrcv(CallContext& call);
CallOutcome sys_msgctl(CallContext& call);

// Common part of shmget, semget and msgget.
// Returns the id of the object with `key`, or that of a new one from `make`; -errno. `fits`: true if an
// existing object is as large as the caller requests.
template <class Object, class Make, class Fits>
std::int64_t get_ipc(const IpcTable<Object>& table, key_t key, std::int64_t flags, const Credentials& who, Make make,
                     Fits fits) {
  const auto found = table.find_key(key);
  if (found == nullptr) return key == IPC_PRIVATE || (flags & IPC_CREAT) != 0 ? make() : -ENOENT;
  if ((flags & IPC_CREAT) != 0 && (flags & IPC_EXCL) != 0) return -EEXIST;
  if (!fits(*found)) return -EINVAL;
  return found->permissions.allow(who, static_cast<std::uint32_t>(flags)) ? found->permissions.id : -EACCES;
}

}  // namespace verbatim::supervisor
