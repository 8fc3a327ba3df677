#include "sim/supervisor/kernel/progress.h"

#include <sys/syscall.h>

namespace verbatim::supervisor {

bool makes_progress(std::uint64_t call, std::int64_t result) {
  constexpr std::int64_t kCounterBytes = 8, kSignalBytes = 128;  // read from timerfd and eventfd; signalfd
  if (result < 0) return false;
  switch (call) {
    case SYS_read:
    case SYS_write:
      return result != 0 && result != kCounterBytes && result != kSignalBytes;
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_pause:
    case SYS_futex:
    case SYS_sched_yield:
    case SYS_alarm:
    case SYS_getitimer:
    case SYS_setitimer:
    case SYS_timer_create:
    case SYS_timer_settime:
    case SYS_timer_gettime:
    case SYS_timer_getoverrun:
    case SYS_timer_delete:
    case SYS_timerfd_create:
    case SYS_timerfd_settime:
    case SYS_timerfd_gettime:
    case SYS_clock_gettime:
    case SYS_clock_getres:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_times:
    case SYS_getrusage:
    case SYS_sysinfo:
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigpending:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_sigreturn:
    case SYS_restart_syscall:
    case SYS_fcntl:
    case SYS_lseek:
      return false;
    default:
      return true;
  }
}

}  // namespace verbatim::supervisor
