// Classifies calls that affect one host only. They may be executed before earlier calls of other hosts.
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/net/socket.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

using protocol::CallTraits;

Kernel::Concerns Kernel::concerns(Thread& thread) const {
  const PendingCall& call = thread.call();
  if (!thread.requests<request::SystemCall>()) return Concerns::kAnybody;
  // Opening one end of a named pipe may wake a thread that opens the other.
  const bool opens = call.number == SYS_open || call.number == SYS_openat;
  if (opens && !state_of(thread.process().host_index()).fifos.empty()) return Concerns::kWaiting;
  // A watch of files may send a signal.
  if (call.number == SYS_bind && watches_files(thread.process().host_index())) return Concerns::kAnybody;
  const auto of_file = [&](int argument) {
    const VirtualFilePtr file = thread.process().files().at(call.arguments[argument]);
    if (file == nullptr) return Concerns::kCaller;
    if (file->reaches_beyond_host() || file->wait_queue.follower() != nullptr) return Concerns::kAnybody;
    return file->tree_path().empty() ? Concerns::kWaiting : Concerns::kCaller;
  };
  const protocol::SystemCall& row = protocol::system_call(call.number);
  if (row.has(CallTraits::kOfCaller)) return Concerns::kCaller;
  if (row.has(CallTraits::kOfFile)) return of_file(0);
  if (row.has(CallTraits::kOfTwoFiles)) return std::max(of_file(0), of_file(1));
  if (row.has(CallTraits::kOfUnixSocket)) {
    const VirtualFilePtr file = thread.process().files().at(call.arguments[0]);
    const bool is_unix =
        file != nullptr && S_ISSOCK(file->mode()) && static_cast<const Socket&>(*file).family() == AF_UNIX;
    return is_unix ? of_file(0) : Concerns::kAnybody;
  }
  if (row.has(CallTraits::kOfFutex))  // all waiters are on this host
    return (call.arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ? Concerns::kWaiting : Concerns::kAnybody;
  return Concerns::kAnybody;
}

}  // namespace verbatim::supervisor
