// Common part of shmget, semget and msgget.
#pragma once

#include <sys/ipc.h>

#include <cerrno>

#include "sim/supervisor/kernel/ipc_table.h"

namespace verbatim::supervisor {

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
