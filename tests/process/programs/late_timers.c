// Timers whose first expiry was due long before they were set: the expiries since then are overruns.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  EXPECT(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
  timer_t timer;
  EXPECT(timer_create(CLOCK_REALTIME, &event, &timer) == 0);
  const struct itimerspec daily = {{86400, 0}, {1, 0}}, each_us = {{0, 1000}, {1, 0}}, off = {{0, 0}, {0, 0}};
  struct itimerspec left;
  siginfo_t info;
  const time_t now = clock_ns(CLOCK_REALTIME) / 1000000000;
  EXPECT(timer_settime(timer, TIMER_ABSTIME, &daily, NULL) == 0 && sigwaitinfo(&set, &info) == SIGRTMIN);
  EXPECT(info.si_overrun == (now - 1) / 86400 && timer_gettime(timer, &left) == 0);
  EXPECT(labs(left.it_value.tv_sec - (86400 - (now - 1) % 86400)) <= 1);
  // At most INT_MAX are counted.
  EXPECT(timer_settime(timer, TIMER_ABSTIME, &each_us, NULL) == 0 && sigwaitinfo(&set, &info) == SIGRTMIN);
  EXPECT(timer_settime(timer, 0, &off, NULL) == 0 && info.si_overrun == 0x7fffffff);
  EXPECT(syscall(SYS_timer_gettime, (int)(intptr_t)timer, NULL) == -1 && errno == EFAULT);
  return 0;
}
