// Timers of a process.
#include <sys/syscall.h>
#include <sys/time.h>

#include <cerrno>

#include "sim/supervisor/interval_timer.h"
#include "sim/supervisor/kernel.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kPsPerUs = 1'000'000;
constexpr std::int64_t kMaxSeconds = 4'000'000;  // 46 days, far beyond any run

bool valid(const timeval& t) { return t.tv_sec >= 0 && t.tv_usec >= 0 && t.tv_usec < 1'000'000; }

Duration to_duration(const timeval& t) {
  const std::int64_t us = std::min<std::int64_t>(t.tv_sec, kMaxSeconds) * 1'000'000 + t.tv_usec;
  return Duration(us * kPsPerUs);
}

// Rounded up: a timer that still runs never reads as zero.
timeval to_timeval(Duration d) {
  const std::int64_t us = (to_ps(d) + kPsPerUs - 1) / kPsPerUs;
  return {us / 1'000'000, us % 1'000'000};
}

}  // namespace

Kernel::Outcome Kernel::sys_timer(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Process& process = thread.process();
  auto& timer = process.interval_timer();
  if (timer == nullptr) timer = std::make_unique<IntervalTimer>(engine_, process.host().component, process);
  if (call.number == SYS_alarm) {
    const std::int64_t left = (to_ps(timer->remaining()) + 999'999'999'999) / 1'000'000'000'000;
    timer->set(to_duration({a[0] & 0xffffffff, 0}), Duration::zero());
    return Answer{left};
  }
  if (a[0] != ITIMER_REAL) {
    warn_(process, "interval timers of CPU time are not simulated; the program got EINVAL");
    return Answer{-EINVAL};
  }
  const itimerval old{to_timeval(timer->interval()), to_timeval(timer->remaining())};
  const auto old_address = static_cast<std::uint64_t>(a[call.number == SYS_setitimer ? 2 : 1]);
  if (call.number == SYS_setitimer) {
    itimerval wanted{};
    if (a[1] != 0) {
      const auto loaded = process.memory().load<itimerval>(static_cast<std::uint64_t>(a[1]));
      if (!loaded) return Answer{-EFAULT};
      wanted = *loaded;
    }
    if (!valid(wanted.it_value) || !valid(wanted.it_interval)) return Answer{-EINVAL};
    timer->set(to_duration(wanted.it_value), to_duration(wanted.it_interval));
  }
  if (old_address != 0 && !process.memory().store(old_address, old)) return Answer{-EFAULT};
  return Answer{0};
}

// The call was tried once more and still has to wait, but a signal is there.
Answer Kernel::interrupt(Thread& thread) {
  const auto disposition = thread.process().disposition(thread.next_signal());
  thread.stop_waiting();
  abandon_futex(thread);
  thread.finish_call();
  switch (thread.call().number) {  // never restarted, signal(7)
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
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
      return {-EINTR};
    default:
      break;
  }
  if (disposition == protocol::kSignalHandled) return {-EINTR};
  return {0, protocol::Action::kRestart};
}

}  // namespace verbatim::supervisor
