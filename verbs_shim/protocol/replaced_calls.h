// System calls that are answered without a trap: the instruction is replaced by a jump (sim/supervisor/code), and the shim does
// in the middle of the program what it would do in the handler of the trap.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace verbatim::protocol {

// Whether a call may be answered so. Those that are not named trap as ever: what needs the program's registers or changes
// them (clone, fork, execve, rt_sigreturn, sigaltstack), what ends a thread or sends it signals, what waits for signals alone,
// and what the kernel answers by itself, which never traps.
constexpr bool is_answered_in_place(long number) {
  switch (number) {
    // Of descriptors.
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_close:
    case SYS_lseek:
    case SYS_fstat:
    case SYS_ioctl:
    case SYS_fcntl:
    case SYS_getdents64:
    // Of paths.
    case SYS_open:
    case SYS_openat:
    case SYS_stat:
    case SYS_lstat:
    case SYS_newfstatat:
    case SYS_access:
    case SYS_readlink:
    // Of sockets.
    case SYS_accept:
    case SYS_accept4:
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_sendmsg:
    case SYS_recvmsg:
    case SYS_sendmmsg:
    case SYS_recvmmsg:
    // Waits, among them those that let signals in meanwhile.
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_ctl:
    case SYS_futex:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_sched_yield:
    // Time, and who one is.
    case SYS_clock_gettime:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_times:
    case SYS_getrusage:
    case SYS_getpid:
    case SYS_getppid:
    case SYS_gettid:
    case SYS_getcpu:
    case SYS_uname:
    // Of signals: what is set for one, and the mask.
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
      return true;
    default:
      return false;
  }
}

// A system call that Linux does not have: the stub makes it when an answer has to be finished in a trap, because the program's
// signal handlers are to run.
inline constexpr long kFinishCall = 507;

}  // namespace verbatim::protocol
