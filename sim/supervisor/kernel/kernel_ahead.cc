// Calls that are an affair of one host, so that they may be executed before those of other hosts that come earlier in virtual
// time.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/net/unix_socket.h"
#include "sim/supervisor/trees/tree_files.h"

namespace verbatim::supervisor {

namespace {

// What a call of the list below has to do with: nothing that others wait for, or the files with these descriptors.
enum class Uses : std::uint8_t { kAnything, kNoFile, kFile, kTwoFiles, kUnixSocket, kFutex };

// Denied by default: only what has been thought of is in the list. Not in it are calls that make or end processes, that number
// something in the whole run (a TCP connection), those that may set a timer that goes off at once, and those that programs wait
// by, which gain nothing.
Uses uses(std::uint32_t number) {
  switch (number) {
    case SYS_open:
    case SYS_openat:
    case SYS_stat:
    case SYS_lstat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_access:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_readlink:
    case SYS_readlinkat:
    case SYS_statfs:
    case SYS_getxattr:
    case SYS_lgetxattr:
    case SYS_listxattr:
    case SYS_llistxattr:
    case SYS_chdir:
    case SYS_pipe:
    case SYS_pipe2:
    case SYS_eventfd:
    case SYS_eventfd2:
    case SYS_timerfd_create:
    case SYS_inotify_init:
    case SYS_inotify_init1:
    case SYS_socket:
    case SYS_socketpair:
    case SYS_epoll_create:
    case SYS_epoll_create1:
    case SYS_getrlimit:
    case SYS_setrlimit:
    case SYS_prlimit64:
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
    case SYS_getresuid:
    case SYS_getresgid:
    case SYS_getgroups:
    case SYS_capget:
    case SYS_getpgid:
    case SYS_getpgrp:
    case SYS_getsid:
    case SYS_uname:
    case SYS_sysinfo:
    case SYS_getrandom:
    case SYS_sched_getaffinity:
    case SYS_sched_getparam:
    case SYS_sched_getscheduler:
    case SYS_getpriority:
    case protocol::kFileNumbersCall:
    case protocol::kFileRightsCall:
      return Uses::kNoFile;
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_close:
    case SYS_fcntl:
    case SYS_dup:
    case SYS_lseek:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_fstat:
    case SYS_fstatfs:
    case SYS_getdents:
    case SYS_getdents64:
    case SYS_timerfd_gettime:
    case SYS_bind:
    case SYS_listen:
    case SYS_accept:
    case SYS_accept4:
    case SYS_getsockname:
    case SYS_getpeername:
    case SYS_setsockopt:
    case SYS_getsockopt:
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_epoll_ctl:
      return Uses::kFile;
    case SYS_dup2:
    case SYS_dup3:
      return Uses::kTwoFiles;
    case SYS_connect:
      return Uses::kUnixSocket;
    case SYS_futex:
      return Uses::kFutex;
    default:
      return Uses::kAnything;
  }
}

}  // namespace

Kernel::Concerns Kernel::concerns(Thread& thread) const {
  const PendingCall& call = thread.call();
  if (call.request != protocol::Request::kSystemCall) return Concerns::kAnybody;
  // Who opens one end of a named pipe may wake who opens the other.
  if ((call.number == SYS_open || call.number == SYS_openat) && !fifos_.empty()) return Concerns::kWaiting;
  // Who watches files may have asked for a signal.
  if (call.number == SYS_bind && watches_files(thread.process().host_index())) return Concerns::kAnybody;
  const auto of_file = [&](int argument) {
    const VirtualFilePtr file = thread.process().file(call.arguments[argument]);
    if (file == nullptr) return Concerns::kCaller;
    if (file->reaches_beyond_host() || file->follower() != nullptr) return Concerns::kAnybody;
    return dynamic_cast<const TreeFile*>(file.get()) != nullptr ? Concerns::kCaller : Concerns::kWaiting;
  };
  switch (uses(call.number)) {
    case Uses::kNoFile:
      return Concerns::kCaller;
    case Uses::kFile:
      return of_file(0);
    case Uses::kTwoFiles:
      return std::max(of_file(0), of_file(1));
    case Uses::kUnixSocket:
      if (dynamic_cast<const UnixSocket*>(thread.process().file(call.arguments[0]).get()) == nullptr) return Concerns::kAnybody;
      return of_file(0);
    case Uses::kFutex:  // who waits is of the host
      return (call.arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ? Concerns::kWaiting : Concerns::kAnybody;
    case Uses::kAnything:
      return Concerns::kAnybody;
  }
  return Concerns::kAnybody;
}

}  // namespace verbatim::supervisor
